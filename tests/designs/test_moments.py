"""Mean and scatter of rows: in one pass, far from the origin, merged, weighted."""

from fractions import Fraction

import numpy as np
import pytest
from support.for_each import for_each

from posterity.designs import moments
from posterity.designs.moments import Centred, RowMoments


def rows(n=400, d=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d)


def exact_scatter(X):
    """In rational arithmetic."""
    columns = [[Fraction(float(x)) for x in column] for column in X.T]
    about = [[x - sum(column) / len(column) for x in column] for column in columns]
    return np.array(
        [[float(sum(a * b for a, b in zip(c, d, strict=True))) for d in about] for c in about]
    )


def assert_same(a, b, rtol=1e-12):
    np.testing.assert_allclose(a.count, b.count, rtol=1e-14)
    np.testing.assert_allclose(a.mean, b.mean, rtol=rtol)
    np.testing.assert_allclose(a.scatter, b.scatter, rtol=rtol, atol=1e-12 * b.scatter.max())


@for_each("order", ["C", "F"])
def test_moments_are_those_of_numpy(order):
    X = np.array(rows(), order=order)
    found = RowMoments.from_rows(X)
    np.testing.assert_allclose(found.mean, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.scatter, 399 * np.cov(X.T), rtol=1e-11)
    assert (found.count, found.n_rows) == (400.0, 400)


def test_several_blocks_give_what_one_does(monkeypatch):
    X = rows()
    whole = RowMoments.from_rows(X)
    monkeypatch.setattr(moments, "_BLOCK_VALUES", 100)
    monkeypatch.setattr(moments, "_MANY", 7)
    assert_same(RowMoments.from_rows(X), whole)


def test_a_mean_far_from_zero_costs_no_digits():
    """By X.T @ X, as scikit-learn does it, the error is of the order of the mean squared."""
    X = rows(40, 3) + 1e8
    found, exact = RowMoments.from_rows(X).scatter, exact_scatter(X)
    np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-12 * exact.max())
    naive = X.T @ X - 40 * np.outer(X.mean(axis=0), X.mean(axis=0))
    assert np.max(np.abs(naive - exact)) > 1e-3 * exact.max()


def test_an_origin_that_a_sample_got_wrong_is_corrected(monkeypatch):
    """The sample takes only rows near 0; all others lie near 1e6."""
    monkeypatch.setattr(moments, "_SAMPLE_ROWS", 4)
    X = rows(40, 3) + 1e6
    X[::10] -= 1e6
    passes = []
    about = moments._compute_about
    monkeypatch.setattr(moments, "_compute_about", lambda *a: passes.append(1) or about(*a))
    found, exact = RowMoments.from_rows(X).scatter, exact_scatter(X)
    assert len(passes) == 2
    np.testing.assert_allclose(found, exact, rtol=1e-12)


def test_one_pass_is_enough_where_the_sample_is_fair(monkeypatch):
    passes = []
    about = moments._compute_about
    monkeypatch.setattr(moments, "_compute_about", lambda *a: passes.append(1) or about(*a))
    RowMoments.from_rows(rows(5000) + 1e8)
    assert len(passes) == 1


def test_a_constant_column_has_exactly_no_scatter():
    X = rows()
    X[:, 1] = 0.1
    found = RowMoments.from_rows(X, np.random.default_rng(0).uniform(0.5, 2.0, 400))
    np.testing.assert_array_equal(found.scatter[1], 0.0)
    assert found.mean[1] == 0.1


@for_each("cut", [1, 3, 200, 399])
@for_each("shift", [0.0, 1e8])
def test_halves_merged_are_the_whole(cut, shift):
    X = rows() + shift
    halves = RowMoments.from_rows(X[:cut]).merge(RowMoments.from_rows(X[cut:]))
    whole = RowMoments.from_rows(X)
    assert_same(halves, whole, rtol=1e-11)
    assert halves.n_rows == whole.n_rows


def test_weights_are_repetitions():
    X, weights = rows(50), np.random.default_rng(1).integers(1, 4, 50)
    assert_same(
        RowMoments.from_rows(X, weights.astype(float)),
        RowMoments.from_rows(np.repeat(X, weights, axis=0)),
    )


def test_other_columns_do_not_merge():
    with pytest.raises(ValueError, match="5 columns with 4"):
        RowMoments.from_rows(rows()).merge(RowMoments.from_rows(rows(d=4)))


@pytest.mark.parametrize("shape", [(50, 6), (6, 50)])
@pytest.mark.parametrize("weighted", [False, True])
def test_products_with_centred_rows_are_those_of_a_copy(shape, weighted, monkeypatch):
    monkeypatch.setattr(moments, "_BLOCK_VALUES", 400)
    monkeypatch.setattr(Centred.row_blocks, "__defaults__", (3,))
    monkeypatch.setattr(Centred.column_blocks, "__defaults__", (3,))
    monkeypatch.setattr(moments, "_MANY", 4)
    rng = np.random.default_rng(0)
    X, root = rng.normal(size=shape), rng.uniform(0.5, 2.0, shape[0]) if weighted else None
    matrix = Centred(X, X.mean(axis=0), root)
    A = (X - X.mean(axis=0)) * (1.0 if root is None else root[:, None])
    B, C = rng.normal(size=(shape[1], 3)), rng.normal(size=(shape[0], 3))
    np.testing.assert_allclose(matrix.times(B), A @ B, atol=1e-13)
    np.testing.assert_allclose(matrix.transposed_times(C), A.T @ C, atol=1e-13)
    np.testing.assert_allclose(matrix.row_gram(), A @ A.T, atol=1e-13)


def test_column_means_are_weighted_and_exact_for_constants():
    X, weights = rows(30) + 1e6, np.random.default_rng(1).integers(1, 4, 30).astype(float)
    expected = np.average(X, axis=0, weights=weights)
    np.testing.assert_allclose(moments.compute_column_means(X, weights), expected, rtol=1e-14)
    np.testing.assert_allclose(moments.compute_column_means(X), X.mean(axis=0), rtol=1e-14)
