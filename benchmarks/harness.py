"""Run every contender on every task, turn and turn about, each time in a process of its own.

A B A B, not A A B B: a machine that slows down or warms up does so for all alike. The data are
made once a task, from its seed, and every process reads the same files.
"""

import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

from rich.progress import track

from benchmarks import machine, report, worker
from benchmarks.cases import Benchmark, Contender, Task
from benchmarks.options import Options

T = TypeVar("T")


def run(benchmark: Benchmark, options: Options) -> dict[str, Any]:
    """Measure, write and show a benchmark; returns what the JSON file holds."""
    tasks = [task.tenth() for task in benchmark.tasks] if options.quick else benchmark.tasks
    result: dict[str, Any] = {
        "benchmark": benchmark.name,
        "title": benchmark.title,
        **machine.describe(),
        "repeats": options.repeats,
        "tasks": [_run_task(task, benchmark.contenders, options) for task in tasks],
    }
    report.publish(result, report.markdown(result), options)
    return result


def schedule(contenders: Sequence[Contender], repeats: int) -> list[tuple[int, Contender]]:
    """Who runs when: every contender once before any runs again."""
    return [(repeat, contender) for repeat in range(repeats) for contender in contenders]


def _run_task(task: Task, contenders: Sequence[Contender], options: Options) -> dict[str, Any]:
    """Every run of one task in the order it was measured, and the medians."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        in_new_process(worker.generate, task, folder)
        turns = schedule(contenders, options.repeats)
        runs = []
        for repeat, contender in track(turns, task.size.label, console=options.console):
            numbers = in_new_process(worker.measure, task, contender, folder, options.threads)
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


def in_new_process(work: Callable[..., T], *arguments: Any) -> T:
    """The result of the work in a fresh interpreter, which ends with it."""
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()
