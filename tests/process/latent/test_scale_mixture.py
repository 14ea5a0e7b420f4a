"""Processes under Student-t noise by the best factors: a bound without jumps and poles."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp
from support.for_each import for_each
from support.latents import of_one

from posterity import kernels, likelihoods
from posterity.inference.observations import Observations
from posterity.process.exact import ProcessPosterior
from posterity.process.latent import variational as mixture
from posterity.process.latent.density import LatentTargets
from posterity.process.latent.site_posterior import SiteEvidence, SitePosterior

KERNEL = 1.5 * kernels.RBF(0.8)


def curve(n=25, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, size=(n, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)
    y[:: n // 4] += rng.uniform(2.0, 9.0, size=len(y[:: n // 4]))
    return X, y


def targets_of(y, likelihood, weights=None, *, offset=True):
    weights = np.ones(len(y)) if weights is None else weights
    return LatentTargets.with_offset_prior(y, weights, likelihood, offset=offset)


@for_each("nu", [1.0, 4.0])
@for_each("y", [[0.2, 0.4], [-1.0, 2.5]])
def test_it_is_a_bound_of_the_evidence_and_near_it(y, nu):
    """By brute force over both latent values."""
    X, likelihood = np.array([[0.0], [0.7]]), likelihoods.StudentT(0.3, nu)
    targets = targets_of(np.array(y), likelihood, offset=False)
    grid = np.linspace(-8.0, 8.0, 801)
    a, b = np.meshgrid(grid, grid, indexing="ij")
    prior = stats.multivariate_normal(np.zeros(2), KERNEL(X)).logpdf(np.stack([a, b], axis=-1))
    log_p = prior + likelihood.log_prob(y[0], a) + likelihood.log_prob(y[1], b)
    exact = logsumexp(log_p) + 2.0 * np.log(grid[1] - grid[0])
    bound = SiteEvidence("variational", X, targets)(KERNEL, likelihood)[0]
    assert exact - 1.0 < bound < exact


@for_each("offset", [True, False])
def test_its_gradient_is_that_of_differences(offset):
    X, y = curve()
    likelihood = likelihoods.StudentT(0.2, 3.0)
    targets = targets_of(y, likelihood, np.linspace(0.5, 2.0, len(y)), offset=offset)

    def at(theta):
        P = len(KERNEL.theta)
        evidence = SiteEvidence("variational", X, targets)
        return evidence(KERNEL.with_theta(theta[:P]), likelihood.with_parameters(theta[P:]))

    theta = np.append(KERNEL.theta, likelihood.theta)
    steps = 1e-3 * np.eye(len(theta))
    differences = [(at(theta + h)[0] - at(theta - h)[0]) / 2e-3 for h in steps]
    np.testing.assert_allclose(at(theta)[1], differences, rtol=1e-3, atol=1e-3)


def test_with_many_degrees_of_freedom_it_is_the_exact_process():
    X, y = curve()
    likelihood = likelihoods.StudentT(0.5, 1e9)
    targets = targets_of(y, likelihood, offset=False)
    found = SitePosterior.condition("variational", KERNEL, likelihood, X, targets)
    exact = ProcessPosterior.condition(KERNEL, 0.25, X, Observations.from_targets(y[:, None]))
    assert found.log_evidence == pytest.approx(float(exact.log_evidence), abs=1e-4)
    mean, variance = of_one(exact.latent(X + 0.1))
    np.testing.assert_allclose(found.latent(X + 0.1).mean[:, 0], mean, atol=1e-6)
    np.testing.assert_allclose(found.latent(X + 0.1).variance[:, 0], variance, atol=1e-6)


def test_a_weight_is_a_repetition():
    X, y = curve()
    counts = np.arange(len(y)) % 3 + 1
    likelihood = likelihoods.StudentT(0.2, 3.0)
    once = targets_of(y, likelihood, counts.astype(float))
    often = targets_of(y.repeat(counts), likelihood)
    a = SitePosterior.condition("variational", KERNEL, likelihood, X, once)
    b = SitePosterior.condition("variational", KERNEL, likelihood, X.repeat(counts, 0), often)
    assert a.log_evidence == pytest.approx(b.log_evidence, abs=1e-5)
    np.testing.assert_allclose(a.latent(X).mean[:, 0], b.latent(X).mean[:, 0], atol=1e-4)


def test_every_step_raises_the_bound(monkeypatch):
    X, y = curve()
    likelihood = likelihoods.StudentT(0.1, 1.0)
    targets, accepted = targets_of(y, likelihood), []
    evidence = SiteEvidence("variational", X, targets)
    monkeypatch.setattr(mixture, "_LONGER", 1.0)
    under = mixture._Factors.under
    monkeypatch.setattr(
        mixture._Factors, "under", lambda *args: accepted.append(under(*args)) or accepted[-1]
    )
    evidence(KERNEL, likelihood)
    bounds = np.array([factors.log_evidence for factors in accepted])
    assert len(bounds) > 3
    assert np.all(np.diff(bounds) > -1e-9)
