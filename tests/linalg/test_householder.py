"""Orthogonal factorisation: residual and orthogonality ratios in the manner of LAPACK's tests."""

import numpy as np
import pytest

from posterity import linalg

EPS = np.finfo(float).eps


@pytest.mark.parametrize(("n", "p"), [(1, 1), (6, 6), (80, 7), (200, 40), (5, 0)])
def test_factors_multiply_to_the_matrix_and_q_is_orthogonal(n, p, rng):
    A = rng.normal(size=(n, p))
    qr = linalg.HouseholderQR.factorize(A)
    Q = qr.rotate_back(np.eye(n))
    size = np.linalg.norm(A, 1) if p else 1.0
    assert np.linalg.norm(Q[:, :p] @ qr.R - A) <= 10 * n * EPS * size
    assert np.linalg.norm(Q.T @ Q - np.eye(n)) <= 10 * n * EPS


def test_rotating_there_and_back_changes_nothing(rng):
    qr = linalg.HouseholderQR.factorize(rng.normal(size=(30, 4)))
    B = rng.normal(size=(30, 3))
    rotated = qr.rotate(B)
    np.testing.assert_allclose(qr.rotate_back(rotated), B, atol=1e-14)
    np.testing.assert_allclose(rotated, qr.rotate_back(np.eye(30)).T @ B, atol=1e-14)


def test_memory_is_reused_only_when_allowed(rng):
    A = np.asfortranarray(rng.normal(size=(10, 3)))
    before = A.copy()
    linalg.HouseholderQR.factorize(A)
    np.testing.assert_array_equal(A, before)
    assert np.shares_memory(linalg.HouseholderQR.factorize(A, overwrite=True).reflections, A)
