"""Expectation propagation against its fixed point equations, quadrature and exact answers."""

from dataclasses import replace

import numpy as np
import pytest
from latent_oracles import HeavyTailed, differences
from scipy import integrate, stats
from support.for_each import for_each
from support.latents import of_one

from posterity import kernels, likelihoods, optimize, quadrature
from posterity.process.exact import Observations, ProcessPosterior
from posterity.process.latent import propagation
from posterity.process.latent.density import LatentTargets
from posterity.process.latent.site_posterior import SiteEvidence, SitePosterior

KERNEL = 4.0 * kernels.RBF([0.9, 1.4])
CLASSES, HEAVY = likelihoods.Bernoulli(), HeavyTailed(scale=0.5)
LIKELIHOODS = {"two classes": CLASSES, "outliers": HEAVY}
each_likelihood = pytest.mark.parametrize("likelihood", LIKELIHOODS.values(), ids=LIKELIHOODS)


def data(likelihood=CLASSES, *, n=15, offset=True, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    a = 2.0 * np.sin(2.0 * X[:, 0]) + X[:, 1]
    y = (a + 0.3 * rng.normal(size=n) > 0).astype(float)
    if not isinstance(likelihood, likelihoods.Bernoulli):
        y = a + 0.2 * rng.normal(size=n)
        y[::5] += [2.5, -2.0, 3.0]
    return X, LatentTargets.with_offset_prior(y, np.ones(n), likelihood, offset=offset)


def tilted_moments(likelihood, y, mean, variance):
    """Of p(y | a) N(a | mean, variance), by quadrature on a fine grid."""
    a = mean + np.sqrt(variance) * np.linspace(-12.0, 12.0, 4001)[:, None]
    p = np.exp(likelihood.log_prob(y, a)) * stats.norm.pdf(a, mean, np.sqrt(variance))
    Z = integrate.simpson(p, x=a, axis=0)
    m = integrate.simpson(a * p, x=a, axis=0) / Z
    return Z, m, integrate.simpson((a - m) ** 2 * p, x=a, axis=0) / Z


@each_likelihood
def test_every_site_matches_the_moments_of_its_observation(likelihood):
    X, targets = data(likelihood)
    posterior = SitePosterior.condition("propagation", KERNEL, likelihood, X, targets)
    R = posterior.sites
    K = posterior.kernel(X)
    m, S = posterior.latent(X).mean[:, 0], posterior.joint(X).covariance[0]
    precision = np.linalg.inv(S) - np.linalg.inv(K)
    tau = np.diagonal(precision)
    np.testing.assert_allclose(precision, np.diag(tau), atol=1e-5)
    assert np.all(tau > 0.0) == likelihood.log_concave
    v = 1.0 / (1.0 / np.diagonal(S) - tau)
    cavity = m - v * posterior.alpha
    _, expected_mean, expected_variance = tilted_moments(likelihood, targets.y, cavity, v)
    np.testing.assert_allclose(m, expected_mean, atol=2e-6)
    np.testing.assert_allclose(np.diagonal(S), expected_variance, rtol=2e-6)
    assert R.few.size == np.sum(tau * np.diagonal(K) < 1e-8)


@each_likelihood
def test_of_one_observation_it_is_exact(likelihood):
    X, y = np.array([[0.3, -0.2]]), np.array([1.0])
    targets = LatentTargets(y, np.ones(1), np.array([0.7]), np.array([2.0]))
    posterior = SitePosterior.condition("propagation", KERNEL, likelihood, X, targets)
    Z, m, v = tilted_moments(likelihood, y, 0.7, 6.0)
    assert posterior.log_evidence == pytest.approx(np.log(Z[0]), abs=1e-8)
    mean, variance = of_one(posterior.latent(X))
    assert mean == pytest.approx(m, abs=1e-6)
    assert variance == pytest.approx(v, rel=1e-6)


def exact_of_two(likelihood, targets, K):
    """Log evidence, means and variances under two latent values, on a grid."""
    root = np.linalg.cholesky(K)
    z, w = quadrature._HERMITE_NODES, quadrature._HERMITE_WEIGHTS / np.sqrt(2.0 * np.pi)
    pairs = np.stack(np.meshgrid(z, z, indexing="ij"), axis=-1).reshape(-1, 2)
    a = targets.shift[0] + pairs @ root.T
    p = np.outer(w, w).ravel() * np.exp(np.sum(likelihood.log_prob(targets.y, a), axis=1))
    mean = p @ a / p.sum()
    return np.log(p.sum()), mean, p @ (a - mean) ** 2 / p.sum()


@for_each("y", [[1.0, 1.0], [0.0, 1.0]])
def test_of_two_observations_it_is_nearly_exact_and_better_than_laplace(y):
    X = np.array([[0.0, 0.0], [0.4, 0.3]])
    targets = LatentTargets(np.array(y), np.ones(2), np.array([0.3]), np.zeros(1))
    value, mean, variance = exact_of_two(CLASSES, targets, KERNEL(X))
    found = SitePosterior.condition("propagation", KERNEL, CLASSES, X, targets)
    laplace = SitePosterior.condition("laplace", KERNEL, CLASSES, X, targets)
    assert found.log_evidence == pytest.approx(value, abs=0.01)
    assert abs(found.log_evidence - value) < 0.3 * abs(laplace.log_evidence - value)
    np.testing.assert_allclose(found.latent(X).mean[:, 0], mean, atol=0.01)
    np.testing.assert_allclose(found.latent(X).variance[:, 0], variance, rtol=0.02)


def test_of_three_observations_the_evidence_is_that_of_sampling():
    X, targets = data(n=3, offset=False)
    found = SitePosterior.condition("propagation", KERNEL, CLASSES, X, targets)
    a = np.random.default_rng(0).multivariate_normal(np.zeros(3), KERNEL(X), size=400_000)
    p = np.exp(np.sum(CLASSES.log_prob(targets.y, a), axis=1))
    assert found.log_evidence == pytest.approx(np.log(p.mean()), abs=0.01)


@for_each("offset", [False, True])
def test_with_normal_noise_it_is_exact(offset):
    likelihood = likelihoods.Normal(noise_variance=0.4)
    X, targets = data(likelihood, offset=offset)
    v = targets.offset_variance[0]
    total = KERNEL + kernels.Constant(v).fixed() if offset else KERNEL
    exact = ProcessPosterior.condition(
        total, 0.4, X, Observations.from_targets((targets.y - targets.shift)[:, None])
    )
    found = SitePosterior.condition("propagation", KERNEL, likelihood, X, targets)
    mean, variance = of_one(exact.latent(X + 0.1))
    np.testing.assert_allclose(found.latent(X + 0.1).mean[:, 0], targets.shift + mean, rtol=1e-7)
    np.testing.assert_allclose(found.latent(X + 0.1).variance[:, 0], variance, rtol=1e-7)
    assert found.log_evidence == pytest.approx(exact.log_evidence, rel=1e-9)


@each_likelihood
@pytest.mark.parametrize("offset", [False, True])
def test_the_gradient_is_that_of_the_evidence(likelihood, offset, monkeypatch):
    monkeypatch.setattr(propagation, "_AGREED", 1e-10)
    X, targets = data(likelihood, offset=offset)
    P = len(KERNEL.theta)

    def value(theta):
        return SiteEvidence("propagation", X, targets)(
            KERNEL.with_theta(theta[:P]), likelihood.with_parameters(theta[P:])
        )[0]

    gradient = SiteEvidence("propagation", X, targets)(KERNEL, likelihood)[1]
    expected = differences(value, np.append(KERNEL.theta, likelihood.theta), 1e-4)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6)


