"""A factor that grows is the factor of the larger matrix."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity import linalg
from posterity.arrays import to_numpy

EPS = np.finfo(float).eps


def covariance(rng, n):
    X = rng.normal(size=(n, n + 2))
    return X @ X.T


def blocks(A, N):
    return np.linalg.cholesky(A[:N, :N]), A[N:, :N], A[N:, N:]


@pytest.mark.parametrize(("N", "n"), [(1, 1), (5, 1), (100, 7), (63, 2), (3, 80), (0, 4), (4, 0)])
def test_the_result_is_the_factor_of_the_larger_matrix(library, N, n, rng):
    A = covariance(rng, N + n)
    L_new = linalg.append_rows(*map(library, blocks(A, N)))
    L = to_numpy(L_new)
    assert type(L_new) is type(library(A))
    np.testing.assert_array_equal(np.triu(L, 1), 0.0)
    assert np.linalg.norm(L @ L.T - A, 1) <= 10 * (N + n) * EPS * np.linalg.norm(A, 1)
    np.testing.assert_array_equal(L[:N, :N], np.linalg.cholesky(A[:N, :N]))


def test_only_lower_triangles_are_read_and_nothing_is_modified(library, rng):
    A = covariance(rng, 90)
    L, B, C = blocks(A, 80)
    rubbish = [L + np.triu(np.full(L.shape, np.nan), 1), B, np.tril(C) - 5 * np.triu(C, 1)]
    given = [library(x) for x in rubbish]
    L_new = linalg.append_rows(*given)
    np.testing.assert_allclose(to_numpy(L_new), np.linalg.cholesky(A), atol=1e-10)
    for x, before in zip(given, rubbish, strict=True):
        np.testing.assert_array_equal(to_numpy(x), before)


def test_rows_appended_one_by_one_or_together_give_the_same(library, rng):
    A = covariance(rng, 20)
    L = library(np.linalg.cholesky(A[:15, :15]))
    for i in range(15, 20):
        L = linalg.append_rows(L, library(A[i : i + 1, :i]), library(A[i : i + 1, i : i + 1]))
    together = linalg.append_rows(*map(library, blocks(A, 15)))
    np.testing.assert_allclose(to_numpy(L), to_numpy(together), atol=1e-11)


def test_integers_become_doubles():
    L = linalg.append_rows(np.array([[2]]), np.array([[2]]), np.array([[5]]))
    assert L.dtype == np.float64
    np.testing.assert_array_equal(L, [[2.0, 0.0], [1.0, 2.0]])


def test_nothing_is_asked_of_a_library_but_the_array_api(rng):
    strict = pytest.importorskip("array_api_strict")
    A = covariance(rng, 80)
    L = linalg.append_rows(*map(strict.asarray, blocks(A, 70)))
    np.testing.assert_allclose(np.asarray(L), np.linalg.cholesky(A), atol=1e-10)


def test_a_row_that_contradicts_the_old_ones_is_refused_with_a_sentence(library, rng):
    A = covariance(rng, 6)
    L, B, C = blocks(A, 5)
    with pytest.raises(linalg.NotPositiveDefiniteError, match=r"1 new rows.* 5 old ones"):
        linalg.append_rows(library(L), library(B), library(C - 2 * np.abs(C)))


def test_jitter_of_the_new_corner_is_announced_and_can_be_forbidden(library):
    twins = [library(x) for x in (np.eye(2), np.zeros((2, 2)), np.ones((2, 2)) - 1e-9 * np.eye(2))]
    with pytest.warns(linalg.JitterWarning):
        L = to_numpy(linalg.append_rows(*twins))
    expected = np.eye(4)
    expected[2:, 2:] = 1.0
    np.testing.assert_allclose(L @ L.T, expected, atol=1e-6)
    with pytest.raises(linalg.NotPositiveDefiniteError):
        linalg.append_rows(*twins, max_jitter=0.0)


def test_entries_that_are_not_finite_do_not_pass(library):
    with pytest.raises(linalg.NonFiniteError):
        linalg.append_rows(*map(library, (np.eye(2), np.full((1, 2), np.nan), np.ones((1, 1)))))


@for_each(("B", "C"), [((2, 4), (2, 2)), ((2, 3), (2, 3)), ((2, 3), (3, 3))])
def test_shapes_that_do_not_fit_are_named(B, C):
    with pytest.raises(ValueError, match=r"B of shape \(2, 3\) and C of shape \(2, 2\), not"):
        linalg.append_rows(np.eye(3), np.ones(B), np.ones(C))
