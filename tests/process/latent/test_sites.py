"""Normal sites, some of negative precision, against the inverses of small matrices."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity import kernels
from posterity.process.latent.sites import NotAMaximumError, Sites


def dense_sites(seed=0, n=9):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n))
    W = rng.uniform(0.5, 2.0, n)
    W[[2, 5]], W[7] = [-0.05, -0.1], 1e-18
    return np.asfortranarray(A @ A.T / n + 0.1 * np.eye(n)), W, rng.normal(size=n)


def test_sites_are_what_their_inverses_say():
    K, W, v = dense_sites()
    few = np.array([2, 5, 7])
    found = Sites.factorise(K, W, np.empty_like(K), few)
    S = np.linalg.inv(np.linalg.inv(K) + np.diag(W))
    R = np.diag(W) - W[:, None] * S * W
    np.testing.assert_allclose(found.apply(v), R @ v, rtol=1e-9)
    np.testing.assert_allclose(found.reduction(v[:, None]), v @ R @ v, rtol=1e-9)
    assert found.log_determinant == pytest.approx(
        np.linalg.slogdet(np.eye(len(W)) + K * W)[1], rel=1e-10
    )
    inverted = found.invert(K)
    np.testing.assert_allclose(inverted.variances, np.diagonal(S), rtol=1e-9)
    np.testing.assert_allclose(inverted.apply(v), R @ v, rtol=1e-9)
    np.testing.assert_allclose(inverted.block(slice(4, 9), slice(0, 4)), R[4:, :4], atol=1e-10)


def test_without_a_posterior_sites_say_where_the_density_rises():
    K, W, _ = dense_sites()
    W[2] = -30.0
    with pytest.raises(NotAMaximumError) as caught:
        Sites.factorise(K, W, np.empty_like(K), np.array([2, 5, 7]))
    d = K @ caught.value.direction()
    assert d @ (np.linalg.inv(K) + np.diag(W)) @ d < 0.0


@for_each("junk", [np.inf, -np.inf, 1e308])
def test_what_the_memory_held_above_the_diagonal_is_no_matter(junk):
    K, _, v = dense_sites()
    X = np.arange(len(K), dtype=float)[:, None]
    inverted = Sites.factorise(K, np.full(len(K), 4.0), np.empty_like(K)).invert(K)
    kernel = kernels.RBF(2.0)
    before = inverted.pullback(kernel, X, v[:, None], v[:, None])
    inverted.P[np.triu_indices(len(K), 1)] = junk
    after = inverted.pullback(kernel, X, v[:, None], v[:, None])
    np.testing.assert_array_equal(before, after)
