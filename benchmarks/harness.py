"""Run every contender on every task, turn and turn about, each time in a process of its own.

A B A B, not A A B B: a machine that slows down or warms up does so for all alike. The data are
made once a task, from its seed, and every process reads the same files.
"""

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

from rich.progress import track

from benchmarks import machine, report, worker
from benchmarks.cases import Benchmark, Contender, Task
from benchmarks.options import Options

T = TypeVar("T")
# PyTorch and JAX bring BLAS libraries that cannot be told once they are loaded.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC")


def run(
    benchmark: Benchmark, options: Options, measure: Callable[..., Any] = worker.measure
) -> dict[str, Any]:
    """Measure, write and show a benchmark; returns what the JSON file holds."""
    present = [contender for contender in benchmark.contenders if contender.is_here]
    tasks = [task.tenth() for task in benchmark.tasks] if options.quick else benchmark.tasks
    result: dict[str, Any] = {
        "benchmark": benchmark.name,
        "title": benchmark.title,
        **machine.describe(),
        "repeats": options.repeats,
        "note": benchmark.note,
        "not_installed": [c.name for c in benchmark.contenders if not c.is_here],
        "tasks": [_run_task(task, present, options, measure) for task in tasks],
    }
    report.publish(result, report.markdown(result), options)
    return result


def schedule(contenders: Sequence[Contender], repeats: int) -> list[tuple[int, Contender]]:
    """Who runs when: every contender once before any runs again."""
    return [(repeat, contender) for repeat in range(repeats) for contender in contenders]


def _run_task(
    task: Task, contenders: Sequence[Contender], options: Options, measure: Callable[..., Any]
) -> dict[str, Any]:
    """Every run of one task in the order it was measured, and the medians."""
    with tempfile.TemporaryDirectory() as name, threads_of_children(options.threads):
        folder = Path(name)
        in_new_process(worker.generate, task, folder)
        turns = schedule(contenders, options.repeats)
        runs = []
        for repeat, contender in track(turns, task.size.label, console=options.console):
            numbers = in_new_process(measure, task, contender, folder, options.threads)
            runs.append({"contender": contender.name, "repeat": repeat, **numbers})
    size = task.size
    return {
        "name": task.name,
        "rows": size.rows,
        "columns": size.columns,
        "test_rows": size.test_rows,
        "seed": task.seed,
        "runs": runs,
        "summary": report.summarise(runs),
    }


@contextlib.contextmanager
def threads_of_children(count: int | None) -> Iterator[None]:
    """Processes started within are told how many threads to use; None: they decide."""
    before = {name: os.environ.get(name) for name in _THREADS}
    if count is not None:
        os.environ.update(dict.fromkeys(_THREADS, str(count)))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def in_new_process(work: Callable[..., T], *arguments: Any) -> T:
    """The result of the work in a fresh interpreter, which ends with it."""
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()
