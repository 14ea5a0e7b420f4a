"""Principal axes by columns, by rows, by an orthogonal factor and by projection: one answer."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity import designs
from posterity.latent.components import routes
from posterity.latent.components.routes import FactoredSource, MemorySource, StreamedSource

EXACT = {"columns": routes.decompose_by_columns, "rows": routes.decompose_by_rows}


def rows(n, d, low=0.3, seed=0):
    """Rows with singular values from one to `low`, nearly."""
    rng = np.random.default_rng(seed)
    scales = np.geomspace(1.0, low, d)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return (rng.normal(size=(n, d)) * scales) @ turn + rng.normal(size=d)


def reference(X):
    """Variances and axes by a singular value decomposition."""
    _, s, Vt = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    return s**2 / (len(X) - 1), Vt


def all_axes(spectrum):
    return len(spectrum.variances)


def assert_axes(found, expected, atol=1e-11):
    assert found.shape == expected.shape
    np.testing.assert_allclose(np.abs(np.sum(found * expected, axis=1)), 1.0, atol=atol)


@for_each("shape", [(200, 8), (9, 8), (8, 9), (12, 90)])
@for_each("route", EXACT)
def test_every_route_gives_what_a_singular_value_decomposition_does(route, shape):
    X = rows(*shape)
    k = min(shape[0] - 1, shape[1])
    model = EXACT[route](MemorySource(X), lambda spectrum: k)
    variances, Vt = reference(X)
    np.testing.assert_allclose(model.variances, variances[:k], rtol=1e-12)
    assert_axes(model.axes, Vt[:k])
    np.testing.assert_allclose(model.axes @ model.axes.T, np.eye(k), atol=1e-12)
    np.testing.assert_allclose(model.mean, X.mean(axis=0), rtol=1e-13)


@for_each("shape", [(40, 8), (8, 40)])
def test_routes_agree_in_signs_too(shape):
    X = rows(*shape)
    a, b = (route(MemorySource(X), lambda spectrum: 6) for route in EXACT.values())
    np.testing.assert_allclose(a.axes, b.axes, atol=1e-12)
    np.testing.assert_allclose(a.variances, b.variances, rtol=1e-12)


@for_each("route", EXACT)
def test_directions_without_variance_have_exactly_none(route):
    X = rows(30, 4) @ np.random.default_rng(1).normal(size=(4, 9))
    model = EXACT[route](MemorySource(X), all_axes)
    np.testing.assert_array_equal(model.spectrum.variances[4:], 0.0)
    assert np.all(model.spectrum.variances[:4] > 0.0)
    np.testing.assert_allclose(model.axes @ model.axes.T, np.eye(len(model.axes)), atol=1e-12)


@for_each("route", EXACT)
@for_each("shape", [(300, 6), (6, 300)])
def test_small_variances_have_the_digits_of_a_decomposition(route, shape):
    """Squares alone would leave nothing of the smallest, 1e-16 of the largest."""
    X = rows(*shape, low=1e-8) if shape[0] > 6 else rows(*shape[::-1], low=1e-8).T
    variances, Vt = reference(X)
    k = min(shape[0] - 1, shape[1])
    model = EXACT[route](MemorySource(X), lambda spectrum: k)
    np.testing.assert_allclose(model.variances, variances[:k], rtol=1e-6)
    assert_axes(model.axes, Vt[:k], atol=1e-9)
    np.testing.assert_allclose(model.axes @ model.axes.T, np.eye(k), atol=1e-13)


@pytest.mark.parametrize("route", EXACT)
def test_the_factor_is_made_only_where_a_small_variance_is_asked_for(route, monkeypatch):
    X, calls = rows(30, 6, low=1e-7), []
    factor = MemorySource.factor
    monkeypatch.setattr(MemorySource, "factor", lambda *given: calls.append(1) or factor(*given))
    EXACT[route](MemorySource(X), lambda spectrum: 2)
    assert not calls
    EXACT[route](MemorySource(X), lambda spectrum: 6)
    assert calls


def test_a_constant_column_needs_no_factor(monkeypatch):
    X = np.column_stack([rows(30, 5), np.full(30, 0.1)])
    monkeypatch.delattr(MemorySource, "factor")
    model = routes.decompose_by_columns(MemorySource(X), all_axes)
    assert model.spectrum.variances[5] == 0.0
    np.testing.assert_allclose(np.abs(model.axes[5]), np.eye(6)[5], atol=1e-12)


def test_what_centring_takes_needs_no_factor(monkeypatch):
    """Of few rows one direction has no variance, and this is known without looking."""
    monkeypatch.delattr(MemorySource, "factor")
    model = routes.decompose_by_rows(MemorySource(rows(8, 40)), all_axes)
    assert model.variances[7] == 0.0
    assert np.all(model.variances[:7] > 0.0)
    np.testing.assert_allclose(model.axes @ model.axes.T, np.eye(8), atol=1e-12)


@for_each("route", EXACT)
def test_a_mean_far_away_costs_no_digits(route):
    """The rows are exact in binary, so that shifting them by 2^27 loses nothing."""
    X = np.round(rows(50, 6) * 2**20) / 2**20
    near = EXACT[route](MemorySource(X), lambda spectrum: 5)
    far = EXACT[route](MemorySource(X + 2.0**27), lambda spectrum: 5)
    np.testing.assert_allclose(far.variances, near.variances, rtol=1e-12)
    np.testing.assert_allclose(far.axes, near.axes, atol=1e-11)


@for_each("shape", [(40, 6), (6, 40)])
@for_each("route", EXACT)
def test_weights_are_repetitions(route, shape):
    X, weights = rows(*shape), np.random.default_rng(1).integers(1, 4, shape[0])
    weighted = EXACT[route](MemorySource(X, weights.astype(float)), all_axes)
    repeated = EXACT[route](MemorySource(np.repeat(X, weights, axis=0)), all_axes)
    np.testing.assert_allclose(weighted.mean, repeated.mean, rtol=1e-12)
    np.testing.assert_allclose(weighted.variances, repeated.variances, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(weighted.axes, repeated.axes, atol=1e-9)


def test_rows_that_count_for_one_are_refused():
    with pytest.raises(ValueError, match="more than one sample"):
        routes.decompose_by_columns(MemorySource(rows(5, 2), np.full(5, 0.2)), all_axes)


@for_each("shape", [(300, 60), (60, 300)])
def test_projection_finds_the_leading_axes_and_the_noise(shape):
    X = rows(*shape, low=1e-2) if shape[0] > 60 else rows(300, 60, low=1e-2).T
    exact = routes.decompose_by_columns(MemorySource(X), lambda spectrum: 4)
    model = routes.decompose_by_projection(
        MemorySource(X), lambda spectrum: 4, np.random.default_rng(0)
    )
    np.testing.assert_allclose(model.variances, exact.variances, rtol=1e-5)
    np.testing.assert_allclose(model.noise_variance, exact.noise_variance, rtol=1e-5)
    np.testing.assert_allclose(model.spectrum.total, exact.spectrum.total, rtol=1e-12)
    assert_axes(model.axes, exact.axes, atol=1e-4)


def test_projection_completes_axes_that_repeated_rows_cannot_give():
    source = MemorySource(rows(3, 10), np.full(3, 4.0))
    model = routes.decompose_by_projection(source, lambda spectrum: 6, np.random.default_rng(0))
    np.testing.assert_allclose(model.axes @ model.axes.T, np.eye(6), atol=1e-12)
    np.testing.assert_array_equal(model.variances[2:], 0.0)


@for_each("low", [0.3, 1e-7])
def test_chunks_give_what_memory_does(low):
    X, weights = rows(500, 6, low=low), np.random.default_rng(1).uniform(0.0, 2.0, 500)
    weights[:70] = 0.0
    chunks = designs.Chunks.from_arrays(X, sample_weight=weights, rows=60)
    streamed = routes.decompose_by_columns(StreamedSource(chunks), all_axes)
    memory = routes.decompose_by_columns(MemorySource(X[70:], weights[70:]), all_axes)
    np.testing.assert_allclose(streamed.variances, memory.variances, rtol=1e-8)
    np.testing.assert_allclose(streamed.axes, memory.axes, atol=1e-6)


@for_each("shape", [(500, 6), (6, 500)])
@for_each("route", EXACT)
def test_merged_statistics_give_what_memory_does(route, shape):
    X = rows(*shape)
    parts = [designs.Statistics.from_rows(x, np.empty((len(x), 0))) for x in np.array_split(X, 3)]
    merged = FactoredSource.from_statistics(parts[0].merge(parts[1]).merge(parts[2]))
    k = 5
    found, memory = (EXACT[route](s, lambda spectrum: k) for s in (merged, MemorySource(X)))
    np.testing.assert_allclose(found.variances, memory.variances, rtol=1e-11)
    np.testing.assert_allclose(found.axes, memory.axes, atol=1e-10)
    np.testing.assert_allclose(found.mean, memory.mean, rtol=1e-12)


def test_rows_that_are_all_alike_have_no_variance():
    for route in EXACT.values():
        model = route(MemorySource(np.full((7, 3), 0.1)), all_axes)
        np.testing.assert_array_equal(model.spectrum.variances, 0.0)
        np.testing.assert_allclose(model.axes @ model.axes.T, np.eye(3), atol=1e-13)
