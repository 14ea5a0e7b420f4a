"""What a client sends and receives while a model is fitted: sums of M columns, never rows."""

import functools
import statistics

import numpy as np
import pytest
from sklearn.base import clone

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

from benchmarks import dask_meter  # noqa: E402

from posterity import (  # noqa: E402
    PCA,
    BayesianLinearRegression,
    BayesianLogisticRegression,
    LogisticRegression,
)

MODELS = {
    "logistic": LogisticRegression(),
    "bayesian logistic": BayesianLogisticRegression(prior_variance=1.0),
    "bayesian linear": BayesianLinearRegression(),
    "principal components": PCA(2),
}
each_model = pytest.mark.parametrize("kind", MODELS)


def noise(n):
    """Bytes that cannot be sent in fewer."""
    return np.random.default_rng(0).bytes(n)


@pytest.fixture(scope="module")
def traffic_of(cluster):
    """Of a fit to rows that workers hold, for each case once."""

    @functools.cache
    def held(N, M, n_partitions):
        X = da.random.default_rng(0).normal(size=(N, M), chunks=(N // n_partitions, M)).persist()
        noise = da.random.default_rng(1).normal(size=N, chunks=N // n_partitions)
        y = (X[:, 0] + noise).persist()
        distributed.wait([X, y])
        return X, y

    @functools.cache
    def counted(kind, *size):
        X, y = held(*size)
        with dask_meter.meter_traffic(client) as traffic:
            fit(clone(MODELS[kind]), X, y)
        return traffic

    def traffic_of(kind, N=2000, M=10, n_partitions=4):
        return counted(kind, N, M, n_partitions)

    with distributed.Client(cluster) as client:
        yield traffic_of


def fit(model, X, y):
    if isinstance(model, PCA):
        model.fit(X)
    else:
        model.fit(X, y if isinstance(model, BayesianLinearRegression) else y > 0.0)


def of_a_pass(n_bytes):
    """Most passes are steps; the few before them look at targets and at a sample of the rows."""
    return statistics.median(n_bytes[1:])


@pytest.mark.parametrize("n", [1000, 1_000_000])
def test_the_meter_counts_what_comes_back(client, n):
    with dask_meter.meter_traffic(client) as traffic:
        client.submit(noise, n, pure=False).result()
    assert traffic.n_passes == 1
    assert n < sum(traffic.received) < n + 1000
    assert sum(traffic.sent) < 4000


@pytest.mark.parametrize("n", [1000, 1_000_000])
def test_the_meter_counts_what_is_sent(client, n):
    with dask_meter.meter_traffic(client) as traffic:
        client.submit(len, noise(n), pure=False).result()
    assert n < sum(traffic.sent) < n + 4000
    assert sum(traffic.received) < 1000


def test_the_meter_does_not_count_what_workers_send_each_other(client):
    here, there = list(client.scheduler_info()["workers"])
    with dask_meter.meter_traffic(client) as traffic:
        made = client.submit(noise, 1_000_000, pure=False, workers=[here])
        assert client.submit(len, made, pure=False, workers=[there]).result() == 1_000_000
    assert sum(traffic.sent) + sum(traffic.received) < 10_000


@pytest.mark.full(but=3)
@each_model
def test_a_pass_brings_back_as_much_of_few_rows_as_of_many(traffic_of, kind):
    few, many = (of_a_pass(traffic_of(kind, N).received) for N in (2000, 200_000))
    assert many == pytest.approx(few, abs=1000)  # a heartbeat may be among them


@each_model
def test_a_pass_sends_as_much_for_few_rows_as_for_many(traffic_of, kind):
    few, many = (of_a_pass(traffic_of(kind, N).sent) for N in (2000, 200_000))
    assert many == pytest.approx(few, abs=1000 + 0.1 * few)


@each_model
def test_a_whole_fit_brings_back_a_small_part_of_the_rows(traffic_of, kind):
    N, M = 200_000, 10
    assert sum(traffic_of(kind, N).received) < 0.01 * 8 * N * M


@pytest.mark.full(but=1)
@each_model
@pytest.mark.parametrize("M", [10, 20, 40])
def test_a_pass_brings_back_a_matrix_of_the_columns(traffic_of, kind, M):
    assert 8 * M**2 < of_a_pass(traffic_of(kind, M=M).received) < 2000 + 1.2 * 8 * M**2


@pytest.mark.full(but=1)
@each_model
def test_what_a_pass_sends_grows_with_the_partitions(traffic_of, kind):
    few, many = (of_a_pass(traffic_of(kind, n_partitions=n).sent) for n in (4, 12))
    assert few < many < few + 8 * 1000


def test_a_client_without_connections_is_refused():
    with (
        distributed.Client(
            processes=False, n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as client,
        pytest.raises(ValueError, match="TCP"),
        dask_meter.meter_traffic(client),
    ):
        pass
