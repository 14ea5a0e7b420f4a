"""Orthonormal rows: signs, completion, and the leading ones by random projection."""

import numpy as np
from sklearn.utils.extmath import svd_flip
from support.for_each import for_each

from posterity.linalg import axes, products


def rotation(n, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))[0]


def test_signs_are_those_of_scikit_learn():
    V = rotation(7)[:4]
    expected = svd_flip(np.zeros((1, 4)), V.copy(), u_based_decision=False)[1]
    np.testing.assert_array_equal(axes.orient_rows(V.copy()), expected)
    np.testing.assert_array_equal(axes.orient_rows(-V), expected)


def test_no_rows_have_no_signs():
    assert axes.orient_rows(np.zeros((0, 3))).shape == (0, 3)


@for_each("n", [2, 3, 6])
def test_completed_rows_are_orthonormal_and_begin_with_those_given(n):
    V = rotation(6)[:2]
    found = axes.complete_rows(V, n)
    np.testing.assert_array_equal(found[:2], V)
    np.testing.assert_allclose(found @ found.T, np.eye(n), atol=1e-14)


def test_the_completion_depends_on_the_plane_alone():
    V = rotation(8)[:3]
    turned = rotation(3, seed=1) @ V
    np.testing.assert_allclose(
        axes.complete_rows(V, 6)[3:], axes.complete_rows(turned, 6)[3:], atol=1e-13
    )


def test_fewer_rows_than_there_are_is_a_cut():
    np.testing.assert_array_equal(axes.complete_rows(np.eye(4), 2), np.eye(4)[:2])


class Dense:
    def __init__(self, A):
        self.A, self.shape, self.passes = A, A.shape, 0

    def times(self, B):
        self.passes += 1
        return self.A @ B

    def transposed_times(self, C):
        return self.A.T @ C


@for_each("shape", [(300, 80), (80, 300)])
def test_leading_axes_are_those_of_the_decomposition(shape):
    rng = np.random.default_rng(0)
    U, V = rotation(shape[0], 1)[:, :80], rotation(shape[1], 2)[:80]
    s = 0.9 ** np.arange(80)
    s_found, V_found = axes.leading_axes(Dense((U * s) @ V), 5, rng)
    np.testing.assert_allclose(s_found, s[:5], rtol=1e-6)
    np.testing.assert_allclose(np.abs(np.sum(V_found * V[:5], axis=1)), 1.0, atol=1e-6)
    np.testing.assert_allclose(V_found @ V_found.T, np.eye(5), atol=1e-12)


def test_iteration_goes_on_while_a_flat_spectrum_still_moves():
    """A single projection would be off by several per cent here."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(400, 200))
    operator = Dense(A)
    s_found, _ = axes.leading_axes(operator, 3, rng, tolerance=1e-10)
    np.testing.assert_allclose(s_found, np.linalg.svd(A, compute_uv=False)[:3], rtol=1e-6)
    assert operator.passes > 3


def test_a_matrix_of_zeros_has_singular_values_zero():
    s, V = axes.leading_axes(Dense(np.zeros((6, 5))), 2, np.random.default_rng(0))
    np.testing.assert_array_equal(s, [0.0, 0.0])
    np.testing.assert_allclose(V @ V.T, np.eye(2), atol=1e-14)


@for_each("order", ["C", "F"])
def test_sums_and_squares_of_blocks_are_those_of_all_rows(order):
    rng = np.random.default_rng(0)
    A, r = rng.normal(size=(30, 4)), rng.normal(size=30)
    blocks = ((r[i : i + 7], np.array(A[i : i + 7], order=order)) for i in range(0, 30, 7))
    sums, G = products.sums_and_gram(blocks, 4)
    np.testing.assert_allclose(sums, A.T @ r, rtol=1e-13)
    np.testing.assert_allclose(G, A.T @ A, rtol=1e-13)
    np.testing.assert_array_equal(G, G.T)
