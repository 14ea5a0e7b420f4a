"""RandomForestRegressor beside other forests and boosted trees: the error, and what they say of it.

Of scikit-learn's forests the predictive is the normal with the spread between the trees; boosted
trees have a mean alone.
"""

from functools import partial

from benchmarks import (
    forest_models,
    forest_scores,
    forest_sets,
    friedman,
    harness,
    uci_regression,
)
from benchmarks.cases import Benchmark, Size, Task
from benchmarks.options import Options

_SETS = (("power", Size(8_611, 4, 957)), ("kin8nm", Size(7_373, 8, 819)))


def _tasks() -> tuple[Task, ...]:
    score = forest_scores.of_numbers
    found = [Task("Friedman's function", Size(10_000, 10), friedman.generate, score)]
    if uci_regression.FOLDER.exists():
        found += [
            Task(
                name,
                size,
                partial(forest_sets.read_stored, uci_regression.Problem(name).split),
                score,
            )
            for name, size in _SETS
        ]
    return tuple(found)


BENCHMARK = Benchmark(
    name="regression_forests",
    title="Forests and boosted trees: numbers",
    tasks=_tasks(),
    contenders=forest_models.regressors(),
    note=f"{forest_models.TREES} trees or rounds each, otherwise the defaults. Log score, coverage "
    "and CRPS are of the distribution predicted: of scikit-learn's forests the normal with the "
    "spread between the trees, whose leaves have one row each. Boosted trees predict a mean alone. "
    f"UCI sets: the first of their splits. {forest_scores.SEEDS_NOTE}",
)


def run(options: Options) -> None:
    """Measure and write the table."""
    harness.run(BENCHMARK, options, forest_scores.measure)
