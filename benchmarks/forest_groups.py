"""Forests for speakers not yet heard: rows of one speaker in a bag together, or each by itself."""

from functools import partial
from typing import Any

from benchmarks import forest_models, forest_scores, forest_sets, harness, probabilities, real_sets
from benchmarks.cases import Array, Benchmark, Contender, Prediction, Size, Task
from benchmarks.options import Options

SPEAKER = 0  # the column that says who speaks, which no contender may learn from


def _alone(model: Any, X: Array, y: Array) -> Any:
    return model.fit(X[:, SPEAKER + 1 :], y)


def _together(model: Any, X: Array, y: Array) -> Any:
    return model.fit(X[:, SPEAKER + 1 :], y, groups=X[:, SPEAKER])


def _predict(model: Any, X: Array) -> Prediction:
    return probabilities.predict(model, X[:, SPEAKER + 1 :])


def _contenders() -> tuple[Contender, ...]:
    ours, plain, *others = forest_models.classifiers()
    contender = partial(Contender, predict=_predict)
    together = contender("posterity, a speaker's rows together", ours.build, _together)
    return (
        together,
        *(contender(c.name, c.build, _alone, needs=c.needs) for c in (ours, plain, *others)),
    )


BENCHMARK = Benchmark(
    name="forest_groups",
    title="Forests for speakers not yet heard",
    tasks=(
        Task(
            "vowels of other speakers; 11 classes",
            Size(528, 10, 462),
            partial(forest_sets.read_stored, real_sets.vowels_by_speaker),
            forest_scores.of_classes,
        ),
    ),
    contenders=_contenders(),
    note="Speakers 0 to 7 to learn from, 8 to 14 to test on. Eight speakers vouch for their own "
    "rows: where these are drawn one by one, rows out of the bag of a tree have siblings in it, "
    "and what is learned from them is too sure of itself. With groups=, a speaker is in the bag or "
    f"out of it. {forest_models.TREES} trees or rounds each. {forest_scores.CLASSES_NOTE} "
    f"{forest_scores.SEEDS_NOTE}",
)


def run(options: Options) -> None:
    """Measure and write the table."""
    if not real_sets.FOLDER.exists():
        options.console.print("forest_groups: skipped, because ../shared/data is not here")
        return
    harness.run(BENCHMARK, options, forest_scores.measure)
