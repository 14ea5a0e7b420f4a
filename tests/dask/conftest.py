"""A cluster of worker processes, started once for all tests that need one."""

import contextlib
import importlib.util
from collections.abc import Iterator
from typing import Any

import pytest

# Not find_spec("dask"): this very folder would be found under that name where Dask is missing.
if importlib.util.find_spec("distributed") is None:
    collect_ignore_glob = ["test_*.py"]


@contextlib.contextmanager
def started(n_workers: int = 2, **settings: Any) -> Iterator[Any]:
    """Worker processes of one thread each, with nannies, all gone at the end."""
    import distributed

    with distributed.LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address="127.0.0.1:0",  # None would be port 8787, and a warning where it is taken
        silence_logs=50,
        **settings,
    ) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """Two workers for whoever does not harm them."""
    with started() as cluster:
        yield cluster


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    """Connected with the cluster, and what Dask computes with while the test runs."""
    import distributed

    with distributed.Client(cluster) as client:
        yield client