def test_where_a_search_has_been_before_does_not_change_the_answer():
    X, targets = data()
    evidence = SiteEvidence("propagation", X, targets)
    for theta in ([2.0, 0.5, 0.5], [5.0, -2.0, 1.0], [-6.0, 0.0, 0.0]):
        kernel = KERNEL.with_theta(np.array(theta))
        value, gradient = evidence(kernel, CLASSES)
        cold_value, cold_gradient = SiteEvidence("propagation", X, targets)(kernel, CLASSES)
        assert value == pytest.approx(cold_value, abs=1e-9)
        np.testing.assert_allclose(gradient, cold_gradient, atol=1e-5)


def test_a_start_from_other_sites_saves_sweeps(monkeypatch):
    X, targets = data()
    calls, under = [], propagation._Marginals.under
    monkeypatch.setattr(
        propagation._Marginals, "under", lambda *args: calls.append(1) or under(*args)
    )
    evidence = SiteEvidence("propagation", X, targets)
    evidence(KERNEL, CLASSES)
    cold = len(calls)
    evidence(KERNEL.with_theta(KERNEL.theta + 1e-4), CLASSES)
    assert len(calls) - cold < 0.7 * cold


@for_each("weak", [0.0, 1e-30, 1e-18, 1e-12, 1e-6])
def test_values_under_weak_sites_have_the_variance_that_the_others_leave(weak):
    """It cannot be had from a division by the precision of the site."""
    K = np.asfortranarray(np.array([[4.0, 0.5], [0.5, 4.0]]))
    marginals = propagation._Marginals.under(
        (K, np.empty_like(K)), np.array([1.0, weak]), np.array([0.3, 0.0])
    )
    S = K - np.outer(K[:, 0], K[0]) / 5.0
    np.testing.assert_allclose(marginals.R.variances, np.diagonal(S), rtol=1e-5)
    np.testing.assert_allclose(marginals.mean, 0.3 * S[:, 0], rtol=1e-5)


