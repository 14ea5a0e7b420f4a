"""How passes grow with workers and with partitions: the constants by which a cluster is planned.

Weak scaling: twice the workers, twice the rows; the efficiency is the time of one worker over that
of two. It is measured of a pass that sums products of columns, of one that does what a step of
Newton does, and of a fit, with rows that tasks make and with rows that workers hold. The same
products in bare processes show how much of the loss is the machine's. Then passes that do next to
nothing, over 1 to 512 partitions: seconds = a + b partitions.
``python -m benchmarks.dask_scaling --rows 200000`` does it with fewer rows a worker.
"""

import operator
import statistics
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from scipy import special

from benchmarks import dask_cluster, harness, machine, report
from benchmarks.cases import Array
from benchmarks.dask_source import Source
from benchmarks.options import Options
from posterity import BayesianLogisticRegression
from posterity.designs import Partitions, RowValues, Streamed

ROWS_OF_A_WORKER, COLUMNS, BLOCK_ROWS, WARM_UP_ROWS = 5_000_000, 30, 200_000, 4_000
WORKERS, PARTITIONS, EMPTY_PASSES = (1, 2), (1, 8, 64, 512), 5
BARE = "products of columns, bare processes"
MADE, HELD, EMPTY = "rows made by tasks", "rows held by workers", "an empty pass"
SECONDS = {1: "one_worker_s", 2: "two_workers_s"}


