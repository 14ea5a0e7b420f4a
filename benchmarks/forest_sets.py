"""Sets that trees are grown on: one of a known law, digits, vowels, soils; as tasks.

A rehearsal takes some of the rows and the first columns of each.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets

from benchmarks import real_sets
from benchmarks.cases import Array, Data, Prediction, Scores, Size, Task

NUMBERS, AREAS, SOILS, CLASSES = 10, 4, 40, 7
COVER_COLUMNS = NUMBERS + AREAS + SOILS
UNITS = 30
SHARPNESS = 2.0
RARITY = np.array([0.0, -0.5, 1.0, 2.0, 2.0, 1.5, 1.5])  # of a class, in its latent value
DIGITS_ROWS = 1_200

Score = Callable[[Data, Prediction], Scores]


def cover_types(rng: np.random.Generator, size: Size) -> Data:
    """Seven classes as of forest cover: ten numbers, and areas and soils, one column each.

    Area and soil depend on the first numbers; the latent value of a class is a smooth function of
    all numbers, of no single one much, plus one of the area and one of the soil.
    """
    of_area, of_soil = rng.normal(size=(3, AREAS)), rng.normal(size=(4, SOILS))
    by_area, by_soil = rng.normal(size=(AREAS, CLASSES)), rng.normal(size=(SOILS, CLASSES))
    inner, offset = rng.normal(size=(NUMBERS, UNITS)), rng.normal(size=UNITS)
    outer = rng.normal(size=(UNITS, CLASSES))

    def rows(n: int) -> tuple[Array, Array]:
        Z = rng.normal(size=(n, NUMBERS))
        area, soil = _drawn(rng, Z[:, :3] @ of_area), _drawn(rng, Z[:, :4] @ of_soil)
        smooth = np.tanh(Z @ inner * 2.0 / np.sqrt(NUMBERS) + offset) @ outer * 2.0 / np.sqrt(UNITS)
        latent = SHARPNESS * (smooth + 0.7 * by_area[area] + 0.7 * by_soil[soil]) - RARITY
        X = np.hstack([Z, np.eye(AREAS)[area], np.eye(SOILS)[soil]])
        return np.ascontiguousarray(X[:, : size.columns]), _drawn(rng, latent).astype(np.float64)

    return Data(*rows(size.rows), *rows(size.test_rows))


def _drawn(rng: np.random.Generator, latent: Array) -> NDArray[np.intp]:
    """A class a row, by the softmax of its latent values."""
    return np.argmax(latent + rng.gumbel(size=latent.shape), axis=1)


def digits(rng: np.random.Generator, size: Size) -> Data:
    """scikit-learn's digits of 8 x 8 pixels, mixed: 1,200 rows to learn from."""
    X, y = datasets.load_digits(return_X_y=True)
    order = rng.permutation(len(y))
    X, y = X[order], y[order].astype(np.float64)
    return _corner(Data(X[:DIGITS_ROWS], y[:DIGITS_ROWS], X[DIGITS_ROWS:], y[DIGITS_ROWS:]), size)


def read_stored(read: Callable[[int], Data], rng: np.random.Generator, size: Size) -> Data:
    """A set that comes with its split."""
    del rng
    return _corner(read(0), size)


def _corner(data: Data, size: Size) -> Data:
    """The first columns, and rows at equal distances: the first ones may lack a class."""

    def rows(X: Array, y: Array, n: int) -> tuple[Array, Array]:
        places = np.linspace(0, len(y) - 1, n).round().astype(np.intp)
        return np.ascontiguousarray(X[places, : size.columns]), y[places]

    return Data(*rows(data.X, data.y, size.rows), *rows(data.X_test, data.y_test, size.test_rows))


def cover_task(score: Score, test_rows: int = 10_000) -> Task:
    """Fifty thousand rows of the known law."""
    size = Size(50_000, COVER_COLUMNS, test_rows)
    return Task("cover types, drawn from a known law; 7 classes", size, cover_types, score)


def real_tasks(score: Score) -> tuple[Task, ...]:
    """The real sets that are here: digits come with scikit-learn."""
    found = [Task("digits of 8 x 8 pixels; 10 classes", Size(DIGITS_ROWS, 64, 597), digits, score)]
    if real_sets.FOLDER.exists():
        vowels, soils = (partial(read_stored, read) for read in (real_sets.vowels, real_sets.soils))
        found += [
            Task("vowels of other speakers; 11 classes", Size(528, 9, 462), vowels, score),
            Task("soils seen by satellite; 6 classes", Size(4_435, 36, 2_000), soils, score),
        ]
    return tuple(found)


SPLITS = (
    f"Digits: {DIGITS_ROWS:,} of 1,797 rows at random to learn from. Vowels: speakers 0 to 7 to "
    "learn from, 8 to 14 to test on. Soils: the first 4,435 rows to learn from, the last 2,000 to "
    "test on, as they come."
)
