"""Benchmarks on Dask: rows are the same at every pass, references and errors are what they say."""

import dataclasses
import json

import numpy as np
import pytest
from support.for_each import for_each

dask = pytest.importorskip("dask")

from benchmarks import dask_peers, dask_rows, dask_scaling, dask_source  # noqa: E402
from benchmarks.options import Options  # noqa: E402
from sklearn import linear_model  # noqa: E402

from posterity import BayesianLinearRegression, BayesianLogisticRegression  # noqa: E402

SOURCE = dask_source.Source(2_500, 4, 1_000)
RELATED = dask_source.Source(2_500, 30, 1_000, directions=10, dtype="float64")
KINDS = ("numbers", "classes")


@pytest.fixture(autouse=True)
def here():
    with dask.config.set(scheduler="synchronous"):
        yield


@for_each("source", [SOURCE, RELATED], ids=["independent", "related"])
@for_each("kind", KINDS)
def test_collections_hold_the_same_rows_at_every_pass(source, kind):
    X, y = source.collections(kind)
    Z, t = source.in_memory(kind)
    assert X.chunks == ((1000, 1000, 500), (source.columns,))
    for _ in range(2):
        found = dask.compute(X, y)
        np.testing.assert_array_equal(found[0], Z)
        np.testing.assert_array_equal(found[1], t)
    assert found[0].dtype == X.dtype == source.dtype


def test_blocks_differ_and_entries_fill_their_range():
    X = dataclasses.replace(SOURCE, rows=200_000, block_rows=100_000).in_memory("numbers")[0]
    assert not np.any(np.all(X[:100_000] == X[100_000:], axis=1))
    assert np.all(np.abs(X) <= 1.0)
    np.testing.assert_allclose(np.cov(X.T), np.eye(4) / 3.0, atol=5e-3)
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=8e-3)


def test_columns_share_the_directions_that_are_said():
    source = dataclasses.replace(RELATED, rows=200_000, block_rows=100_000, columns=6)
    expected = (np.eye(6) + source.axes.T @ source.axes) / 3.0
    found = np.cov(source.in_memory("numbers")[0].T)
    np.testing.assert_allclose(found, expected, atol=0.02 * expected.max())


def test_targets_are_of_the_model_that_is_said():
    source = dataclasses.replace(SOURCE, rows=200_000, block_rows=100_000)
    X, y = source.in_memory("numbers")
    rest = y - X @ source.weights - dask_source.OFFSET
    assert np.mean(rest) == pytest.approx(0.0, abs=5e-3)
    assert np.var(rest) == pytest.approx(dask_source.NOISE_VARIANCE, rel=0.02)
    X, y = source.in_memory("classes")
    p = 1.0 / (1.0 + np.exp(-X @ source.weights - dask_source.OFFSET))
    for low, high in ((0.1, 0.3), (0.4, 0.6), (0.7, 0.9)):
        some = (low < p) & (p < high)
        assert np.mean(y[some]) == pytest.approx(np.mean(p[some]), abs=0.01)


def test_references_are_the_solutions():
    X, y = RELATED.in_memory("numbers")
    best = linear_model.LinearRegression().fit(X, y)
    expected = np.append(best.coef_, best.intercept_)
    np.testing.assert_allclose(dask_peers.least_squares(X, y), expected, rtol=1e-8)
    X, y = RELATED.in_memory("classes")
    w = dask_peers.most_likely(X, y)
    Z = np.column_stack([X, np.ones(len(X))])
    np.testing.assert_allclose(Z.T @ (y - 1.0 / (1.0 + np.exp(-Z @ w))), 0.0, atol=1e-8)


@for_each("problem", dask_peers.PROBLEMS, ids=lambda problem: problem.name)
def test_posterity_solves_what_the_reference_solves(problem):
    first = problem.contenders[0]
    assert first.name.startswith("posterity")
    exact = problem.exact(*RELATED.in_memory(problem.targets))
    found = first.fit(*RELATED.collections(problem.targets))
    assert dask_peers.digits(problem.error(found, exact)) > 8.0