@for_each(
    "kernel", [1e5 * kernels.RBF(1.0), 1e3 * kernels.RBF(4.0), kernels.Constant(5.0)], ids=str
)
def test_sites_of_strongly_correlated_values_agree_at_last(kernel):
    X, targets = data(n=60)
    posterior = SitePosterior.condition("propagation", kernel, CLASSES, X, targets)
    assert posterior.n_iter < 150
    assert np.all(posterior.latent(X).variance[:, 0] > 0.0)
    assert "differ by" in posterior.stop_reason


def test_sites_that_do_not_agree_warn(monkeypatch):
    monkeypatch.setattr(propagation, "_SWEEPS", 3)
    with pytest.warns(optimize.ConvergenceWarning, match="after 3 sweeps"):
        SitePosterior.condition("propagation", KERNEL, CLASSES, *data())


def test_rows_that_count_otherwise_than_once_are_refused():
    X, targets = data()
    weighted = replace(targets, weights=np.where(np.arange(len(X)) == 4, 2.0, 1.0))
    with pytest.raises(ValueError, match="row 4 counts 2 times"):
        SitePosterior.condition("propagation", KERNEL, CLASSES, X, weighted)
    with pytest.raises(ValueError, match="repeat rows"):
        SiteEvidence("propagation", X, weighted)(KERNEL, CLASSES)


@for_each("tau", [[0.5, -6.0], [-1.4, 30.0], [-50.0, -50.0]])
def test_negative_sites_that_leave_no_posterior_are_weakened(tau):
    K = np.asfortranarray(np.array([[1.0, 0.5], [0.5, 1.0]]))
    asked = np.array([tau, [0.1, 0.2]])
    (chosen, nu), marginals = propagation._weaken_negative_sites((K, np.empty_like(K)), asked)
    S = np.linalg.inv(np.linalg.inv(K) + np.diag(chosen))
    assert np.all(np.linalg.eigvalsh(S) > 0.0)
    assert np.all(chosen * np.diagonal(S) < 1.0)
    negative = asked[0] < 0.0
    np.testing.assert_array_equal(chosen[~negative], asked[0, ~negative])
    assert np.all((asked[0] <= chosen) & (chosen <= np.maximum(asked[0], 0.0)))
    np.testing.assert_allclose(marginals.R.variances, np.diagonal(S), rtol=1e-10)
    np.testing.assert_allclose(marginals.mean, S @ nu, rtol=1e-10)


def test_sites_come_to_agree_though_some_had_to_be_weakened(monkeypatch):
    """Little noise is assumed and much there is: at first most observations are outliers."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-3.0, 3.0, size=(60, 1))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * rng.standard_t(1.0, 60)
    targets = LatentTargets(y, np.ones(60), np.zeros(1), np.zeros(1))
    calls, under = [], propagation._Marginals.under
    monkeypatch.setattr(
        propagation._Marginals, "under", lambda *args: calls.append(1) or under(*args)
    )
    posterior = SitePosterior.condition(
        "propagation", kernels.RBF(2.0), HeavyTailed(scale=0.1), X, targets
    )
    assert posterior.n_iter < len(calls)
    assert posterior.n_iter < 40
