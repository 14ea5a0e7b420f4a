"""The nearest normal of a process of rates: its equations, and its bound."""

import numpy as np
import pytest
from support.for_each import for_each
from support.latents import of_one

from posterity import kernels, likelihoods
from posterity.process.latent.density import LatentTargets
from posterity.process.latent.site_posterior import SitePosterior

KERNEL = 2.0 * kernels.RBF(1.0)


def observed(likelihood, n=25, *, offset=True, weights=None):
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(0.0, 6.0, size=(n, 1)), axis=0)
    rate = np.exp(np.sin(X[:, 0]))
    y = rng.poisson(rate) if isinstance(likelihood, likelihoods.Poisson) else rng.gamma(2.0, rate)
    w = np.ones(n) if weights is None else weights
    return X, LatentTargets.with_offset_prior(y.astype(float), w, likelihood, offset=offset)


@for_each("likelihood", [likelihoods.Poisson(), likelihoods.Gamma(2.0)])
@for_each("offset", [True, False])
def test_mean_and_precision_are_averages_over_itself(likelihood, offset):
    X, t = observed(likelihood, offset=offset, weights=np.arange(25) % 3 + 0.5)
    q = SitePosterior.condition("variational", KERNEL, likelihood, X, t)
    mean, variance = of_one(q.latent(X))
    _, d1, h = likelihood.expected_derivatives(t.y, mean, variance)
    K = KERNEL(X) + t.offset_variance[0]
    np.testing.assert_allclose(t.shift[0] + K @ (t.weights * d1), mean, atol=0.02)
    root = np.sqrt(t.weights * h)
    B = np.eye(25) + root[:, None] * K * root
    covariance = K - (K * root) @ np.linalg.solve(B, root[:, None] * K)
    np.testing.assert_allclose(np.diag(covariance), variance, rtol=0.02)


def test_of_many_events_it_is_laplaces():
    likelihood = likelihoods.Poisson()
    X, t = observed(likelihood)
    many = LatentTargets.with_offset_prior(1000.0 * t.y + 500.0, t.weights, likelihood, offset=True)
    nearest, laplace = (
        SitePosterior.condition(kind, KERNEL, likelihood, X, many)
        for kind in ("variational", "laplace")
    )
    for found, expected in zip(of_one(nearest.latent(X)), of_one(laplace.latent(X)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
    assert nearest.log_evidence == pytest.approx(laplace.log_evidence, rel=1e-9)


@for_each("variance", [0.1, 4.0, 100.0, 1e4])
def test_rows_without_events_expect_few(variance):
    likelihood = likelihoods.Poisson()
    X, t = observed(likelihood)
    empty = LatentTargets.with_offset_prior(np.zeros(25), t.weights, likelihood, offset=True)
    posterior = SitePosterior.condition(
        "variational", variance * kernels.RBF(1.0), likelihood, X, empty
    )
    assert 0.0 < np.sum(likelihood.predict(*of_one(posterior.latent(X))).mean()) < 0.5
