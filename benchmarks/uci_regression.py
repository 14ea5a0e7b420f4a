"""GaussianProcessRegressor with its defaults on the UCI sets, beside figures of others.

The columns are taken as they come, in their units; nothing is standardised by hand. The splits are
the twenty that the literature uses, or the first five of them for the larger sets.
``python -m benchmarks.uci_regression --splits 3`` takes the first three, and ``--set boston`` one
set.
"""

import math
import statistics
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from threadpoolctl import threadpool_limits

from benchmarks import machine, report, scores
from benchmarks.cases import Data
from benchmarks.options import Options
from posterity.process import GaussianProcessRegressor

FOLDER_NAME = "shared/data/uci_regression"
FOLDER = Path(__file__).parents[2] / FOLDER_NAME
SPLITS = 20
SHOWN = {"rmse": "RMSE", "log_score": "log density"}


@dataclass(frozen=True)
class Problem:
    """A set, how the process is told to handle its rows, and what is known of others."""

    name: str
    inducing_points: int | None = None
    others: tuple[tuple[str, float, float], ...] = ()  # who, RMSE, log density
    splits: int = SPLITS  # fewer where a fit takes a minute

    def model(self) -> GaussianProcessRegressor:
        """With its defaults, but for the rows where these are too many."""
        return GaussianProcessRegressor(inducing_points=self.inducing_points)

    @property
    def settings(self) -> str:
        """How a person writes the model."""
        m = self.inducing_points
        return "" if m is None else f", inducing_points={m}"

    def split(self, k: int) -> Data:
        """Training and test rows of split k."""
        data = np.load(FOLDER / f"{self.name}.npz", allow_pickle=False)
        X, y = data["X"].astype(np.float64), data["y"].astype(np.float64)
        train, test = data["train_idx"][k], data["test_idx"][k]
        return Data(X[train], y[train], X[test], y[test])


PROBLEMS = (
    Problem("boston", None, (("exact GP", 2.67, -2.38), ("linear", 4.59, -2.97))),
    Problem("energy", None, (("exact GP", 0.480, -0.700), ("linear", 3.06, -2.54))),
    Problem("wine-red", None, (("exact GP", 0.641, -0.970),)),
    Problem("power", 512, (("sparse GP, 512 points", 3.78, -2.75), ("linear", 4.61, -2.95)), 5),
    Problem("kin8nm", 512, (("MC dropout, 2 layers", 0.08, 1.10), ("linear", 0.202, 0.179)), 5),
)


def run(
    options: Options, splits: int | None = None, problems: Sequence[Problem] = PROBLEMS
) -> None:
    """Fit every split of every set; write and show the means."""
    if not FOLDER.exists():
        message = f"{FOLDER_NAME} is not beside the repository."
        options.console.print(f"uci_regression: skipped, because {message}")
        return
    count = splits or (2 if options.quick else SPLITS)
    with threadpool_limits(limits=options.threads):
        result = {
            "benchmark": "uci_regression",
            "title": "UCI regression: GaussianProcessRegressor, raw columns, default settings",
            **machine.describe(),
            "tasks": [measure_problem(problem, count, options) for problem in problems],
        }
    report.publish(result, page(result), options)


def measure_problem(problem: Problem, splits: int, options: Options) -> dict[str, Any]:
    """The scores of every split, and their means."""
    numbers = range(min(splits, problem.splits))
    rows = [fit_split(problem, k) for k in track(numbers, problem.name, console=options.console)]
    keys = [key for key, value in rows[0].items() if isinstance(value, float)]
    return {
        "name": problem.name,
        "model": f"posterity{problem.settings}",
        "others": problem.others,
        "splits": rows,
        "summary": {key: mean_and_error([row[key] for row in rows]) for key in keys},
    }


def fit_split(problem: Problem, k: int) -> dict[str, Any]:
    """Seconds, scores on the test rows, and warnings, of one split."""
    data = problem.split(k)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        model = problem.model().fit(data.X, data.y)
        seconds = time.perf_counter() - start
        prediction = model.predict(data.X_test, return_std=True)
    return {
        "fit_wall_s": seconds,
        **scores.predictive(data, prediction),
        "log_evidence": float(model.log_evidence_),
        "stop_reason": model.stop_reason_,
        "warnings": sorted({w.category.__name__ for w in caught}),
    }


def mean_and_error(values: Sequence[float]) -> dict[str, float | None]:
    """The mean, and its standard error where there is more than one value."""
    n = len(values)
    error = statistics.stdev(values) / math.sqrt(n) if n > 1 else None
    return {"mean": statistics.fmean(values), "standard_error": error}


def page(result: dict[str, Any]) -> str:
    """A table a set: what was found, and what others found."""
    lines = [f"# {result['title']}", "", *report.provenance(result)]
    lines += ["Means over splits, with one standard error; test rows, in units of the target."]
    lines += ["The others standardise columns and targets on the training part.", ""]
    for task in result["tasks"]:
        heading = ["", *SHOWN.values(), "90 % coverage", "fit, s"]
        lines += [f"## {task['name']}, {len(task['splits'])} splits", ""]
        lines += [*report.table(heading, _table_rows(task)), ""]
    return "\n".join(lines)


def _table_rows(task: dict[str, Any]) -> list[list[str]]:
    found = task["summary"]
    own = [task["model"], *(_with_error(found[key]) for key in (*SHOWN, "coverage_90"))]
    others = [
        [who, f"{rmse:g}", f"{log_score:g}", "-", "-"] for who, rmse, log_score in task["others"]
    ]
    return [[*own, report.number(found["fit_wall_s"]["mean"])], *others]


def _with_error(score: dict[str, float | None]) -> str:
    mean, error = report.number(score["mean"], digits=4), score["standard_error"]
    return mean if error is None else f"{mean} +- {report.number(error, digits=2)}"


def main(
    splits: Annotated[int, typer.Option(min=1, max=SPLITS, help="How many splits.")] = SPLITS,
    sets: Annotated[list[str] | None, typer.Option("--set", help="Sets; none: all.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="BLAS threads. None: all.")] = None,
) -> None:
    """Fit the first splits of some sets; anything less than all counts as a rehearsal."""
    problems = [p for p in PROBLEMS if sets is None or p.name in sets]
    quick = splits < SPLITS or len(problems) < len(PROBLEMS)
    options = Options(threads=threads, quick=quick, console=Console())
    run(options, splits, problems)


if __name__ == "__main__":
    typer.run(main)
