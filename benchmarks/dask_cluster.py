"""Worker processes on this machine, and what a piece of work costs them and their client."""

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from threadpoolctl import threadpool_info

from benchmarks import dask_meter, worker

T = TypeVar("T")
KIB = 1024.0


@contextlib.contextmanager
def start_cluster(n_workers: int, memory_limit: str | float = "auto") -> Iterator[Any]:
    """A client of so many processes of one thread; a worker that exceeds its memory is killed."""
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            memory_limit=memory_limit,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def hold_in_memory(*collections: Any) -> tuple[Any, ...]:
    """The same collections, with every partition in the memory of a worker."""
    import dask
    import distributed

    there: tuple[Any, ...] = dask.persist(*collections)
    distributed.wait(there)
    return there


def measure_work(client: Any, work: Callable[[], T]) -> tuple[T, dict[str, float]]:
    """What the work returns, its seconds, the graphs it handed over, and the client's traffic."""
    with dask_meter.meter_traffic(client) as traffic:
        result, seconds = time_work(work)
    return result, {
        "fit_wall_s": seconds,
        "passes": float(traffic.n_passes),
        "received_kib": sum(traffic.received) / KIB,
        "sent_kib": sum(traffic.sent) / KIB,
    }


def time_work(work: Callable[[], T]) -> tuple[T, float]:
    """What the work returns, and its seconds."""
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def peaks(client: Any) -> dict[str, float]:
    """The most memory that each worker process ever held, in MiB, by its address.

    The kernel keeps this mark, so no moment is missed. A worker that was killed has begun anew.
    """
    found: dict[str, float] = client.run(worker.peak_mib)
    return found


def processes(client: Any) -> dict[str, int]:
    """The process of each worker, by its address: others, where one was killed."""
    found: dict[str, int] = client.run(os.getpid)
    return found


def blas(client: Any) -> dict[str, Any]:
    """The BLAS libraries of the workers, and their threads."""
    return {
        "blas": sorted({name for names, _ in client.run(_pools).values() for name in names}),
        "blas_threads": max(threads for _, threads in client.run(_pools).values()),
    }


def _pools() -> tuple[list[str], int]:
    import numpy  # noqa: F401  brings its BLAS, where no task has yet

    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    names = [f"{p['internal_api']} {p['version']} {p['architecture']}" for p in pools]
    return names, max((pool["num_threads"] for pool in pools), default=1)
