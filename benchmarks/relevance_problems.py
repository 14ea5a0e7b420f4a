"""The sets of Tipping (2001): classes that are stored, functions that are drawn anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from sklearn import datasets

from benchmarks import real_sets, uci_regression
from benchmarks.cases import Array, Data

DRAWS = 20
TRAIN, TEST = 240, 1_000
SINC_ROWS = 100
_FRIEDMAN = {
    1: (datasets.make_friedman1, 1.0),
    2: (datasets.make_friedman2, 125.0),
    3: (datasets.make_friedman3, 0.1),
}
_RELEVANCE, _SUPPORT = "relevance vectors, as Tipping reports", "support vectors, as he reports"


@dataclass(frozen=True)
class Published:
    """Figures of others, as reported; a dash where no reliable one exists."""

    who: str
    error: str
    vectors: str


Others: TypeAlias = tuple[Published, ...]


@dataclass(frozen=True)
class Problem:
    """A set: how split k of it is read or drawn, and what is known of others."""

    name: str
    title: str
    read: Callable[[int], Data]
    splits: int = 1
    published: Others = ()
    classes: bool = True
    pixels: bool = False
    root: bool = False  # errors are told as root mean squares


def sinc(k: int, uniform: bool = False) -> Data:
    """sin(x) / x at evenly spaced points, with noise of size 0.1, normal or uniform."""
    rng, x, x_test = (
        np.random.default_rng(k),
        np.linspace(-10.0, 10.0, SINC_ROWS),
        np.linspace(-10.0, 10.0, TEST),
    )
    f, f_test = np.sinc(x / np.pi), np.sinc(x_test / np.pi)

    def noise(n: int) -> Array:
        return rng.uniform(-0.1, 0.1, n) if uniform else 0.1 * rng.standard_normal(n)

    y, y_test = f + noise(SINC_ROWS), f_test + noise(TEST)
    return Data(x[:, None], y, x_test[:, None], y_test, f_test)


def friedman(k: int, number: int) -> Data:
    """One of Friedman's three functions; noise in the rows to learn from, and in the test rows."""
    make, noise = _FRIEDMAN[number]
    X, f = make(TRAIN + TEST, noise=0.0, random_state=k)
    y = f + noise * np.random.default_rng(k).standard_normal(len(f))
    return Data(X[:TRAIN], y[:TRAIN], X[TRAIN:], y[TRAIN:], f[TRAIN:])


def boston(k: int) -> Data:
    """One of the twenty stored splits."""
    return uci_regression.Problem("boston").split(k)


def _others(relevance: tuple[str, str], support: tuple[str, str] | None = None) -> Others:
    found = [Published(_RELEVANCE, *relevance)]
    return (*found, Published(_SUPPORT, *support)) if support else tuple(found)


def _realisations(name: str, title: str, others: Others) -> Problem:
    return Problem(name, title, partial(real_sets.realisation, name), 10, others)


def _function(
    name: str, title: str, read: Callable[[int], Data], others: Others = (), root: bool = False
) -> Problem:
    return Problem(name, title, read, DRAWS, others, classes=False, root=root)


CLASSES = (
    _realisations("banana", "Banana", _others(("10.8", "11.4"), ("10.9", "-"))),
    _realisations("breast_cancer", "Breast cancer", _others(("29.9", "6.3"), ("26.9", "-"))),
    _realisations("german", "German credit", _others(("22.2", "12.5"), ("22.6", "-"))),
    Problem(
        "ripley",
        "Ripley's synthetic set",
        partial(real_sets.read_stored, "ripley_synth"),
        published=(Published(f"{_RELEVANCE}, 100 of the rows", "9.3", "4"),),
    ),
    Problem(
        "pima",
        "Pima diabetes",
        partial(real_sets.read_stored, "pima_ripley"),
        published=_others(("19.6", "4")),
    ),
    Problem(
        "usps",
        "USPS, ten digits",
        real_sets.digits,
        published=_others(("5.1", "316")),
        pixels=True,
    ),
)

FUNCTIONS = (
    _function("sinc", "sinc, normal noise", sinc, _others(("-", "6.7")), root=True),
    _function("sinc_uniform", "sinc, uniform noise", partial(sinc, uniform=True), root=True),
    _function(
        "friedman1",
        "Friedman 1",
        partial(friedman, number=1),
        _others(("2.80", "59.4"), ("2.92", "116.2")),
    ),
    _function(
        "friedman2",
        "Friedman 2",
        partial(friedman, number=2),
        _others(("3505", "6.9"), ("4140", "110.3")),
    ),
    _function(
        "friedman3",
        "Friedman 3",
        partial(friedman, number=3),
        _others(("0.0164", "11.5"), ("0.0202", "106.5")),
    ),
    _function("boston", "Boston", boston, _others(("7.46", "39.0"), ("8.04", "142.8"))),
)
