"""Relevance vectors on the sets of Tipping (2001), beside his figures and support vectors.

posterity takes its defaults: the width of the kernel is learned within the fit, columns come as
they are; pixels have the RBF kernel of the paper. Support vectors have penalty and width by
five-fold cross-validation. ``python -m benchmarks.relevance_sets --set banana --splits 2`` takes
two splits of one set.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from benchmarks import harness, machine, probabilities, real_sets, report, scores, worker
from benchmarks import relevance_problems as sets
from benchmarks import tuned_machines as tuned
from benchmarks.cases import Data
from benchmarks.options import Options
from benchmarks.uci_regression import mean_and_error
from posterity import RelevanceVectorClassifier, RelevanceVectorRegressor, kernels

MOST_SPLITS = 20
WARM_UP_ROWS = 100
PIXEL_WIDTH = 6.2  # exp(-r^2 / (0.3 * 256)), for pixels between -1 and 1
SHOWN = ("error", "vectors", "log_loss", "fit_wall_s", "predict_wall_s")
NOTE = (
    "Means over splits or draws, with one standard error where there are several. Errors are in "
    "percent for classes; for functions the mean squared error, for sinc its root, beside the "
    "function without noise where it is known. The log loss of functions is of test rows with "
    "noise. What support vectors take includes their cross-validation; they were measured on "
    "2026-11-15, and posterity again on 2026-11-17, while other work ran: its seconds are too many."
)


@dataclass(frozen=True)
class Model:
    """As a table names it, and how it is made."""

    name: str
    build: Callable[[], Any]


def models(problem: sets.Problem) -> tuple[Model, ...]:
    """posterity's and scikit-learn's for a set."""
    if not problem.classes:
        return (
            Model("posterity RelevanceVectorRegressor", RelevanceVectorRegressor),
            Model("scikit-learn SVR", tuned.TunedRegressor),
        )
    grid = tuned.FEW if problem.pixels else None
    kernel = kernels.RBF(PIXEL_WIDTH).fixed() if problem.pixels else None
    ours = partial(RelevanceVectorClassifier, kernel)
    return (
        Model("posterity RelevanceVectorClassifier", ours),
        Model("scikit-learn SVC", partial(tuned.TunedClassifier, grid, problem.pixels)),
    )


def run(
    options: Options, splits: int | None = None, chosen: Sequence[sets.Problem] | None = None
) -> None:
    """Fit both models on every split of every set; write and show the means."""
    if not real_sets.FOLDER.exists():
        message = f"{real_sets.FOLDER_NAME} is not beside the repository."
        options.console.print(f"relevance_sets: skipped, because {message}")
        return
    every = (*sets.CLASSES, *sets.FUNCTIONS) if chosen is None else chosen
    count = splits or (1 if options.quick else MOST_SPLITS)
    for name, pixels in (("relevance_sets", False), ("relevance_digits", True)):
        some = [problem for problem in every if problem.pixels == pixels]
        if not some or (pixels and options.quick and chosen is None):
            continue
        result = {
            "benchmark": name,
            "title": "Relevance vectors on the sets of Tipping (2001)",
            **machine.describe(),
            "tasks": [measure_problem(problem, count, options) for problem in some],
        }
        report.publish(result, page(result), options)


def measure_problem(problem: sets.Problem, splits: int, options: Options) -> dict[str, Any]:
    """Both models, each in a process of its own, and the means."""
    count, runs = min(splits, problem.splits), []
    with harness.threads_of_children(options.threads):
        for model in models(problem):
            options.console.print(f"{problem.name}: {model.name}")
            found = harness.in_new_process(fit_split, problem, model, count, options.threads)
            runs += [{"contender": model.name, **numbers} for numbers in found]
    data = problem.read(0)
    return {
        "name": problem.title,
        "classes": problem.classes,
        "rows": len(data.y),
        "columns": data.X.shape[1],
        "test_rows": len(data.y_test),
        "splits": count,
        "published": [asdict(found) for found in problem.published],
        "runs": runs,
        "summary": {model.name: means(runs, model.name) for model in models(problem)},
    }


def fit_split(
    problem: sets.Problem, model: Model, splits: int, threads: int | None
) -> list[dict[str, Any]]:
    """Seconds, scores on the test rows and vectors, of each split."""
    data = problem.read(0)
    few = np.linspace(0, len(data.y) - 1, min(len(data.y), WARM_UP_ROWS)).astype(np.intp)
    runs: list[dict[str, Any]] = []

    def work() -> dict[str, Any]:
        runs.extend(one(problem, model, k) for k in range(splits))
        return {}

    told = worker.run_after_warm_up(
        lambda: model.build().fit(data.X[few], data.y[few]), work, threads
    )
    return [run | told for run in runs]


def one(problem: sets.Problem, model: Model, k: int) -> dict[str, Any]:
    """Fit and score one split."""
    data, built = problem.read(k), model.build()
    _, (fit_s, _) = worker.time_work(lambda: built.fit(data.X, data.y))
    predicted, (predict_s, _) = worker.time_work(lambda: built.predict(data.X_test))
    score = classes_score if problem.classes else partial(function_score, root=problem.root)
    evidence = getattr(built, "log_evidence_", None)
    return {
        "split": k,
        "fit_wall_s": fit_s,
        "predict_wall_s": predict_s,
        "vectors": float(vectors(built)),
        **score(built, data, predicted),
        **({} if evidence is None else {"log_evidence": float(evidence)}),
    }


def vectors(model: Any) -> int:
    """How many rows a fitted model keeps."""
    is_tuned = isinstance(model, tuned.TunedClassifier | tuned.TunedRegressor)
    return model.vectors if is_tuned else len(model.relevance_)


def classes_score(model: Any, data: Data, predicted: Any) -> dict[str, float]:
    """Errors of the classes predicted, and log loss of the probabilities."""
    told = probabilities.score(data, probabilities.predict(model, data.X_test))
    return told | {"error": 100.0 * float(np.mean(predicted != data.y_test))}


def function_score(model: Any, data: Data, predicted: Any, root: bool) -> dict[str, float]:
    """Mean squared error, or its root, and the log loss where a model tells deviations."""
    target = data.y_test if data.reference is None else data.reference
    error = float(np.mean((predicted - target) ** 2))
    found = {"error": error**0.5 if root else error}
    if isinstance(model, tuned.TunedRegressor):
        return found
    told = scores.predictive(data, model.predict(data.X_test, return_std=True))
    return found | {"log_loss": -told["log_score"], "coverage_90": told["coverage_90"]}


def means(runs: Sequence[dict[str, Any]], name: str) -> dict[str, dict[str, float | None]]:
    """Mean and standard error of what a model scored; the median of its seconds."""
    own = [run for run in runs if run["contender"] == name]
    keys = [key for key in SHOWN if key in own[0] and not key.endswith("_s")]
    found = {key: mean_and_error([run[key] for run in own]) for key in keys}
    for key in ("fit_wall_s", "predict_wall_s"):
        found[key] = {"mean": statistics.median(run[key] for run in own), "standard_error": None}
    return found


def page(result: dict[str, Any]) -> str:
    """A table a set: the models, and what others found."""
    lines = [f"# {result['title']}", "", *report.provenance(result), "", NOTE]
    for task in result["tasks"]:
        size = f"{task['rows']:,} x {task['columns']}, {task['test_rows']:,} test rows"
        count = f", {task['splits']} splits" * (task["splits"] > 1)
        error = "errors, %" if task["classes"] else "error"
        heading = ["", error, "vectors", "log loss", "fit, s", "predict, s"]
        lines += ["", f"## {task['name']}: {size}{count}", ""]
        lines += report.table(heading, _table_rows(task))
    return "\n".join([*lines, ""])


def _table_rows(task: dict[str, Any]) -> list[list[str]]:
    own = [[name, *(_cell(row.get(key)) for key in SHOWN)] for name, row in task["summary"].items()]
    others = [[o["who"], o["error"], o["vectors"], "-", "-", "-"] for o in task["published"]]
    return own + others


def _cell(score: dict[str, float | None] | None) -> str:
    if score is None:
        return "-"
    mean, error = report.number(score["mean"]), score["standard_error"]
    return mean if error is None else f"{mean} +- {report.number(error, digits=2)}"


def main(
    names: Annotated[list[str] | None, typer.Option("--set", help="Sets; none: all.")] = None,
    splits: Annotated[int, typer.Option(min=1, max=MOST_SPLITS)] = MOST_SPLITS,
    threads: Annotated[int | None, typer.Option(min=1, help="BLAS threads. None: all.")] = None,
) -> None:
    """Fit some sets; anything less than all counts as a rehearsal."""
    problems = (*sets.CLASSES, *sets.FUNCTIONS)
    chosen = [problem for problem in problems if names is None or problem.name in names]
    quick = splits < MOST_SPLITS or names is not None
    run(Options(threads=threads, quick=quick, console=Console()), splits, chosen)


if __name__ == "__main__":
    typer.run(main)
