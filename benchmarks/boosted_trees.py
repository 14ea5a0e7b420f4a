"""BoostedTreesClassifier and BoostedTreesRegressor beside other boosted trees, all untuned.

Real tables in five folds (``boosted_trees_classes``, ``boosted_trees_numbers``), then seconds and
memory (``boosted_trees_speed``, ``boosted_trees_numbers_speed``, ``boosted_trees_million``).
``python -m benchmarks.boosted_trees --part classes --set iris`` takes one table. Every fit is kept
under ``benchmarks/data``: an interrupted run goes on where it stopped, ``--afresh`` forgets them.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any

import typer
from rich.console import Console

from benchmarks import (
    boosted_folds,
    boosted_sets,
    boosted_tables,
    boosted_timings,
    machine,
    report,
)
from benchmarks.boosted_models import FEW_ROWS
from benchmarks.boosted_sets import FOLDS, SAMPLE, Source
from benchmarks.options import HERE, Options

QUICK_ROWS = 600  # of a table that a rehearsal has time for
QUICK_FOLDS = 2
KEPT = HERE / "data" / "boosted_trees"
_COMMON = (
    f"Five folds with a fixed seed; of larger sets {SAMPLE:,} rows at random. Every contender "
    "has its defaults and one thread. Means over the folds with one standard error; a "
    "rank is among the contenders of a table, 1 is the best, ties share; its error is over tables. "
    "Columns of categories are told to those that take them."
)
_NOTES = {
    "classes": f"{_COMMON} Calibration errors are of the rows of all folds together, in ten bins "
    "of equally many: of the class predicted, and the mean over all classes.",
    "numbers": f"{_COMMON} Log score, CRPS and coverage are of the distribution predicted: for "
    "LightGBM the normal with the root mean square of residuals of five further folds as standard "
    "deviation, for CatBoost with uncertainty (RMSEWithUncertainty) and NGBoost the normal that "
    "they say. CatBoost and histogram boosting have a mean alone. NGBoost is measured on tables of "
    f"up to {FEW_ROWS} rows.",
}
_TITLES = {
    "classes": "Boosted trees on real sets: classes",
    "numbers": "Boosted trees on real sets: numbers",
}


def measure_part(part: str, options: Options, names: Sequence[str] | None = None) -> dict[str, Any]:
    """Every contender on the tables of classes or of numbers; written and shown."""
    is_classes = part == "classes"
    sources = boosted_sets.find_classes() if is_classes else boosted_sets.find_numbers()
    chosen = [s for s in sources if (names is None or s.name in names) and _has_time(s, options)]
    folds = QUICK_FOLDS if options.quick else FOLDS
    kept = KEPT / f"{part}-{folds}"
    contenders = boosted_folds.find_contenders(is_classes)
    result: dict[str, Any] = {
        "benchmark": f"boosted_trees_{part}",
        "title": _TITLES[part],
        **machine.describe(),
        "note": _NOTES[part],
        "not_installed": [c.name for c in contenders if not c.is_here],
    }
    tasks = boosted_folds.measure_sources(chosen, is_classes, folds, kept, options)
    for task in tasks:
        task["summary"] = boosted_tables.summarise(task)
    measures = boosted_tables.CLASSES if is_classes else boosted_tables.NUMBERS
    ranks = boosted_tables.summarise_ranks(tasks, measures)
    for measure in measures:
        if measure.is_ranked:
            boosted_tables.add_behind(ranks, tasks, measure)
    if is_classes:
        boosted_tables.add_near_best(ranks, tasks, "error_percent")
        boosted_tables.add_near_best(ranks, tasks, "log_loss")
    else:
        boosted_tables.add_ratios(ranks, tasks, "rmse")
        boosted_tables.add_coverage(ranks, tasks)
    result |= {"ranks": ranks, "tasks": tasks}
    report.publish(result, boosted_tables.page(result, measures), options)
    return result


def _has_time(source: Source, options: Options) -> bool:
    return not options.quick or len(source.read().y) <= QUICK_ROWS


PARTS: dict[str, Callable[[Options], Any]] = {
    "classes": partial(measure_part, "classes"),
    "numbers": partial(measure_part, "numbers"),
    "speed": boosted_timings.run,
    "million": boosted_timings.run_million,
}


def run(options: Options) -> None:
    """Measure every part and write its tables."""
    for measure in PARTS.values():
        measure(options)


def _known(parts: list[str] | None) -> list[str]:
    for part in parts or []:
        if part not in PARTS:
            raise typer.BadParameter(f"There is no part {part!r}; choose from {', '.join(PARTS)}.")
    return parts or list(PARTS)


def main(
    parts: Annotated[
        list[str] | None,
        typer.Option("--part", callback=_known, help=f"Any of: {', '.join(PARTS)}. None: all."),
    ] = None,
    sets: Annotated[list[str] | None, typer.Option("--set", help="Tables; none: all.")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Processes of each timing.")] = 3,
    threads: Annotated[int, typer.Option(min=1, help="Threads; and tables at once.")] = 2,
    quick: Annotated[bool, typer.Option(help="Few folds and rows: a rehearsal.")] = False,
    afresh: Annotated[bool, typer.Option(help="Measure again what earlier runs kept.")] = False,
) -> None:
    """Measure some parts; anything less than all tables of a part counts as a rehearsal."""
    options = Options(repeats, threads, quick=quick or sets is not None, console=Console())
    if afresh:
        shutil.rmtree(KEPT, ignore_errors=True)
    for part in parts or []:
        if sets is None or part not in _TITLES:
            PARTS[part](options)
        else:
            measure_part(part, options, sets)


if __name__ == "__main__":
    typer.run(main)
