"""Sets for the decision figure: every one says to which of its questions the answer is yes.

Drawn from a known law, or scikit-learn's own. What is drawn is drawn from seeds that were not
looked at when the figure was made.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn import datasets as peers

from benchmarks import bananas
from benchmarks.cases import Size
from posterity import datasets, local, tables
from posterity.arrays import Array

SEED = 20
TARGET = "target"
Columns: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Problem:
    """A set, its answer, and what is measured beside the usual models of its size.

    ``yes`` is a line of a question, or of the first question what stands below a model's name.
    ``model`` makes the model of the box, where it is not the one that a comparison knows.
    """

    name: str
    task: tables.Task
    yes: str
    make: Callable[[], Columns]
    also: tuple[str, ...] = ()
    model: Callable[[], Any] | None = None


def _columns(X: ArrayLike, y: ArrayLike) -> Columns:
    """A table; classes are words, so that nobody takes them for numbers."""
    rows, targets = np.asarray(X), np.asarray(y)
    named = {f"x{place}": column for place, column in enumerate(rows.T)}
    return named | {TARGET: targets}


def _classes(X: ArrayLike, y: Any) -> Columns:
    return _columns(X, [f"class {int(value)}" for value in y])


def _drawn(data: datasets.Dataset) -> Columns:
    return _columns(data.X, data.y)


def _known(load: Callable[..., Any]) -> Columns:
    return _classes(*load(return_X_y=True))


def _effects(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Four columns, and a sum of effects of three of them."""
    X = rng.normal(size=(n, 4))
    return X, X @ np.array([0.8, -0.5, 0.3, 0.0])


def outliers() -> Columns:
    """A line, and every twelfth target far off it."""
    rng = np.random.default_rng(SEED)
    X, f = _effects(rng, 200)
    y = f + 0.2 * rng.normal(size=200)
    y[::12] += 8.0 * rng.normal(size=len(y[::12]))
    return _columns(X, y)


def amounts() -> Columns:
    """Above zero, with a standard deviation in proportion to the mean."""
    rng = np.random.default_rng(SEED)
    X, f = _effects(rng, 300)
    return _columns(X, rng.gamma(3.0, np.exp(1.0 + f) / 3.0))


def counts() -> Columns:
    """Whole numbers, mostly below five."""
    rng = np.random.default_rng(SEED)
    X, f = _effects(rng, 300)
    return _columns(X, rng.poisson(np.exp(0.5 + f)))


def few_matter() -> Columns:
    """Two columns of 300, with five times as many columns as rows."""
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(60, 300))
    return _columns(X, X[:, 3] - 2.0 * X[:, 80] + 0.3 * rng.normal(size=60))


def all_matter() -> Columns:
    """Every column of 300 a little."""
    rng = np.random.default_rng(SEED)
    X, w = rng.normal(size=(60, 300)), rng.normal(size=300) / np.sqrt(300.0)
    return _columns(X, X @ w + 0.3 * rng.normal(size=60))


def few_matter_of_classes() -> Columns:
    """The border is of three columns of 200."""
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(150, 200))
    f = 3.0 * X[:, 3] - 2.0 * X[:, 80] + 2.0 * X[:, 150]
    return _classes(X, f + rng.logistic(size=150) > 0.0)


def all_matter_of_classes() -> Columns:
    """The border is of all 200 columns."""
    rng = np.random.default_rng(SEED)
    X, w = rng.normal(size=(100, 200)), rng.normal(size=200) * 4.0 / np.sqrt(200.0)
    return _classes(X, X @ w + rng.logistic(size=100) > 0.0)


def thresholds() -> Columns:
    """A step, and a product of two more."""
    rng = np.random.default_rng(SEED)
    X = rng.uniform(size=(3_000, 8))
    return _columns(X, _steps(X) + 0.2 * rng.normal(size=3_000))


def thresholds_of_classes() -> Columns:
    """The same steps in the log odds."""
    rng = np.random.default_rng(SEED)
    X = rng.uniform(size=(2_000, 8))
    return _classes(X, 2.0 * _steps(X) - 2.5 + rng.logistic(size=2_000) > 0.0)


def _steps(X: Array) -> Array:
    return 2.0 * (X[:, 0] > 0.5) + 1.0 * (X[:, 1] > 0.3) * (X[:, 2] > 0.6)


def waves() -> Columns:
    """A product of two waves."""
    rng = np.random.default_rng(SEED)
    X = rng.uniform(-3.0, 3.0, size=(300, 2))
    return _columns(X, np.sin(X[:, 0]) * np.cos(X[:, 1]) + 0.1 * rng.normal(size=300))


