"""Every classifier on real sets: errors, log loss, calibration, evidence and seconds.

Each fit has a process of its own. scikit-learn's models see standardised columns, posterity's the
columns as they come; pixels are left as they are for all.
``python -m benchmarks.classification_sets --set ripley --splits 1`` takes one set, and
``--points 500`` so many inducing points for USPS.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import track

from benchmarks import harness, machine, probabilities, real_sets, report, set_classifiers, worker
from benchmarks.cases import Data
from benchmarks.options import Options
from benchmarks.uci_regression import mean_and_error

SPLITS = 5  # of the sets that are split at random
POINTS = 500
WARM_UP_ROWS = 100
SHOWN = {
    "error_percent": "errors, %",
    "log_loss": "log loss",
    "confidence_error": "confidence error",
    "calibration_error": "calibration error",
    "log_evidence": "log evidence",
}
NOTE = (
    "Means over splits, with one standard error where there are several. The confidence error is "
    "the mean distance of the share that is right from the probability stated of the class "
    "predicted, in ten bins; the calibration error that of the cumulative distribution. Lower is "
    "better, but for the log evidence. By default a process of two classes learns its parameters "
    "by Laplace, and predicts by expectation propagation."
)


@dataclass(frozen=True)
class Problem:
    """A set: how a split of it is read, which models are fitted, and what is known of others."""

    name: str
    title: str
    read: Callable[[int], Data]
    models: tuple[set_classifiers.Model, ...]
    splits: int = 1
    published: tuple[tuple[str, str], ...] = ()  # who, errors in percent


def problems(points: int = POINTS) -> tuple[Problem, ...]:
    """What is measured, in order."""
    two = set_classifiers.two_classes()
    pixels = set_classifiers.two_classes(pixels=True)
    rvm = "relevance vector machine (Tipping 2001)"
    return (
        Problem(
            "ripley", "Ripley's synthetic set", partial(real_sets.read_stored, "ripley_synth"), two
        ),
        Problem(
            "pima",
            "Pima diabetes",
            partial(real_sets.read_stored, "pima_ripley"),
            two,
            published=((rvm, "19.6"),),
        ),
        Problem("usps35", "USPS, 3 against 5, as stored", real_sets.threes_and_fives, pixels),
        Problem(
            "usps35mixed",
            "USPS, 3 against 5, split anew",
            real_sets.threes_and_fives_mixed,
            pixels,
            SPLITS,
            (("Gaussian process, Laplace (Rasmussen and Williams 2006), one split", "2.7"),),
        ),
        Problem("vowel", "Vowels", real_sets.vowels, set_classifiers.several_classes()),
        Problem("satellite", "Soils", real_sets.soils, set_classifiers.many_rows(points)),
        Problem(
            "usps",
            "USPS, ten digits",
            real_sets.digits,
            set_classifiers.many_rows(points, pixels=True),
            published=((rvm, "5.1"),),
        ),
    )


def run(
    options: Options, splits: int | None = None, chosen: Sequence[Problem] | None = None
) -> None:
    """Fit every model on every split of every set; write and show the means."""
    if not real_sets.FOLDER.exists():
        message = f"{real_sets.FOLDER_NAME} is not beside the repository."
        options.console.print(f"classification_sets: skipped, because {message}")
        return
    some = problems() if chosen is None else chosen
    if options.quick and chosen is None:
        some = some[:2]
    result = {
        "benchmark": "classification_sets",
        "title": "Classification of real sets",
        **machine.describe(),
        "tasks": [measure_problem(problem, splits, options) for problem in some],
    }
    report.publish(result, page(result), options)


def measure_problem(problem: Problem, splits: int | None, options: Options) -> dict[str, Any]:
    """Every model on every split, in turns, and the means."""
    count = min(problem.splits, splits or (1 if options.quick else SPLITS))
    turns = [(k, model) for k in range(count) for model in problem.models]
    runs = []
    with harness.threads_of_children(options.threads):
        for k, model in track(turns, problem.name, console=options.console):
            numbers = harness.in_new_process(fit_split, problem.read, k, model, options.threads)
            runs.append({"contender": model.name, "split": k, **numbers})
    data = problem.read(0)
    return {
        "name": problem.title,
        "rows": len(data.y),
        "columns": data.X.shape[1],
        "test_rows": len(data.y_test),
        "published": problem.published,
        "runs": runs,
        "summary": {model.name: means(runs, model.name) for model in problem.models},
    }


def fit_split(
    read: Callable[[int], Data], k: int, model: set_classifiers.Model, threads: int | None
) -> dict[str, Any]:
    """Seconds, scores on the test rows, and what the model says of itself."""
    data = read(k)
    few = np.linspace(0, len(data.y) - 1, min(len(data.y), WARM_UP_ROWS)).astype(np.intp)
    return worker.run_after_warm_up(
        lambda: model.build().fit(data.X[few], data.y[few]),
        lambda: _fit_and_predict(model.build(), data),
        threads,
    )


def _fit_and_predict(model: Any, data: Data) -> dict[str, Any]:
    _, (fit_s, _) = worker.time_work(lambda: model.fit(data.X, data.y))
    prediction, (predict_s, _) = worker.time_work(lambda: probabilities.predict(model, data.X_test))
    return {
        "fit_wall_s": fit_s,
        "predict_wall_s": predict_s,
        **probabilities.score(data, prediction),
        **set_classifiers.evidence(model),
    }


def means(runs: Sequence[dict[str, Any]], name: str) -> dict[str, dict[str, float | None]]:
    """Mean and standard error of what a model scored; the median of its seconds."""
    own = [run for run in runs if run["contender"] == name]
    found = {key: mean_and_error([run[key] for run in own]) for key in SHOWN if key in own[0]}
    for key in ("fit_wall_s", "predict_wall_s"):
        found[key] = {"mean": statistics.median(run[key] for run in own), "standard_error": None}
    return found


def page(result: dict[str, Any]) -> str:
    """A table a set: the models, and what others found."""
    lines = [f"# {result['title']}", "", *report.provenance(result)]
    lines += [NOTE]
    heading = ["", *SHOWN.values(), "fit, s", "predict, s"]
    for task in result["tasks"]:
        size = f"{task['rows']:,} x {task['columns']}, {task['test_rows']:,} test rows"
        splits = len({run["split"] for run in task["runs"]})
        lines += ["", f"## {task['name']}: {size}" + (f", {splits} splits" * (splits > 1)), ""]
        lines += report.table(heading, _table_rows(task))
    return "\n".join([*lines, ""])


def _table_rows(task: dict[str, Any]) -> list[list[str]]:
    keys = (*SHOWN, "fit_wall_s", "predict_wall_s")
    own = [[name, *(_cell(row.get(key)) for key in keys)] for name, row in task["summary"].items()]
    others = [[who, errors, *("-" for _ in keys[1:])] for who, errors in task["published"]]
    return own + others


def _cell(score: dict[str, float | None] | None) -> str:
    if score is None:
        return "-"
    mean, error = report.number(score["mean"]), score["standard_error"]
    return mean if error is None else f"{mean} +- {report.number(error, digits=2)}"


def main(
    sets: Annotated[list[str] | None, typer.Option("--set", help="Sets; none: all.")] = None,
    splits: Annotated[int, typer.Option(min=1, max=SPLITS, help="How many splits.")] = SPLITS,
    points: Annotated[int, typer.Option(min=1, help="Inducing points for many rows.")] = POINTS,
    threads: Annotated[int | None, typer.Option(min=1, help="BLAS threads. None: all.")] = None,
) -> None:
    """Fit some sets; anything less than all counts as a rehearsal."""
    chosen = [p for p in problems(points) if sets is None or p.name in sets]
    quick = splits < SPLITS or sets is not None
    run(Options(threads=threads, quick=quick, console=Console()), splits, chosen)


if __name__ == "__main__":
    typer.run(main)
