"""The evidence that judges every package is that of the definition."""

import numpy as np
import pytest
from benchmarks import sparse_evidence
from scipy import integrate, optimize, special, stats

from posterity import kernels


@pytest.fixture
def model():
    rng = np.random.default_rng(0)
    Z, precision = rng.normal(size=(30, 4)), np.array([0.1, 1.0, 5.0, 200.0])
    w = rng.normal(size=4) / np.sqrt(precision)
    return Z, precision, w, rng


def test_normal_evidence_is_the_density_of_the_targets(model):
    Z, precision, w, rng = model
    y = Z @ w + 0.3 * rng.normal(size=30)
    expected = stats.multivariate_normal.logpdf(
        y, np.zeros(30), 0.09 * np.eye(30) + Z / precision @ Z.T
    )
    assert sparse_evidence.normal(Z, y, precision, 0.09) == pytest.approx(expected, rel=1e-12)


def test_no_vectors_leave_noise_alone(model):
    y = model[3].normal(size=30)
    found = sparse_evidence.normal(np.empty((30, 0)), y, np.empty(0), 2.0)
    assert found == pytest.approx(stats.norm.logpdf(y, scale=np.sqrt(2.0)).sum())
    found = sparse_evidence.bernoulli(np.empty((30, 0)), y > 0, np.empty(0), np.empty(0))
    assert found == pytest.approx(30 * np.log(0.5))


def test_evidence_of_classes_is_laplaces_wherever_it_starts(model):
    Z, precision, w, rng = model
    y = (Z @ w + rng.logistic(size=30) > 0.0).astype(float)

    def joint(v):
        likelihood = special.log_expit((2.0 * y - 1.0) * (Z @ v)).sum()
        return -likelihood - stats.norm.logpdf(v, scale=precision**-0.5).sum()

    best = optimize.minimize(joint, np.zeros(4), method="BFGS", options={"gtol": 1e-8})
    p = special.expit(Z @ best.x)
    H = Z.T @ (Z * (p * (1 - p))[:, None]) + np.diag(precision)
    expected = -best.fun + 2.0 * np.log(2.0 * np.pi) - 0.5 * np.linalg.slogdet(H)[1]
    for start in (np.zeros(4), best.x, np.full(4, 30.0)):
        found = sparse_evidence.bernoulli(Z, y, precision, start)
        assert found == pytest.approx(expected, abs=1e-6)


def test_evidence_of_many_rows_of_classes_is_near_the_integral():
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(200, 1))
    y = (Z[:, 0] + rng.logistic(size=200) > 0.0).astype(float)

    def density(v):
        prior = stats.norm.logpdf(v, scale=0.5)
        return np.exp(special.log_expit((2.0 * y - 1.0) * Z[:, 0] * v).sum() + prior + 120.0)

    expected = np.log(integrate.quad(density, -1.0, 3.0)[0]) - 120.0
    found = sparse_evidence.bernoulli(Z, y, np.array([4.0]), np.zeros(1))
    assert found == pytest.approx(expected, abs=0.01)


def test_precisions_are_found_again_from_the_mode(model):
    Z, precision, w, rng = model
    y = Z @ w + 0.3 * rng.normal(size=30)
    mode = np.linalg.solve(Z.T @ Z / 0.09 + np.diag(precision), Z.T @ y / 0.09)
    found = sparse_evidence.precision_at(Z, mode, (y - Z @ mode) / 0.09)
    np.testing.assert_allclose(found, precision, rtol=1e-9)


def test_columns_are_those_of_the_kernel():
    X = np.random.default_rng(0).normal(size=(9, 3))
    np.testing.assert_allclose(
        sparse_evidence.rbf(X, X[:4], 0.7), kernels.RBF(0.7)(X, X[:4]), atol=1e-13
    )
