"""A cluster of worker processes, started once for all tests that need one."""

import contextlib
import importlib.util
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

if importlib.util.find_spec("distributed") is None:
    collect_ignore_glob = ["test_*.py"]


@contextlib.contextmanager
def _started() -> Iterator[Any]:
    import dask
    import distributed

    with (
        dask.config.set({"distributed.worker.profile.enabled": False}),  # which takes time, idle
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",  # None would be port 8787, and a warning if taken
            silence_logs=logging.CRITICAL,
        ) as cluster,
    ):
        yield cluster


@pytest.fixture(scope="session")
def started() -> Callable[[], contextlib.AbstractContextManager[Any]]:
    """Starts two worker processes of one thread each, with nannies; all are gone at the end."""
    return _started


@pytest.fixture(autouse=True)
def _scheduler() -> Iterator[None]:
    """Leaves Dask the scheduler that it had: clients that close in another order do not."""
    import dask

    before = dask.config.get("scheduler", None)
    yield
    dask.config.config.pop("scheduler", None)
    if before is not None:
        dask.config.config["scheduler"] = before


@pytest.fixture(scope="package")
def cluster() -> Iterator[Any]:
    """Two workers for whoever does not harm them; they are gone when other tests begin."""
    with _started() as cluster:
        yield cluster


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    """Connected with the cluster, and what Dask computes with while the test runs."""
    import distributed

    with distributed.Client(cluster) as client:
        yield client
