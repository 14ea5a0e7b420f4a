"""Cholesky factorisation in place: right, lean, and honest about failure."""

import tracemalloc

import numpy as np
import pytest
from support.for_each import for_each

from posterity import linalg
from posterity.arrays import to_numpy
from posterity.linalg import blocked

EPS = np.finfo(float).eps


def covariance(rng, n):
    X = rng.normal(size=(n, n + 2))
    return X @ X.T


@pytest.mark.parametrize("block_size", [None, 1, 7, 64, 100, 300])
@pytest.mark.parametrize("n", [1, 5, 100])
def test_lower_triangle_becomes_the_factor_and_the_upper_stays(library, n, block_size, rng):
    A = covariance(rng, n)
    K = library(A)
    result = linalg.cholesky_in_place(K, block_size=block_size)
    assert result is K
    L = np.tril(to_numpy(K))
    assert np.linalg.norm(L @ L.T - A, 1) <= 10 * n * EPS * np.linalg.norm(A, 1)
    np.testing.assert_array_equal(np.triu(to_numpy(K), 1), np.triu(A, 1))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("block_size", [None, 16])
def test_memory_order_makes_no_difference(order, block_size, rng):
    A = covariance(rng, 50)
    K = np.array(A, order=order)
    linalg.cholesky_in_place(K, block_size=block_size)
    np.testing.assert_allclose(np.tril(K), np.linalg.cholesky(A), atol=1e-12)


def test_a_block_size_chooses_the_blocked_route(rng, monkeypatch):
    sizes = []
    route = blocked._factor_left_looking
    monkeypatch.setattr(
        blocked, "_factor_left_looking", lambda K, size: sizes.append(size) or route(K, size)
    )
    linalg.cholesky_in_place(covariance(rng, 20), block_size=6)
    linalg.cholesky_in_place(covariance(rng, 20))
    assert sizes == [6]


def test_a_view_into_a_larger_matrix_is_factorised_where_it_lies(rng):
    A = covariance(rng, 90)
    whole = np.full((100, 200), -1.0)
    K = whole[5:95, 10:190:2]
    K[...] = A
    linalg.cholesky_in_place(K)
    np.testing.assert_allclose(np.tril(whole[5:95, 10:190:2]), np.linalg.cholesky(A), atol=1e-11)
    assert np.all(whole[:, 1::2] == -1.0)


def test_single_precision_is_kept(library, rng):
    A = covariance(rng, 30).astype(np.float32)
    K = linalg.cholesky_in_place(library(A))
    L = np.tril(to_numpy(K))
    assert L.dtype == np.float32
    np.testing.assert_allclose(L @ L.T, A, rtol=0, atol=1e-4)


@pytest.mark.parametrize("block_size", [None, 10, 64])
@pytest.mark.parametrize("minor", [1, 10, 11, 37])
def test_the_leading_minor_that_fails_is_named(library, minor, block_size, rng):
    K = covariance(rng, 40)
    K[minor - 1, minor - 1] = -1.0
    with pytest.raises(linalg.NotPositiveDefiniteError, match=f"order {minor} of the 40 x 40"):
        linalg.cholesky_in_place(library(K), block_size=block_size)


@pytest.mark.parametrize("block_size", [None, 3])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_entries_that_are_not_finite_do_not_pass(library, bad, block_size):
    K = np.eye(8)
    K[6, 6] = bad
    with pytest.raises(linalg.NotPositiveDefiniteError, match="order 7 of"):
        linalg.cholesky_in_place(library(K), block_size=block_size)


@for_each(("block_size", "limit"), [(None, 0.01), (62, 0.25)])
def test_extra_memory_is_a_fraction_of_the_matrix(block_size, limit):
    K = np.eye(2000) + 0.5
    assert blocked.default_block_size(2000) >= 62
    tracemalloc.start()
    linalg.cholesky_in_place(K, block_size=block_size)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < limit * K.nbytes


@pytest.mark.parametrize("n", [1, 64, 65, 150])
def test_the_matrix_is_restored_from_its_upper_triangle(library, n, rng):
    A = covariance(rng, n)
    damaged = library(np.where(np.tri(n, dtype=bool), np.nan, A))
    blocked.restore_lower_triangle(damaged, library(np.diag(A)))
    np.testing.assert_array_equal(to_numpy(damaged), A)
    blocked.clear_upper_triangle(damaged)
    np.testing.assert_array_equal(to_numpy(damaged), np.tril(A))


@pytest.mark.parametrize(("free", "beside"), [(10**9, True), (100, False), (None, False)])
def test_a_device_factorises_beside_the_matrix_only_where_there_is_room(
    free, beside, rng, monkeypatch
):
    torch = pytest.importorskip("torch")
    calls = []
    route = blocked._factor_beside
    monkeypatch.setattr(blocked, "_factor_beside", lambda K: calls.append(1) or route(K))
    monkeypatch.setattr(blocked, "free_memory", lambda K: free)
    A = covariance(rng, 150)
    K = torch.asarray(np.tril(A) + np.triu(np.full_like(A, -7.0), 1))
    linalg.cholesky_in_place(K)
    assert bool(calls) == beside
    np.testing.assert_allclose(np.tril(K.numpy()), np.linalg.cholesky(A), atol=1e-11)
    assert np.all(K.numpy()[np.triu_indices(150, 1)] == -7.0)
