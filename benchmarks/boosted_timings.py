"""Seconds and memory of boosted trees: at equal rounds, of many rows, and of one row predicted."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks import (
    boosted_models,
    boosted_sets,
    boosting,
    forest_rows,
    forest_scores,
    forest_sets,
    friedman,
    harness,
    real_sets,
)
from benchmarks.boosted_models import Booster
from benchmarks.cases import Benchmark, Contender, Data, Size, Task
from benchmarks.options import Options

ROUNDS = 100
NATURAL_ROUNDS = 500  # NGBoost's default
FLIGHTS = Size(100_000, 8)
MILLION = Size(1_000_000, 50)


def flights(rng: np.random.Generator, size: Size) -> Data:
    """Flights late or not, categories as numbers, in an order of the seed."""
    X, y, _ = boosted_sets.late_flights()
    order = rng.permutation(len(y))[: size.rows + size.test_rows]
    X, y = np.ascontiguousarray(X[order, : size.columns]), y[order]
    return Data(X[: size.rows], y[: size.rows], X[size.rows :], y[size.rows :])


def _contenders(known: tuple[Booster, ...], *chosen: tuple[str, int | None]) -> Any:
    """Those chosen by name, with so many rounds; None: with their default."""
    by_name = {booster.name: booster for booster in known}
    return tuple(_contender(by_name[name], rounds) for name, rounds in chosen)


def _contender(booster: Booster, rounds: int | None) -> Contender:
    name = f"{booster.name}, {'defaults' if rounds is None else f'{rounds:,} rounds'}"
    build = partial(booster.build, rounds=rounds)
    return Contender(name, build, predict=booster.predict, needs=booster.needs)


def _speed() -> Benchmark:
    ours, score = "posterity BoostedTreesClassifier", forest_scores.of_classes
    squares = Task("sum of five squares", Size(10_000, 50), boosting.generate, score)
    here = real_sets.FOLDER.exists()
    return Benchmark(
        name="boosted_trees_speed",
        title="Boosted trees: seconds of classes",
        tasks=(
            forest_sets.cover_task(score),
            squares,
            *((Task("late flights", FLIGHTS, flights, score),) if here else ()),
        ),
        contenders=_contenders(
            boosted_models.classifiers(),
            *((ours, ROUNDS), (ours, None), ("CatBoost", ROUNDS), ("LightGBM", ROUNDS)),
            ("scikit-learn HistGradientBoosting", ROUNDS),
        ),
        note=f"{ROUNDS} rounds each, none stopped early, and ours with its defaults; as many "
        "threads as BLAS has. The categories of flights are plain numbers here. "
        f"{forest_scores.CLASSES_NOTE}",
    )


def _natural() -> Benchmark:
    ours, score = "posterity BoostedTreesRegressor", forest_scores.of_numbers
    return Benchmark(
        name="boosted_trees_numbers_speed",
        title="Boosted trees: seconds of numbers with their distribution",
        tasks=(Task("Friedman's function", Size(10_000, 10), friedman.generate, score),),
        contenders=_contenders(
            boosted_models.regressors(),
            *((ours, NATURAL_ROUNDS), (ours, None), ("NGBoost", NATURAL_ROUNDS)),
            *(("CatBoost with uncertainty", NATURAL_ROUNDS), ("CatBoost", NATURAL_ROUNDS)),
            ("LightGBM, cross-validated spread", NATURAL_ROUNDS),
        ),
        note=f"{NATURAL_ROUNDS} rounds, the default of NGBoost, and ours with its defaults.",
    )


def _rows() -> Benchmark:
    speed = _speed()
    return replace(
        speed,
        name="boosted_trees_rows",
        title="Boosted trees: predicting one row, and many",
        tasks=speed.tasks[1:2],
        note=f"{ROUNDS} rounds each, and ours with its defaults. Probabilities of one row, the "
        f"median over {forest_rows.SINGLE_ROWS} rows in milliseconds, and of 10,000 in seconds, "
        "with one thread and with two.",
    )


def _million() -> Benchmark:
    speed = _speed()
    kept = ("posterity", "LightGBM")
    return replace(
        speed,
        name="boosted_trees_million",
        title="Boosted trees: a million rows",
        tasks=(replace(speed.tasks[1], size=MILLION),),
        contenders=tuple(c for c in speed.contenders if c.name.startswith(kept)),
        note=f"{ROUNDS} rounds each, and ours with its defaults. The rows take 381 MiB as they "
        f"come; memory is what a fit adds to them. {forest_scores.CLASSES_NOTE}",
    )


def run(options: Options) -> None:
    """Measure fits at equal rounds, and predictions."""
    for benchmark in (_speed(), _natural()):
        harness.run(benchmark, options)
    harness.run(_rows(), options, forest_rows.measure)


def run_million(options: Options) -> None:
    """One process a contender: a fit takes long enough to be told apart."""
    harness.run(_million(), replace(options, repeats=1))
