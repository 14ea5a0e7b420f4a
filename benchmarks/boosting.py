"""LogitBoostClassifier beside other boosted stumps: two classes of a known law, and real sets."""

import numpy as np
from scipy import special

from benchmarks import boosters, forest_scores, forest_sets, harness
from benchmarks.cases import Array, Benchmark, Data, Size, Task
from benchmarks.options import Options

USED = 5
SHARPNESS = 3.0
RATES = (0.1, 0.3, 0.5, 1.0)  # the last is a whole step of Newton, as LogitBoost takes it


def generate(rng: np.random.Generator, size: Size) -> Data:
    """Two classes whose latent value is a sum of squares of five columns; the others do nothing."""

    def rows(n: int) -> tuple[Array, Array]:
        X = rng.standard_normal((n, size.columns))
        return X, (rng.random(n) < chance(X)).astype(np.float64)

    return Data(*rows(size.rows), *rows(size.test_rows))


def chance(X: Array) -> Array:
    """Return the probability of the second class."""
    return special.expit(SHARPNESS * np.sum(X[:, :USED] ** 2 - 1.0, axis=1))


TWO_CLASSES = Benchmark(
    name="boosting",
    title="Boosted stumps: two classes",
    tasks=(Task("sum of five squares", Size(10_000, 50), generate, forest_scores.of_classes),),
    contenders=(
        boosters.ours(),
        boosters.ours(1.0),
        *(boosters.histogram(rate) for rate in RATES),
        *(boosters.light(rate) for rate in (0.1, 0.5, 1.0)),
        boosters.exact(0.1),
        boosters.adaptive(),
    ),
    note=f"{boosters.ROUNDS} rounds of trees with one threshold each, none stopped early, at "
    "several learning rates: the default of posterity is 0.5, of AdaBoost 1, of others 0.1. The "
    f"chance of a class is the logistic function of {SHARPNESS:g} sum (x^2 - 1) over {USED} of "
    "the columns, all normal: additive, so that stumps can find it. The log loss of the true "
    f"chances is 0.13. {forest_scores.CLASSES_NOTE}",
)

REAL_SETS = Benchmark(
    name="boosting_sets",
    title="Boosted stumps: several classes",
    tasks=(
        *forest_sets.real_tasks(forest_scores.of_classes),
        forest_sets.cover_task(forest_scores.of_classes),
    ),
    contenders=(
        boosters.ours(),
        boosters.ours(1.0),
        *(boosters.histogram(rate) for rate in RATES[:-1]),
        *(boosters.light(rate) for rate in (0.1, 0.5)),
        boosters.adaptive(),
    ),
    note=f"{boosters.ROUNDS} rounds, none stopped early. posterity and AdaBoost have one threshold "
    "a round, shared by all classes; the others one a round for each class, so that their models "
    f"have as many times more. {forest_scores.CLASSES_NOTE} {forest_sets.SPLITS}",
)


def run(options: Options) -> None:
    """Measure and write the tables."""
    for benchmark in (TWO_CLASSES, REAL_SETS):
        harness.run(benchmark, options)
