"""Means at given variances of cavities, beside finite differences and plain sweeps."""

import numpy as np
import pytest

from posterity import kernels, likelihoods
from posterity.process.latent import propagation
from posterity.process.latent.density import LatentTargets
from posterity.process.latent.propagation import CavityLikelihood
from posterity.process.latent.site_posterior import SitePosterior

CASES = [
    (likelihoods.Bernoulli(), np.array([0.0, 1.0, 1.0])),
    (likelihoods.Normal(0.5), np.array([-1.0, 0.3, 2.0])),
]


@pytest.mark.parametrize(("likelihood", "y"), CASES)
def test_the_slope_is_the_derivative_in_the_mean(likelihood, y):
    f, variance = np.array([-1.5, 0.2, 2.5]), np.array([0.3, 4.0, 60.0])
    cavity = CavityLikelihood(likelihood, variance, f.copy())
    step = 2e-3
    difference = (cavity.log_prob(y, f + step) - cavity.log_prob(y, f - step)) / (2 * step)
    slope = cavity.d1(y, f)
    np.testing.assert_allclose(slope, difference, rtol=2e-5)
    np.testing.assert_allclose(cavity.mean + variance * slope, f, atol=1e-7)


def test_sweeps_that_find_variances_end_where_plain_sweeps_do(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=40) > 0.0).astype(float)
    likelihood = likelihoods.Bernoulli()
    targets = LatentTargets.with_offset_prior(y, np.ones(40), likelihood, offset=True)
    arguments = 30.0 * kernels.RBF(0.8), likelihood, X, targets
    plain = SitePosterior.condition("propagation", *arguments)
    monkeypatch.setattr(propagation, "_MANY_ROWS", 0)
    fast = SitePosterior.condition("propagation", *arguments)
    assert fast.n_iter < 0.6 * plain.n_iter
    assert fast.log_evidence == pytest.approx(plain.log_evidence, abs=1e-9)
    np.testing.assert_allclose(fast.alpha, plain.alpha, atol=1e-6)