def test_errors_are_seen():
    exact = np.array([1.0, -4.0, 2.0])
    assert dask_peers.coefficient_error(np.array([1.0, -3.96, 2.0]), exact) == pytest.approx(0.01)
    planes = np.array([[9.0, 1.0, 0.0, 0.0], [4.0, 0.0, 1.0, 0.0]])
    assert dask_peers.component_error(-planes * [-1, 1, 1, 1], planes) == pytest.approx(0.0)
    longer = planes * [1.02, 1.0, 1.0, 1.0]
    assert dask_peers.component_error(longer, planes) == pytest.approx(0.02)
    turned = planes.copy()
    turned[1] = [4.0, 0.0, np.cos(0.1), np.sin(0.1)]
    assert dask_peers.component_error(turned, planes) == pytest.approx(np.sin(0.1))


@for_each(
    ("model", "kind"),
    [(BayesianLinearRegression, "numbers"), (BayesianLogisticRegression, "classes")],
)
def test_deviations_are_errors_over_posterior_deviations(model, kind):
    fitted = model().fit(*SOURCE.in_memory(kind))
    z = dask_rows.deviations(fitted, SOURCE)
    coef, offset = fitted.sample_weights(20_000, random_state=0)
    drawn = np.column_stack([coef.reshape(20_000, -1), offset.ravel()])
    truth = np.append(SOURCE.weights, dask_source.OFFSET)
    np.testing.assert_allclose(z, (drawn.mean(0) - truth) / drawn.std(0), atol=0.1)
    assert np.sqrt(np.mean(z**2)) < 2.5


def test_a_newton_pass_sums_gradient_and_curvature():
    X, y = SOURCE.in_memory("classes")
    w = np.linspace(-1.0, 1.0, 4)
    design = dask_scaling.Streamed(
        dask_scaling.Partitions.from_collections(*SOURCE.collections("classes"))
    )
    along = dask_scaling.RowValues(dask_scaling._targets)
    gradient, curvature = design.sum_over_parts(dask_scaling.Curvature(w), along)
    Z = X.astype(float)
    p = 1.0 / (1.0 + np.exp(-Z @ w))
    np.testing.assert_allclose(gradient, Z.T @ (y - p))
    np.testing.assert_allclose(curvature, (Z.T * (p * (1.0 - p))) @ Z)


def test_bare_products_are_of_all_blocks():
    X = SOURCE.in_memory("classes")[0].astype(float)
    shares = [range(k, 3, 2) for k in range(2)]
    total = sum(dask_scaling.products_of_blocks(SOURCE, share) for share in shares)
    np.testing.assert_allclose(total, X.T @ X)


def test_overhead_is_the_line_through_the_passes():
    runs = [
        dask_scaling._run(dask_scaling.EMPTY, dask_scaling._count(p), 2, 0.02 + 0.001 * p)
        for p in dask_scaling.PARTITIONS
    ]
    found = dask_scaling.overhead(runs, 2)
    assert found == pytest.approx({"pass_s": 0.02, "partition_s": 0.001})


def test_efficiency_is_the_time_of_one_worker_over_that_of_two(monkeypatch, tmp_path):
    def measured(n_workers, rows):
        seconds = {1: 1.0, 2: 1.25}[n_workers]
        empty = [
            dask_scaling._run(dask_scaling.EMPTY, dask_scaling._count(p), n_workers, 0.01 * p)
            for p in dask_scaling.PARTITIONS
        ]
        some = [
            dask_scaling._run(task, "products", n_workers, seconds)
            for task in (dask_scaling.MADE, dask_scaling.HELD)
        ]
        return [run | {"blas": ["a blas"], "blas_threads": 1} for run in some + empty]

    monkeypatch.setattr(dask_scaling, "_with_workers", measured)
    dask_scaling.run(Options(repeats=2, folder=tmp_path))
    result = json.loads((tmp_path / "dask_scaling.json").read_text())
    made = result["tasks"][0]["summary"]["products"]
    assert made["efficiency"]["median"] == pytest.approx(0.8)
    page = (tmp_path / "dask_scaling.md").read_text()
    assert "| products | 1.00 (1.00 - 1.00) | 1.25 (1.25 - 1.25) | 0.800 |" in page
    assert "and 10.00 ms for each partition" in page


def test_a_contender_that_took_too_long_is_not_measured_again():
    slow = dask_peers.Contender("slow", lambda X, y: X)
    runs = [{"contender": "slow", "fit_wall_s": 2.0 * dask_peers.TOO_LONG_S}]
    assert dask_peers._took_too_long(slow, runs)
    assert not dask_peers._took_too_long(dask_peers.Contender("other", slow.fit), runs)
