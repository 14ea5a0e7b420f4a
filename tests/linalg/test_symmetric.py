"""Eigenvectors, inverse factors and reflections, against dense algebra."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity import linalg
from posterity.linalg import symmetric


def a_symmetric(n, seed=0):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A + A.T


@for_each("n", [0, 1, 2, 50])
@for_each("order", ["C", "F"])
def test_eigenvectors_rebuild_the_matrix(n, order):
    A = np.asarray(a_symmetric(n), order=order)
    for overwrite in (False, True):
        d, V = symmetric.eigh(A.copy(order=order), overwrite=overwrite)
        np.testing.assert_allclose(V * d @ V.T, A, atol=1e-12)
        np.testing.assert_allclose(V.T @ V, np.eye(n), atol=1e-12)
        assert np.all(np.diff(d) >= 0.0)


def test_what_is_not_finite_is_refused_and_what_overflows_in_the_sum_is_not():
    A = a_symmetric(4)
    A[1, 2] = A[2, 1] = np.inf
    with pytest.raises(linalg.NonFiniteError, match="4 x 4"):
        symmetric.eigh(A)
    d, _ = symmetric.eigh(np.diag([1e308, 1e308, 1e308]))
    np.testing.assert_allclose(d, 1e308)


@for_each("n", [0, 1, 5, 60])
@for_each("order", ["C", "F"])
def test_the_inverse_factor_is_the_inverse_and_leaves_the_factor_alone(n, order):
    L = np.tril(np.random.default_rng(0).normal(size=(n, n))) + 3.0 * np.eye(n)
    given = np.asarray(L, order=order)
    np.testing.assert_allclose(symmetric.inverse_factor(given) @ L, np.eye(n), atol=1e-10)
    np.testing.assert_array_equal(given, L)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("n", [1, 2, 30])
def test_a_reflection_is_the_matrix_it_stands_for(sign, n, monkeypatch):
    rng = np.random.default_rng(n)
    q, A, B = sign * rng.uniform(0.1, 2.0, n), a_symmetric(n), rng.normal(size=(n, 3))
    R = symmetric.Reflection.to_first_axis(q)
    H = np.eye(n) - np.outer(R.v, R.v)
    np.testing.assert_allclose(H @ H, np.eye(n), atol=1e-14)
    np.testing.assert_allclose(H @ q, -sign * np.linalg.norm(q) * np.eye(n)[0], atol=1e-14)
    np.testing.assert_allclose(R.apply(B), H @ B, atol=1e-13)
    np.testing.assert_allclose(R.apply(B[:, 0]), H @ B[:, 0], atol=1e-13)
    monkeypatch.setattr(symmetric, "_BLOCK_VALUES", 4 * n)  # several blocks, the last one short
    right, both = B.T.copy(), A.copy()
    R.apply_from_right(right)
    R.apply_to_both_sides(both)
    np.testing.assert_allclose(right, B.T @ H, atol=1e-13)
    np.testing.assert_allclose(both, H @ A @ H, atol=1e-12)
    np.testing.assert_array_equal(both, both.T)
