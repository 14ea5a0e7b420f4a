"""What happens inside the process of one contender, once.

The clock starts after a warm-up on a corner of the data, so imports, lazy loading and the start
of thread pools are not in it. Memory is the high-water mark of the process; the data are read
from files, so before the fit the mark stands no higher than what is held when the fit starts.
"""

import gc
import resource
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from benchmarks.cases import Contender, Data, Task

T = TypeVar("T")
_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")
_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024


def generate(task: Task, folder: Path) -> None:
    """Make the data of a task in this process, so that its memory is not the harness's."""
    task.generate(np.random.default_rng(task.seed), task.size).save(folder)


def measure(task: Task, contender: Contender, folder: Path, threads: int | None) -> dict[str, Any]:
    """Fit and predict once: seconds, MiB, scores, and the threads and warnings there were."""
    data = Data.load(folder)
    return run_after_warm_up(
        lambda: _fit_and_predict(contender, data.small()),
        lambda: _fit_and_predict(contender, data, score=task.score),
        threads,
    )


def run_after_warm_up(
    warm_up: Callable[[], Any], work: Callable[[], dict[str, Any]], threads: int | None
) -> dict[str, Any]:
    """What the work says after a warm-up, and the threads and warnings there were."""
    with threadpool_limits(limits=threads), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warm_up()
        gc.collect()
        caught.clear()
        numbers = work()
        pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return numbers | {
        "blas": sorted({f"{p['internal_api']} {p['version']} {p['architecture']}" for p in pools}),
        "blas_threads": max((p["num_threads"] for p in pools), default=1),
        "warnings": sorted({w.category.__name__ for w in caught}),
    }


def _fit_and_predict(
    contender: Contender, data: Data, score: Callable[..., dict[str, float]] | None = None
) -> dict[str, Any]:
    """The measured work itself."""
    before = peak_mib()
    model, fit = time_work(lambda: contender.fit(contender.build(), data.X, data.y))
    after_fit = peak_mib()
    prediction, predict = time_work(lambda: contender.predict(model, data.X_test))
    after = peak_mib()
    return {
        "fit_wall_s": fit[0],
        "fit_cpu_s": fit[1],
        "predict_wall_s": predict[0],
        "predict_cpu_s": predict[1],
        "fit_peak_mib": after_fit - before,
        "peak_mib": after - before,
        "absolute_peak_mib": after,
        **(score(data, prediction) | contender.facts(model) if score is not None else {}),
    }


def time_work(work: Callable[[], T]) -> tuple[T, tuple[float, float]]:
    """The result of the work, and its wall and CPU seconds over all threads."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, (time.perf_counter() - wall, time.process_time() - cpu)


def peak_mib() -> float:
    """The most memory this process has held at once, in MiB.

    Linux hands ru_maxrss down from the parent to a new process, so there the mark is read from
    the kernel's status file, which begins anew with the program.
    """
    if _STATUS.exists():
        marks = (line for line in _STATUS.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(next(marks).split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_UNIT / 2**20


def forget_peak() -> None:
    """Lower the mark to what is held now, where the system can: imports take more for a moment."""
    if _CLEAR.exists():
        _CLEAR.write_text("5")
