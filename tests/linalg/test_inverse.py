"""The inverse in the memory of the factor: right, lean, and blind to what stands above it."""

import tracemalloc

import numpy as np
import pytest

from posterity import linalg
from posterity.arrays import to_numpy
from posterity.linalg import backends, inverse

EPS = np.finfo(float).eps


def covariance(rng, n):
    X = rng.normal(size=(n, n + 2))
    return X @ X.T


def smooth_covariance(rng, n, noise_variance):
    x = np.sort(rng.random(n))
    return np.exp(-50 * (x[:, None] - x) ** 2) + noise_variance * np.eye(n)


def factor_with_rubbish_above(A, order="C"):
    return np.array(np.linalg.cholesky(A) + np.triu(np.full(A.shape, -7.0), 1), order=order)


def symmetric(K):
    return np.tril(K) + np.tril(K, -1).T


def residual_ratio(A, X):
    """As LAPACK measures the error of an inverse; a small number where it is right."""
    distance = np.linalg.norm(A @ X - np.eye(len(A)), 1)
    return distance / (len(A) * EPS * np.linalg.norm(A, 1) * np.linalg.norm(X, 1))


@pytest.mark.parametrize("block_size", [None, 1, 7, 64, 99, 100, 300])
@pytest.mark.parametrize("n", [1, 5, 100])
def test_lower_triangle_becomes_the_inverse_and_the_upper_stays(library, n, block_size, rng):
    A = covariance(rng, n)
    K = library(factor_with_rubbish_above(A))
    result = linalg.inverse_in_place(K, block_size=block_size)
    assert result is K
    assert residual_ratio(A, symmetric(to_numpy(K))) < 3.0
    assert np.all(to_numpy(K)[np.triu_indices(n, 1)] == -7.0)


@pytest.mark.parametrize("n", [255, 256, 257, 513])
def test_sizes_around_the_default_block(library, n, rng):
    assert inverse.default_block_size(n) == 256
    A = covariance(rng, n)
    K = linalg.inverse_in_place(library(factor_with_rubbish_above(A)))
    X = np.linalg.inv(A)
    bound = 10 * EPS * np.linalg.cond(A) * np.linalg.norm(X)
    assert np.linalg.norm(symmetric(to_numpy(K)) - X) < bound


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("block_size", [None, 16])
def test_memory_order_makes_no_difference(order, block_size, rng):
    A = covariance(rng, 50) + np.eye(50)
    K = factor_with_rubbish_above(A, order)
    linalg.inverse_in_place(K, block_size=block_size)
    np.testing.assert_allclose(symmetric(K), np.linalg.inv(A), atol=1e-11)
    assert np.all(K[np.triu_indices(50, 1)] == -7.0)


@pytest.mark.parametrize("noise_variance", [1e-4, 1e-8, 1e-12])
@pytest.mark.parametrize("block_size", [1, 16, 50])
def test_an_ill_conditioned_matrix_costs_the_blocks_no_digits(
    library, noise_variance, block_size, rng
):
    A = smooth_covariance(rng, 120, noise_variance)
    K = linalg.inverse_in_place(library(np.linalg.cholesky(A)), block_size=block_size)
    assert residual_ratio(A, symmetric(to_numpy(K))) < 0.1


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("noise_variance", [1e-4, 1e-8, 1e-12])
def test_lapack_and_the_blocks_agree_to_the_condition_of_the_factor(order, noise_variance, rng):
    L = np.linalg.cholesky(smooth_covariance(rng, 120, noise_variance))
    by_blocks = np.tril(linalg.inverse_in_place(L.copy(), block_size=16))
    by_lapack = np.tril(linalg.inverse_in_place(np.array(L, order=order)))
    bound = EPS * np.linalg.cond(L) * np.linalg.norm(by_blocks)
    assert np.linalg.norm(by_lapack - by_blocks) < bound


@pytest.mark.parametrize("n", [64, 65, 131, 999, 1000])
def test_halves_are_the_whole(n, rng):
    A = covariance(rng, n)
    K = factor_with_rubbish_above(A, order="F")
    assert linalg.inverse_in_place(K) is K
    assert residual_ratio(A, symmetric(K)) < 3.0
    assert np.all(K[np.triu_indices(n, 1)] == -7.0)


def test_a_view_into_a_larger_matrix_is_inverted_where_it_lies(rng):
    A = covariance(rng, 90) + np.eye(90)
    whole = np.full((100, 200), -1.0)
    K = whole[5:95, 10:190:2]
    K[...] = np.linalg.cholesky(A)
    linalg.inverse_in_place(K)
    np.testing.assert_allclose(symmetric(whole[5:95, 10:190:2]), np.linalg.inv(A), atol=1e-11)
    assert np.all(whole[:, 1::2] == -1.0)


def test_single_precision_is_kept(library, rng):
    A = (covariance(rng, 30) + 30 * np.eye(30)).astype(np.float32)
    K = to_numpy(linalg.inverse_in_place(library(np.linalg.cholesky(A)), block_size=8))
    assert K.dtype == np.float32
    np.testing.assert_allclose(symmetric(K) @ A, np.eye(30), rtol=0, atol=1e-5)


def test_nothing_is_asked_of_a_library_but_the_array_api(rng):
    strict = pytest.importorskip("array_api_strict")
    A = covariance(rng, 60)
    K = linalg.inverse_in_place(strict.asarray(factor_with_rubbish_above(A)), block_size=25)
    assert residual_ratio(A, symmetric(np.asarray(K))) < 1.0
    assert np.all(np.asarray(K)[np.triu_indices(60, 1)] == -7.0)


def test_the_empty_matrix_is_its_own_inverse(library):
    assert linalg.inverse_in_place(library(np.zeros((0, 0)))).shape == (0, 0)


@pytest.mark.parametrize("block_size", [None, 3])
@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_what_is_no_factor_is_refused_untouched(library, bad, block_size):
    L = np.eye(8)
    L[6, 6] = bad
    K = library(L)
    with pytest.raises(np.linalg.LinAlgError, match="entry 6 of its diagonal"):
        linalg.inverse_in_place(K, block_size=block_size)
    np.testing.assert_array_equal(to_numpy(K), L)


@pytest.mark.parametrize(("block_size", "limit"), [(None, 0.01), (62, 0.15)])
def test_extra_memory_is_a_fraction_of_the_matrix(block_size, limit, monkeypatch):
    monkeypatch.setattr(backends, "_PANEL", 62)
    K = np.linalg.cholesky(np.eye(2000) + 0.5)
    tracemalloc.start()
    linalg.inverse_in_place(K, block_size=block_size)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < limit * K.nbytes


def test_default_blocks_are_a_tenth_of_a_large_matrix():
    sizes = [inverse.default_block_size(n) for n in (100, 20_000, 32_768, 100_000)]
    assert sizes == [256, 832, 1024, 1024]


@pytest.mark.parametrize("panel", [1, 4, 100])
@pytest.mark.parametrize("scale", [1.0, -2.0])
def test_products_are_added_panel_by_panel(library, panel, scale, rng, monkeypatch):
    monkeypatch.setattr(backends, "_PANEL", panel)
    K = rng.normal(size=(12, 14))
    held = library(K)
    backends.add_product(held[:5, :6], held[5:, :5].T, held[5:, 6:12], scale=scale)
    expected = K.copy()
    expected[:5, :6] += scale * K[5:, :5].T @ K[5:, 6:12]
    np.testing.assert_allclose(to_numpy(held), expected, atol=1e-14)