def run(options: Options, rows: int | None = None) -> dict[str, Any]:
    """Measure with one and two workers in turns; write and show the constants."""
    n = rows or (ROWS_OF_A_WORKER // 10 if options.quick else ROWS_OF_A_WORKER)
    result: dict[str, Any] = {
        "benchmark": "dask_scaling",
        "title": "Passes by workers and by partitions",
        **machine.describe(),
        "repeats": options.repeats,
    }
    turns = [(repeat, w) for repeat in range(options.repeats) for w in WORKERS]
    runs = [
        run | {"repeat": repeat}
        for repeat, n_workers in track(turns, "workers", console=options.console)
        for run in _with_workers(n_workers, n)
    ]
    result["tasks"] = [_task(name, n, runs) for name in (MADE, HELD, EMPTY)]
    result["overhead"] = {str(w): overhead(runs, w) for w in WORKERS}
    report.publish(result, page(result), options)
    return result


def _with_workers(n_workers: int, rows: int) -> list[dict[str, Any]]:
    """One turn: bare processes, then everything with one cluster."""
    source = Source(rows * n_workers, COLUMNS, min(BLOCK_ROWS, -(-rows // 4)))
    runs = [_run(MADE, BARE, n_workers, bare_products(source, n_workers))]
    with dask_cluster.start_cluster(n_workers) as client:
        small = source.of_rows(WARM_UP_ROWS, WARM_UP_ROWS // (2 * n_workers))
        made, held = (
            source.collections("classes"),
            dask_cluster.hold_in_memory(*small.collections("classes")),
        )
        for work in WORKS.values():
            work(*held)
        runs += [_time_run(MADE, name, n_workers, work, *made) for name, work in WORKS.items()]
        held = dask_cluster.hold_in_memory(*made)
        runs += [_time_run(HELD, name, n_workers, work, *held) for name, work in WORKS.items()]
        del held
        runs += [_run(EMPTY, _count(p), n_workers, empty_pass(p)) for p in PARTITIONS]
        workers = dask_cluster.blas(client)
    return [run | workers for run in runs]


def _time_run(
    task: str, name: str, n_workers: int, work: Callable[[Any, Any], Any], X: Any, y: Any
) -> dict[str, Any]:
    """Seconds of a pass. How many a fit takes depends on its rows, so each counts alone."""
    passes, seconds = dask_cluster.time_work(partial(work, X, y))
    return _run(task, name, n_workers, seconds / passes) | {"passes": passes}


def _run(task: str, name: str, n_workers: int, seconds: float) -> dict[str, Any]:
    return {"task": task, "contender": name, "workers": n_workers, "seconds": seconds}


def products(X: Any, y: Any) -> int:
    """Z^T Z in one pass."""
    Streamed(Partitions.from_collections(X, y)).gram()
    return 1


def newton(X: Any, y: Any) -> int:
    """Gradient and curvature of logistic regression in one pass."""
    w = np.linspace(-1.0, 1.0, X.shape[1])
    Streamed(Partitions.from_collections(X, y)).sum_over_parts(Curvature(w), RowValues(_targets))
    return 1


def fit(X: Any, y: Any) -> int:
    """All the passes of a model."""
    import distributed

    client = distributed.get_client()
    _, numbers = dask_cluster.measure_work(client, lambda: BayesianLogisticRegression().fit(X, y))
    return round(numbers["passes"])


WORKS = {
    "products of columns": products,
    "a step of Newton": newton,
    "a pass of BayesianLogisticRegression.fit": fit,
}


@dataclass(frozen=True)
class Curvature:
    """Sums over the rows that a step of Newton needs at the weights w."""

    w: Array

    def __call__(self, part: Any, y: Array) -> list[Array]:
        p = special.expit(part.matvec(self.w))
        return [part.rmatvec(y - p), part.gram(p * (1.0 - p))]


def _targets(block: Any) -> Array:
    return np.asarray(block.y)


def bare_products(source: Source, n_processes: int) -> float:
    """Seconds of the products of all blocks, shared out to processes without Dask."""
    shares = [range(k, len(source.lengths), n_processes) for k in range(n_processes)]
    with (
        harness.threads_of_children(1),
        ProcessPoolExecutor(n_processes, mp_context=get_context("spawn")) as pool,
    ):
        work = partial(products_of_blocks, source)
        list(pool.map(work, [share[:1] for share in shares]))
        return dask_cluster.time_work(lambda: list(pool.map(work, shares)))[1]


def products_of_blocks(source: Source, numbers: range) -> Array:
    """The sum over some blocks."""
    total = np.zeros((source.columns, source.columns))
    for number in numbers:
        Z = source.block(number).astype(np.float64)
        total += Z.T @ Z
    return total


def empty_pass(n_partitions: int) -> float:
    """Median seconds of a pass over so many partitions of one row that workers hold."""
    X, y = dask_cluster.hold_in_memory(*Source(n_partitions, COLUMNS, 1).collections("classes"))
    rows = Partitions.from_collections(X, y)
    work = partial(rows.reduce, len, operator.add)
    work()
    return statistics.median(dask_cluster.time_work(work)[1] for _ in range(EMPTY_PASSES))


def overhead(runs: list[dict[str, Any]], n_workers: int) -> dict[str, float]:
    """The constants of seconds = a + b partitions, with small relative errors everywhere."""
    own = [run for run in runs if run["task"] == EMPTY and run["workers"] == n_workers]
    points = {
        p: [run["seconds"] for run in own if run["contender"] == _count(p)] for p in PARTITIONS
    }
    t = np.array([statistics.median(found) for found in points.values()])
    Z = np.column_stack([np.ones(len(t)), list(points)])
    a, b = np.linalg.lstsq(Z / t[:, None], np.ones(len(t)), rcond=None)[0]
    return {"pass_s": float(a), "partition_s": float(b)}


def _task(name: str, rows: int, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The runs of one table, and their medians by the number of workers."""
    own = [run for run in runs if run["task"] == name]
    summary = {who: _summary(own, who) for who in dict.fromkeys(run["contender"] for run in own)}
    size = {"rows": PARTITIONS[-1] if name == EMPTY else rows, "columns": COLUMNS}
    return {"name": name, **size, "runs": own, "summary": summary}


def _summary(runs: list[dict[str, Any]], name: str) -> dict[str, dict[str, float]]:
    """Seconds with one worker and with two, and what is left of the second."""
    seconds = {
        w: [run["seconds"] for run in runs if run["contender"] == name and run["workers"] == w]
        for w in WORKERS
    }
    medians = {w: statistics.median(found) for w, found in seconds.items()}
    spreads = {
        SECONDS[w]: {"median": medians[w], "min": min(found), "max": max(found)}
        for w, found in seconds.items()
    }
    return spreads | {"efficiency": {"median": medians[WORKERS[0]] / medians[WORKERS[-1]]}}


def page(result: dict[str, Any]) -> str:
    """A table for each kind of rows, and the constants."""
    lines = [f"# {result['title']}", "", *report.provenance(result), ""]
    for task in result["tasks"]:
        size = "" if task["name"] == EMPTY else f", {task['rows']:,} x {task['columns']} a worker"
        body = [
            [name, *(report.cell(row[key], style) for key, style in _STYLES.items())]
            for name, row in task["summary"].items()
        ]
        lines += [f"## {task['name'].capitalize()}{size}", ""]
        lines += [*report.table(["", "one worker, s", "two, s", "one / two"], body), ""]
    for n_workers, found in result["overhead"].items():
        lines += [
            f"Workers: {n_workers}. A pass costs {1e3 * found['pass_s']:.1f} ms, and "
            f"{1e3 * found['partition_s']:.2f} ms for each partition.",
            "",
        ]
    return "\n".join(lines)


_STYLES = {SECONDS[1]: "range", SECONDS[2]: "range", "efficiency": "median"}


def _count(n_partitions: int) -> str:
    return "1 partition" if n_partitions == 1 else f"{n_partitions} partitions"


def main(
    rows: Annotated[int, typer.Option(min=50_000, help="Of each worker.")] = ROWS_OF_A_WORKER,
    repeats: Annotated[int, typer.Option(min=1, help="Turns of one worker and two.")] = 3,
) -> None:
    """Measure; fewer rows than usual count as a rehearsal."""
    run(Options(repeats=repeats, quick=rows < ROWS_OF_A_WORKER, console=Console()), rows)


if __name__ == "__main__":
    typer.run(main)