def configurations() -> Columns:
    """Four columns of three words: every configuration has odds of its own."""
    rng = np.random.default_rng(SEED)
    codes = rng.integers(3, size=(600, 4))
    odds = 2.0 * rng.normal(size=(3, 3, 3, 3))
    words = np.array(["low", "middle", "high"])[codes]
    return _classes(words, odds[tuple(codes.T)] + rng.logistic(size=600) > 0.0)


def answers() -> Columns:
    """Twenty answers of yes or no, independent of each other within a class."""
    rng = np.random.default_rng(SEED)
    y, shares = rng.integers(2, size=100), rng.uniform(0.2, 0.8, size=(2, 20))
    return _classes(1.0 * (rng.uniform(size=(100, 20)) < shares[y]), y)


def moons() -> Columns:
    """scikit-learn's, with some overlap."""
    return _classes(*peers.make_moons(300, noise=0.25, random_state=SEED))


def two_bananas() -> Columns:
    """Two classes in the plane that interlock."""
    data = bananas.generate(np.random.default_rng(SEED), Size(300, 2, 1))
    return _classes(data.X, data.y)


def clusters() -> Columns:
    """scikit-learn's: four groups a class in ten of twenty columns, one class in twenty by lot."""
    return _classes(
        *peers.make_classification(
            30_000,
            20,
            n_informative=10,
            n_clusters_per_class=4,
            flip_y=0.05,
            random_state=SEED,
        )
    )


_MATTER, _SUM, _WIDE = (
    "many columns matter?",
    "Nearly a sum of effects?",
    "Fewer rows than columns?",
)
_OTHER = "Any other table: steps, gaps,"
_SMALL, _SMOOTH = "a small file?", "smooth in every column?"
_WORDS = "all columns are categories"
_NUMBER: tables.Task = "regression"
_CLASS: tables.Task = "classification"

PROBLEMS = (
    Problem("one target in twelve far off", _NUMBER, "some targets lie far off", outliers),
    Problem("amounts", _NUMBER, "amounts: scatter grows with size", amounts),
    Problem("counts", _NUMBER, "counts: Poisson()", counts),
    Problem(
        "configurations of words", _CLASS, _WORDS, configurations,
        model=local.DiscreteClassifier,
    ),
    Problem("answers of yes and no", _CLASS, _WORDS, answers),
    Problem("two columns matter", _NUMBER, _MATTER, few_matter),
    Problem("three columns matter", _CLASS, _MATTER, few_matter_of_classes),
    Problem("a line", _NUMBER, _SUM, lambda: _drawn(datasets.line(60, random_state=SEED))),
    Problem("diabetes", _NUMBER, _SUM, lambda: _drawn(datasets.diabetes())),
    Problem("all columns matter", _NUMBER, _WIDE, all_matter),
    Problem("iris", _CLASS, _SUM, lambda: _known(peers.load_iris)),
    Problem("wine", _CLASS, _SUM, lambda: _known(peers.load_wine)),
    Problem("breast cancer", _CLASS, _SUM, lambda: _known(peers.load_breast_cancer)),
    Problem("all columns matter", _CLASS, _WIDE, all_matter_of_classes),
    Problem("thresholds", _NUMBER, _OTHER, thresholds),
    Problem("thresholds", _CLASS, _OTHER, thresholds_of_classes),
    Problem("digits", _CLASS, _OTHER, lambda: _known(peers.load_digits), also=("process",)),
    Problem("clusters", _CLASS, _OTHER, clusters),
    Problem(
        "Friedman's first", _NUMBER, _OTHER,
        lambda: _drawn(datasets.friedman1(30_000, random_state=SEED)),
        also=("process-ard",),
    ),
    Problem("waves", _NUMBER, _SMALL, waves),
    Problem("bananas", _CLASS, _SMALL, two_bananas),
    Problem("sin(x) / x", _NUMBER, _SMOOTH, lambda: _drawn(datasets.sinc(100, random_state=SEED))),
    Problem(
        "smooth steps, growing noise", _NUMBER, _SMOOTH,
        lambda: _drawn(datasets.heteroscedastic_steps(300, random_state=SEED)),
    ),
    Problem(
        "Friedman's first", _NUMBER, _SMOOTH,
        lambda: _drawn(datasets.friedman1(300, random_state=SEED)),
    ),
    Problem(
        "Friedman's second", _NUMBER, _SMOOTH,
        lambda: _drawn(datasets.friedman2(300, random_state=SEED)),
    ),
    Problem(
        "Friedman's first", _NUMBER, _SMOOTH,
        lambda: _drawn(datasets.friedman1(20_000, random_state=SEED)),
    ),
    Problem("two moons", _CLASS, _SMOOTH, moons),
)  # fmt: skip
