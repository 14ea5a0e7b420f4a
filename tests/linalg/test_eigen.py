"""Factors of semidefinite matrices, and Gauss's rules from their recurrences."""

import numpy as np

from posterity.linalg import eigen


def test_factors_of_a_batch_reproduce_it_widest_column_first():
    R = np.random.default_rng(0).standard_normal((5, 4, 3))
    A = R @ R.transpose(0, 2, 1)  # of rank three
    F = eigen.semidefinite_factors(A)
    np.testing.assert_allclose(F @ F.transpose(0, 2, 1), A, atol=1e-12)
    assert np.all(np.diff(np.linalg.norm(F, axis=1), axis=1) <= 1e-12)
    assert np.all(np.isfinite(F))


def test_factors_are_the_same_whatever_the_signs_of_eigenvectors(monkeypatch):
    R = np.random.default_rng(0).standard_normal((50, 4, 4))
    A = R @ R.transpose(0, 2, 1)
    F, eigh = eigen.semidefinite_factors(A), np.linalg.eigh
    lam, V = eigh(A)
    signs = np.random.default_rng(1).choice([-1.0, 1.0], size=(50, 1, 4))
    monkeypatch.setattr(np.linalg, "eigh", lambda _: (lam, V * signs))
    np.testing.assert_array_equal(eigen.semidefinite_factors(A), F)
    largest = np.take_along_axis(F, np.argmax(np.abs(F), axis=1)[:, None], axis=1)
    assert np.all(largest > 0.0)


def test_of_entries_that_are_equal_but_for_rounding_the_first_is_positive():
    for eps in (-1e-14, 0.0, 1e-14):
        F = eigen.semidefinite_factors(np.array([[2.0 + eps, -1.0], [-1.0, 2.0 - eps]]))
        np.testing.assert_allclose(F, [[1.5**0.5, 0.5**0.5], [-(1.5**0.5), 0.5**0.5]])


def test_factors_of_nothing_are_nothing():
    assert eigen.semidefinite_factors(np.zeros((0, 3, 3))).shape == (0, 3, 3)
    assert not np.any(eigen.semidefinite_factors(np.zeros((2, 3, 3))))


def test_gauss_rules_are_exact_for_polynomials():
    k = np.arange(1.0, 8.0)
    nodes, weights = eigen.gauss_rule(np.sqrt(k))
    expected_nodes, expected_weights = np.polynomial.hermite_e.hermegauss(8)
    np.testing.assert_allclose(nodes, expected_nodes, atol=1e-13)
    np.testing.assert_allclose(weights, expected_weights / np.sqrt(2.0 * np.pi), atol=1e-14)
    nodes, weights = eigen.gauss_rule(np.pi * k**2 / np.sqrt(4.0 * k**2 - 1.0))
    np.testing.assert_allclose(weights @ nodes**2, np.pi**2 / 3.0)  # of the logistic density
    np.testing.assert_allclose(weights @ nodes**4, 7.0 * np.pi**4 / 15.0)


def test_covariances_are_inverses_where_the_precision_is_enough():
    R = np.random.default_rng(1).standard_normal((5, 4, 3))
    A = np.swapaxes(R, 1, 2) @ R + 2.0 * np.eye(3)
    covariance, log_determinant = eigen.invert_precisions(A, np.full(5, 1.5))
    np.testing.assert_allclose(covariance @ A, np.broadcast_to(np.eye(3), A.shape), atol=1e-12)
    np.testing.assert_allclose(log_determinant, np.linalg.slogdet(A)[1])


def test_covariances_are_nowhere_above_what_is_allowed():
    A = np.random.default_rng(2).standard_normal((50, 3, 3))
    least = np.linspace(0.5, 4.0, 50)
    covariance, log_determinant = eigen.invert_precisions(A + np.swapaxes(A, 1, 2), least)
    lam = np.linalg.eigvalsh(covariance)
    assert np.all(lam > 0.0)
    assert np.all(lam <= (1.0 + 1e-12) / least[:, None])
    assert np.any(np.isclose(lam, 1.0 / least[:, None]))
    np.testing.assert_allclose(log_determinant, -np.sum(np.log(lam), axis=1))
