"""A hundred million rows that are nowhere: made by the tasks that need them, on two workers.

A worker has room for a small part of the rows and is killed if it takes more. Each model has a
cluster of its own, so that the memory is its own; beside it are a pass that only makes the rows and
one that makes and checks them. The weights that made the targets are known: how far off those found
are is told in posterior standard deviations, which should be about one.
``python -m benchmarks.dask_rows --rows 1000000`` does it with fewer rows.
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from benchmarks import dask_cluster, machine, report
from benchmarks.cases import Array
from benchmarks.dask_source import OFFSET, Source
from benchmarks.options import Options
from posterity import BayesianLinearRegression, BayesianLogisticRegression
from posterity.designs import Partitions

ROWS, COLUMNS, BLOCK_ROWS, WARM_UP_ROWS = 100_000_000, 30, 200_000, 4_000
WORKERS, MEMORY_GIB = 2, 1.5
REPEATS = 1  # a fit makes all rows several times
MAKE, CHECK = "making the rows", "making and checking the rows"
MEASURES = {
    "fit_wall_s": "s",
    "passes": "passes",
    "rows_per_s": "rows/s in a pass",
    "worker_peak_mib": "largest worker, MiB",
    "received_kib": "to the client, KiB",
    "sent_kib": "from the client, KiB",
    "made_share": "share of making rows",
    "deviations_rms": "errors in deviations, rms",
    "deviations_max": "largest",
}


@dataclass(frozen=True)
class Problem:
    """What the targets are, and the model of them."""

    name: str
    targets: str
    model: Callable[[], Any]

    @property
    def contender(self) -> str:
        """How the model is called in the tables."""
        return f"posterity {self.model().__class__.__name__}"


PROBLEMS = (
    Problem("numbers, a linear model with noise", "numbers", BayesianLinearRegression),
    Problem("two classes, a logistic model", "classes", BayesianLogisticRegression),
)


def run(options: Options, rows: int | None = None) -> dict[str, Any]:
    """Fit both models; write and show what it took."""
    n = rows or (ROWS // 100 if options.quick else ROWS)
    source = Source(n, COLUMNS, min(BLOCK_ROWS, -(-n // (4 * WORKERS))))
    repeats = min(options.repeats, REPEATS)
    result: dict[str, Any] = {
        "benchmark": "dask_rows",
        "title": "Rows made by the tasks that need them",
        **machine.describe(),
        **{"repeats": repeats, "workers": WORKERS, "memory_limit_gib": MEMORY_GIB},
        "tasks": [measure(problem, source, repeats) for problem in PROBLEMS],
    }
    report.publish(result, page(result), options)
    return result


def measure(problem: Problem, source: Source, repeats: int) -> dict[str, Any]:
    """Every run of one problem, each with workers of its own, and the medians."""
    works = {problem.contender: fit(problem, source), CHECK: check, MAKE: make}
    runs = [
        {"contender": name, "repeat": repeat} | _alone(work, source, problem.targets)
        for repeat in range(repeats)
        for name, work in works.items()
    ]
    summary = report.summarise(runs)
    making, fitting = summary[MAKE]["fit_wall_s"], summary[problem.contender]
    share = (making["median"] or 0.0) * (fitting["passes"]["median"] or 0.0)
    fitting["made_share"] = {"median": share / (fitting["fit_wall_s"]["median"] or 1.0)}
    size = {"rows": source.rows, "columns": source.columns, "partitions": len(source.lengths)}
    return {"name": problem.name, **size, "runs": runs, "summary": summary}


Work = Callable[[Any, Any], dict[str, float]]


def _alone(work: Work, source: Source, targets: str) -> dict[str, Any]:
    """What the work says, its cost, and the memory of workers that have done nothing else."""
    with dask_cluster.start_cluster(WORKERS, f"{MEMORY_GIB} GiB") as client:
        work(*source.of_rows(WARM_UP_ROWS, WARM_UP_ROWS // WORKERS).collections(targets))
        before = dask_cluster.processes(client)
        told, numbers = dask_cluster.measure_work(
            client, lambda: work(*source.collections(targets))
        )
        if dask_cluster.processes(client) != before:
            raise MemoryError(f"a worker was killed: {MEMORY_GIB} GiB was not enough for it.")
        peaks = sorted(dask_cluster.peaks(client).values())
        workers = dask_cluster.blas(client)
    speed = {"rows_per_s": source.rows * numbers["passes"] / numbers["fit_wall_s"]}
    memory = {"worker_peak_mib": peaks[-1], "all_worker_peaks_mib": peaks}
    return numbers | told | speed | memory | workers


def make(X: Any, y: Any) -> dict[str, float]:
    """All rows, for a sum of the targets."""
    y.sum().compute()
    return {}


def check(X: Any, y: Any) -> dict[str, float]:
    """All rows, as a model sees them, for their count."""
    Partitions.from_collections(X, y).reduce(len, operator.add)
    return {}


def fit(problem: Problem, source: Source) -> Work:
    """The model, and how far from the truth it believes to be and is."""

    def work(X: Any, y: Any) -> dict[str, float]:
        z = deviations(problem.model().fit(X, y), source)
        return {
            "deviations_rms": float(np.sqrt(np.mean(z**2))),
            "deviations_max": float(np.max(np.abs(z))),
        }

    return work


def deviations(model: Any, source: Source) -> Array:
    """Errors of the weights and of the offset, each over its posterior standard deviation."""
    M = source.columns
    A, b = np.eye(M + 1)[:, :M], np.eye(M + 1)[:, M]
    f = model.posterior_.combine(A, b)
    mean, covariance = f.mean, f.covariance
    error = mean[:, -1] - np.append(source.weights, OFFSET)
    return np.asarray(error / np.sqrt(np.diagonal(covariance[-1])))


def page(result: dict[str, Any]) -> str:
    """A table a model."""
    lines = [f"# {result['title']}", "", *report.provenance(result), ""]
    task = result["tasks"][0]
    dense = task["rows"] * (task["columns"] + 1) * 8 / 2**30
    lines += [
        f"{result['workers']} worker processes of one thread and {result['memory_limit_gib']} GiB "
        f"each; {task['partitions']} partitions. As float64 the rows would take {dense:,.1f} GiB. "
        "A pass is a graph handed to the scheduler. Errors of the weights are in posterior "
        f"standard deviations: of {task['columns'] + 1}, one is expected of their root mean "
        "square.",
        "",
    ]
    for task in result["tasks"]:
        body = [
            [name, *(_cell(row.get(key)) for key in MEASURES)]
            for name, row in task["summary"].items()
        ]
        lines += [f"## {task['rows']:,} x {task['columns']}: {task['name']}", ""]
        lines += [*report.table(["", *MEASURES.values()], body), ""]
    return "\n".join(lines)


def _cell(spread: dict[str, float | None] | None) -> str:
    return "-" if spread is None else report.number(spread["median"])


def main(
    rows: Annotated[int, typer.Option(min=100_000, help="How many rows.")] = ROWS,
) -> None:
    """Fit so many rows; fewer than the usual number count as a rehearsal."""
    run(Options(quick=rows < ROWS, console=Console()), rows)


if __name__ == "__main__":
    typer.run(main)
