"""Real sets of classes: each function reads split k of one of them, classes numbered from 0."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import probabilities
from benchmarks.cases import Array, Data

FOLDER_NAME = "shared/data"
FOLDER = Path(__file__).parents[2] / FOLDER_NAME
_PARTS = ("X_train", "y_train", "X_test", "y_test")


def read_stored(name: str, k: int) -> Data:
    """The split that comes with the set."""
    with np.load(FOLDER / "tipping" / f"{name}.npz", allow_pickle=False) as file:
        return Data(*(file[key].astype(np.float64) for key in _PARTS))


def realisation(name: str, k: int) -> Data:
    """One of the random splits that the literature averages over."""
    with np.load(FOLDER / "raetsch" / f"{name}.npz", allow_pickle=False) as file:
        X, y = file["X"].astype(np.float64), probabilities.dense_codes(file["y"])
        return _split(X, y, file["train_idx"][k], file["test_idx"][k])


def digits(k: int) -> Data:
    """USPS, pixels between 0 and 1."""
    with np.load(FOLDER / "tipping" / "usps.npz", allow_pickle=False) as file:
        scale = float(file["scale"])
    raw = read_stored("usps", k)
    return replace(raw, X=raw.X / scale, X_test=raw.X_test / scale)


def threes_and_fives(k: int) -> Data:
    """The digits 3 and 5 of the stored split."""
    data = digits(k)
    (X, y), (X_test, y_test) = (_of_two(data.X, data.y), _of_two(data.X_test, data.y_test))
    return Data(X, y, X_test, y_test)


def _of_two(X: Array, y: Array) -> tuple[Array, Array]:
    chosen = np.isin(y, (3.0, 5.0))
    return X[chosen], (y[chosen] == 5.0).astype(np.float64)


def threes_and_fives_mixed(k: int) -> Data:
    """Both parts of it together, split anew: 767 rows to learn from, 773 to test on."""
    data = threes_and_fives(k)
    X, y = np.vstack([data.X, data.X_test]), np.concatenate([data.y, data.y_test])
    order = np.random.default_rng(k).permutation(len(y))
    return _split(X, y, order[:767], order[767:])


def vowels(k: int) -> Data:
    """Eleven vowels: eight speakers to learn from, seven others to test on."""
    whole = vowels_by_speaker(k)
    return Data(whole.X[:, 1:], whole.y, whole.X_test[:, 1:], whole.y_test)


def vowels_by_speaker(k: int) -> Data:
    """The same, with the number of the speaker in the first column."""
    with np.load(FOLDER / "classification" / "vowel.npz", allow_pickle=False) as file:
        X, y = file["X"].astype(np.float64), probabilities.dense_codes(file["y"])
    speaker = X[:, 0]
    return _split(X, y, np.flatnonzero(speaker < 8), np.flatnonzero(speaker >= 8))


def soils(k: int) -> Data:
    """Six kinds of soil from satellite pixels: 4435 rows to learn from and 2000 to test on."""
    with np.load(FOLDER / "classification" / "satellite.npz", allow_pickle=False) as file:
        X, y = file["X"].astype(np.float64), probabilities.dense_codes(file["y"])
    return _split(X, y, np.arange(4435), np.arange(4435, len(y)))


def _split(X: Array, y: Array, train: Any, test: Any) -> Data:
    return Data(X[train], y[train], X[test], y[test])
