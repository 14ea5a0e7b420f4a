"""Cholesky factorisation and its guards."""

import tracemalloc
import warnings

import numpy as np
import pytest
from support.for_each import for_each

from posterity import linalg
from posterity.arrays import to_numpy

EPS = np.finfo(float).eps


def covariance(rng, n):
    X = rng.normal(size=(n, n + 2))
    return X @ X.T


def with_smallest_eigenvalue(rng, n, smallest):
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    A = Q * np.concatenate([[smallest], np.linspace(1, 2, n - 1)]) @ Q.T
    return (A + A.T) / 2


def ratio(L, A):
    """The residual relative to rounding, as LAPACK's tests measure it."""
    return np.linalg.norm(L @ L.T - A, 1) / (len(A) * EPS * np.linalg.norm(A, 1))


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("n", [1, 2, 17, 130])
def test_factor_reproduces_the_matrix(library, n, overwrite, rng):
    A = covariance(rng, n)
    given = library(A)
    L = to_numpy(linalg.cholesky(given, overwrite=overwrite))
    assert ratio(L, A) < 10
    assert np.all(np.triu(L, 1) == 0)
    if not overwrite:
        np.testing.assert_array_equal(to_numpy(given), A)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_any_scale_is_factorised_without_jitter(library, size, rng):
    A = covariance(rng, 10)
    L = to_numpy(linalg.cholesky(library(A * size))) / np.sqrt(size)
    assert ratio(L, A) < 10


def test_an_empty_matrix_has_an_empty_factor():
    assert linalg.cholesky(np.empty((0, 0))).shape == (0, 0)
    assert linalg.cholesky(np.empty((0, 0)), overwrite=True).shape == (0, 0)


def test_only_the_lower_triangle_is_read(rng):
    A = covariance(rng, 6)
    lower = np.where(np.tri(6, dtype=bool), A, np.nan)
    np.testing.assert_array_equal(linalg.cholesky(lower), linalg.cholesky(A))
    assert ratio(linalg.cholesky(np.asfortranarray(lower)), A) < 10


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_factor_lies_in_memory_as_the_matrix_does(order, rng):
    L = linalg.cholesky(np.array(covariance(rng, 5), order=order))
    assert L.flags.c_contiguous == (order == "C")


@pytest.mark.parametrize("order", ["C", "F"])
def test_overwriting_uses_the_memory_of_the_matrix(order, rng):
    A = np.array(covariance(rng, 20), order=order)
    assert np.shares_memory(linalg.cholesky(A, overwrite=True), A)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(("overwrite", "limit"), [(False, 1.05), (True, 0.1)])
def test_memory_is_that_of_the_factor_alone(order, overwrite, limit, rng):
    A = np.array(np.eye(800), order=order)
    linalg.cholesky(np.eye(2))  # the first call imports what the others use
    tracemalloc.start()
    linalg.cholesky(A, overwrite=overwrite)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < limit * A.nbytes


def test_numpy_arrays_are_taken_as_doubles(rng):
    A = covariance(rng, 5).astype(np.float32)
    for overwrite in (False, True):
        L = linalg.cholesky(A.copy(), overwrite=overwrite)
        assert L.dtype == np.float64
        assert ratio(L, A.astype(float)) < 10


def test_other_libraries_keep_their_type(rng):
    torch = pytest.importorskip("torch")
    A = torch.asarray(covariance(rng, 5), dtype=torch.float32)
    assert linalg.cholesky(A).dtype == torch.float32


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("size", [1.0, 1e100])
def test_jitter_is_relative_and_announced(library, size, overwrite):
    A = size * np.ones((4, 4))  # its second pivot is exactly zero
    with pytest.warns(linalg.JitterWarning, match=r"1e-10 of its mean diagonal \(1\.00e"):
        L = to_numpy(linalg.cholesky(library(A), overwrite=overwrite))
    np.testing.assert_allclose((L @ L.T - A) / size, 1e-10 * np.eye(4), rtol=0, atol=1e-15)


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("smallest", [-3e-10, -3e-9, -3e-8, -3e-7])
def test_jitter_is_the_least_of_the_ladder(library, smallest, overwrite, rng):
    A = with_smallest_eigenvalue(rng, 70, smallest)
    mean = np.mean(np.diag(A))
    ladder = 10.0 ** np.arange(-10, -5)
    least = ladder[np.argmax(ladder * mean > -smallest)]
    with pytest.warns(linalg.JitterWarning, match=f"{least:.0e} of its mean"):
        L = to_numpy(linalg.cholesky(library(A), overwrite=overwrite))
    np.testing.assert_allclose(L @ L.T, A + least * mean * np.eye(70), rtol=0, atol=1e-14)


def test_the_warning_points_at_the_caller():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        linalg.cholesky(np.ones((2, 2)))
    assert caught[0].filename == __file__


@pytest.mark.parametrize("overwrite", [False, True])
def test_failure_says_how_negative_and_leaves_the_matrix(library, overwrite, rng):
    A = with_smallest_eigenvalue(rng, 70, -0.125)
    given = library(A)
    with pytest.raises(linalg.NotPositiveDefiniteError, match=r"eigenvalue is -1\.25e-01"):
        linalg.cholesky(given, overwrite=overwrite)
    np.testing.assert_array_equal(to_numpy(given), A)


def test_no_jitter_is_added_where_none_is_allowed():
    with pytest.raises(linalg.NotPositiveDefiniteError, match="not positive definite"):
        linalg.cholesky(np.ones((3, 3)), max_jitter=0.0)


def test_a_negative_diagonal_is_an_error_at_any_size():
    with pytest.raises(linalg.NotPositiveDefiniteError, match=r"eigenvalue is -1\.00e\+00"):
        linalg.cholesky(-np.eye(3))
    with pytest.raises(linalg.NotPositiveDefiniteError, match="2001 x 2001 matrix is not positive"):
        linalg.cholesky(-np.eye(2001))


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("place", [(0, 0), (3, 3), (3, 1)])
def test_entries_that_are_not_finite_are_counted(library, place, bad, overwrite):
    A = np.eye(4)
    A[place] = A[place[::-1]] = bad
    count = 1 if place[0] == place[1] else 2
    with pytest.raises(linalg.NonFiniteError, match=f"{count} of the 4 x 4 entries"):
        linalg.cholesky(library(A), overwrite=overwrite)


@for_each("shape", [(3,), (3, 2), (2, 2, 2)])
def test_a_matrix_that_is_not_square_is_told(shape):
    with pytest.raises(ValueError, match="a square matrix is needed"):
        linalg.cholesky(np.ones(shape))
