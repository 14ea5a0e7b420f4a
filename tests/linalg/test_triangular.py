"""Triangular factors: the Gram matrix they stand for, at any scale and condition."""

from fractions import Fraction

import numpy as np
import pytest

from posterity import linalg
from posterity.linalg import scaling, triangular

EPS = np.finfo(float).eps


def gram_ratio(R, A):
    """The largest error of R^T R relative to rounding, column by column.  [NLA 19.4]"""
    scale = np.linalg.norm(A, axis=0)
    scale[scale == 0] = 1.0
    R, A = R / scale, A / scale
    return np.max(np.abs(R.T @ R - A.T @ A)) / (A.shape[1] * np.sqrt(len(A)) * EPS)


def conditioned(rng, n, p, condition):
    """A matrix with singular values spread evenly in the logarithm."""
    U, _ = np.linalg.qr(rng.normal(size=(n, p)))
    V, _ = np.linalg.qr(rng.normal(size=(p, p)))
    return U * np.logspace(0, -np.log10(condition), p) @ V.T


def by_reflections(A):
    return triangular._append_rows(np.empty((0, A.shape[1])), A)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("condition", [1.0, 1e2, 1e5, 1e12, 1e18])
@pytest.mark.parametrize(("n", "p"), [(2, 1), (7, 6), (200, 10)])
def test_factor_has_the_gram_matrix_of_its_matrix(n, p, condition, order, rng):
    A = np.array(conditioned(rng, n, p, condition), order=order)
    before = A.copy()
    R = linalg.triangular_factor(A)
    assert R.shape == (p, p)
    assert np.all(np.tril(R, -1) == 0)
    assert np.all(np.diagonal(R) >= 0)
    assert gram_ratio(R, A) < 10
    np.testing.assert_array_equal(A, before)


def test_both_routes_give_the_same_factor(rng):
    A = rng.normal(size=(300, 8))
    by_gram = triangular._gram_factor(A.T @ A)
    by_reflection = by_reflections(A)
    np.testing.assert_allclose(by_gram, by_reflection, rtol=0, atol=1e-11)
    np.testing.assert_array_equal(linalg.triangular_factor(A), by_gram)


@pytest.mark.parametrize("condition", [2e3, 1e6, 1e9])
def test_the_gram_route_is_refused_where_it_would_lose_digits(condition, rng):
    A = conditioned(rng, 100, 5, condition)
    assert triangular._gram_factor(A.T @ A) is None


def test_the_gram_route_is_taken_where_it_is_as_good(rng):
    A = conditioned(rng, 100, 5, 300.0)
    assert triangular._gram_factor(A.T @ A) is not None


def test_a_column_of_zeros_does_not_cost_the_gram_route(rng):
    A = rng.normal(size=(50, 4))
    A[:, 2] = 0.0
    R = triangular._gram_factor(A.T @ A)
    np.testing.assert_allclose(R.T @ R, A.T @ A, rtol=1e-13, atol=1e-13)
    assert not R[2].any()
    assert not R[:, 2].any()


@pytest.mark.parametrize("condition", [10.0, 1e9])
def test_blocks_have_the_factor_of_the_whole(condition, rng):
    A = conditioned(rng, 100, 5, condition)
    by_blocks = linalg.factor_of_blocks(lambda: np.array_split(A, 7))
    np.testing.assert_allclose(by_blocks, linalg.triangular_factor(A), rtol=0, atol=1e-12)


def test_a_buffer_may_be_used_for_every_block(rng):
    A = conditioned(rng, 100, 5, 1e9)
    buffer = np.empty((10, 5))

    def blocks():
        for i in range(0, 100, 10):
            buffer[:] = A[i : i + 10]
            yield buffer

    np.testing.assert_allclose(
        linalg.factor_of_blocks(blocks), linalg.triangular_factor(A), rtol=0, atol=1e-12
    )


def test_small_pivots_keep_their_digits():
    # The last pivot is the distance of the last column from the others, 1e-9 here: its square is
    # lost to rounding in the Gram matrix.
    A = np.array([[1.0, 1.0], [1.0, 1.0 + 2.0**-30], [1.0, 1.0]])
    distance = np.sqrt(float(Fraction(2, 3))) * 2.0**-30
    assert linalg.triangular_factor(A)[1, 1] == pytest.approx(distance, rel=1e-6)


@pytest.mark.parametrize("size", [1e300, 1e-300, 5e-310, 1e155, 1e-158])
@pytest.mark.parametrize("condition", [30.0, 1e8])
def test_columns_of_any_size_are_factorised_as_well(size, condition, rng):
    A = conditioned(rng, 50, 4, condition)
    sizes = scaling.power_of_two_scales(np.array([1.0, 1.0 / max(size, 1e-305), 1.0, 1.0]))
    R = linalg.triangular_factor(A * sizes) / sizes
    # A column of denormal numbers has few digits to begin with.
    tolerance = 1e-13 if size > 1e-305 else 1e-2
    assert np.all(np.isfinite(R))
    np.testing.assert_allclose(R.T @ R, A.T @ A, rtol=0, atol=tolerance)


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_a_matrix_whose_squares_are_out_of_range_is_factorised_as_well(size, rng):
    A = rng.normal(size=(30, 3))
    R = linalg.triangular_factor(A * size)
    np.testing.assert_allclose(R / size, linalg.triangular_factor(A), atol=1e-12)


@pytest.mark.parametrize("condition", [1.0, 1e9])
def test_zero_columns_are_allowed(condition, rng):
    A = conditioned(rng, 20, 4, condition)
    A[:, 1] = 0.0
    R = linalg.triangular_factor(A)
    np.testing.assert_array_equal(R[:, 1], 0.0)
    assert gram_ratio(R, A) < 10


def test_a_tiny_column_is_not_taken_for_a_zero_one():
    A = np.array([[1e-200, 0.0], [0.0, 1.0], [0.0, 0.0]])
    np.testing.assert_array_equal(linalg.triangular_factor(A), [[1e-200, 0.0], [0.0, 1.0]])


@pytest.mark.parametrize("shape", [(3, 3), (3, 5), (0, 4)])
def test_a_matrix_with_few_rows_is_its_own_factor(shape, rng):
    A = rng.normal(size=shape)
    assert np.shares_memory(linalg.triangular_factor(A), A) or not A.size
    np.testing.assert_array_equal(linalg.triangular_factor(A), A)


def test_a_matrix_without_columns_has_an_empty_factor():
    assert linalg.triangular_factor(np.empty((5, 0))).shape == (0, 0)


def test_blocks_of_rows_make_no_difference(rng, monkeypatch):
    A = conditioned(rng, 103, 5, 1e10)
    whole = by_reflections(A)
    monkeypatch.setattr(triangular, "_BLOCK_ROWS", 7)
    blocks = by_reflections(A)
    assert gram_ratio(blocks, A) < 10
    np.testing.assert_allclose(blocks, whole, rtol=0, atol=1e-14)


@pytest.mark.parametrize("condition", [1.0, 1e9])
def test_the_factor_of_blocks_is_that_of_the_whole(condition, rng):
    A = conditioned(rng, 40, 4, condition)
    for cuts in ([10, 20], [1], [39]):
        R = linalg.factor_of_blocks(lambda cuts=cuts: np.split(A, cuts))
        np.testing.assert_allclose(R, linalg.triangular_factor(A), rtol=0, atol=1e-13)
        assert gram_ratio(R, A) < 10


def test_a_column_may_be_zero_in_one_block_and_tiny_in_another():
    A = np.array([[0.0, 1.0], [0.0, 2.0], [3e-200, 0.0], [4e-200, 0.0]])
    R = linalg.factor_of_blocks(lambda: [A[:2], A[2:]])
    np.testing.assert_allclose(R, [[5e-200, 0.0], [0.0, np.sqrt(5.0)]], rtol=1e-15)


@pytest.mark.parametrize("rows", [0, 1, 3, 20])
def test_merged_factors_are_those_of_the_stacked_rows(rows, rng):
    A = conditioned(rng, 40, 4, 1e10)
    first, second = A[:rows], A[rows:]
    R = linalg.merge_factors(linalg.triangular_factor(first), linalg.triangular_factor(second))
    assert R.shape == (4, 4)
    assert gram_ratio(R, A) < 10
    np.testing.assert_allclose(R, by_reflections(A), rtol=0, atol=1e-14)


def test_factors_are_merged_by_reflections_even_where_the_gram_matrix_would_do(rng):
    first, second = rng.normal(size=(2, 9, 3))
    stacked = np.concatenate([first, second])
    by_reflection = by_reflections(stacked)
    assert np.any(by_reflection != triangular._gram_factor(stacked.T @ stacked))
    np.testing.assert_array_equal(linalg.merge_factors(first, second), by_reflection)


def test_factors_of_very_different_size_are_merged():
    large, small = np.array([[1e300]]), np.array([[1e-300]])
    np.testing.assert_array_equal(linalg.merge_factors(large, small), large)
    np.testing.assert_array_equal(linalg.merge_factors(small, large), large)


def test_merged_factors_of_few_rows_are_stacked(rng):
    first, second = rng.normal(size=(1, 4)), rng.normal(size=(2, 4))
    merged = linalg.merge_factors(first, second)
    np.testing.assert_array_equal(merged, np.concatenate([first, second]))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_column_that_is_not_finite_is_named(bad, rng):
    A = rng.normal(size=(10, 3))
    A[4, 2] = bad
    with pytest.raises(ValueError, match="1 of 3 columns hold NaN or infinity, the first is col"):
        linalg.triangular_factor(A)


def test_single_precision_is_taken_as_double(rng):
    A = rng.normal(size=(10, 3)).astype(np.float32)
    R = linalg.triangular_factor(A)
    assert R.dtype == np.float64
    assert gram_ratio(R, A.astype(float)) < 10
