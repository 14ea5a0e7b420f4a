"""The sampler and the grid find posteriors that are known, and errors are measured against them."""

import numpy as np
import pytest
from benchmarks import exact_posteriors, posterior_accuracy, samplers
from benchmarks.cases import Data
from benchmarks.options import Options
from scipy import integrate, special, stats
from support.for_each import for_each

from posterity import kernels

EFFORT = exact_posteriors.Effort(20, 50, 300, 300, 2, 300, 20)


@pytest.fixture
def normal():
    """Targets with normal noise: posterior and evidence are known."""
    A, y, noise = np.array([[1.4, 0.0], [0.6, 0.8]]), np.array([1.0, -0.5]), np.array([0.5, 0.2])
    target = samplers.Target(2, lambda Z: stats.norm.logpdf(y, Z @ A.T, np.sqrt(noise)).sum(axis=1))
    covariance = np.linalg.inv(np.eye(2) + A.T @ np.diag(1.0 / noise) @ A)
    log_Z = stats.multivariate_normal.logpdf(y, np.zeros(2), A @ A.T + np.diag(noise))
    return target, covariance @ A.T @ (y / noise), covariance, log_Z


def test_chains_have_mean_and_covariance_of_the_posterior(normal):
    target, mean, covariance, _ = normal
    rng = np.random.default_rng(0)
    draws = samplers.sample(target, rng, chains=50, warm_up=50, draws=200, thin=2)
    assert draws.shape == (200, 50, 2)
    flat = draws.reshape(-1, 2)
    np.testing.assert_allclose(flat.mean(axis=0), mean, atol=0.03)
    np.testing.assert_allclose(np.cov(flat.T), covariance, atol=0.03)
    assert samplers.scale_reduction(draws).max() < 1.02


def test_a_narrow_likelihood_far_from_the_prior_mean_is_sampled_without_bias():
    target = samplers.Target(1, lambda Z: stats.norm.logpdf(3.0, Z[:, 0], 0.1))
    rng = np.random.default_rng(0)
    draws = samplers.sample(target, rng, chains=400, warm_up=50, draws=100, thin=5)
    variance = 1.0 / (1.0 + 1.0 / 0.1**2)
    assert draws.mean() == pytest.approx(3.0 * variance / 0.1**2, abs=0.01 * np.sqrt(variance) * 3)
    assert draws.var() == pytest.approx(variance, rel=0.04)


def test_seen_from_nearby_it_is_the_same_target(normal):
    target, mean, covariance, log_Z = normal
    rng = np.random.default_rng(0)
    near = samplers.Recentred.at(target, rng.multivariate_normal(mean, covariance, size=(100, 4)))
    draws = samplers.sample(near.target, rng, chains=50, warm_up=20, draws=200, thin=2)
    flat = near.states(draws).reshape(-1, 2)
    np.testing.assert_allclose(flat.mean(axis=0), mean, atol=0.03)
    np.testing.assert_allclose(np.cov(flat.T), covariance, atol=0.03)
    found, error = samplers.log_evidence(near.target, rng, chains=400, temperatures=5)
    assert found == pytest.approx(log_Z, abs=4.0 * error)
    assert error < 0.01


def test_annealing_finds_the_evidence_and_its_own_error(normal):
    target, _, _, log_Z = normal
    rng = np.random.default_rng(0)
    found = [samplers.log_evidence(target, rng, chains=50, temperatures=50) for _ in range(8)]
    errors = np.array([value - log_Z for value, _ in found])
    stated = np.array([error for _, error in found])
    assert np.abs(errors).max() < 4.0 * stated.max()
    assert 0.4 < errors.std() / stated.mean() < 2.5
    assert stated.max() < 0.2


def test_effective_size_of_a_chain_with_memory_is_known():
    rng, rho = np.random.default_rng(0), 0.5
    x, draws = rng.standard_normal(20), []
    for _ in range(4_000):
        x = rho * x + np.sqrt(1.0 - rho**2) * rng.standard_normal(20)
        draws.append(x)
    expected = 80_000 * (1.0 - rho) / (1.0 + rho)
    assert samplers.effective_size(np.array(draws)) == pytest.approx(expected, rel=0.1)


def test_scale_reduction_sees_chains_that_disagree_or_drift():
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((500, 4))
    assert samplers.scale_reduction(draws) == pytest.approx(1.0, abs=0.01)
    assert samplers.scale_reduction(draws + np.arange(4)) > 1.3
    assert samplers.scale_reduction(draws + np.linspace(0.0, 3.0, 500)[:, None]) > 1.2


def test_the_grid_integrates_two_weights():
    case = posterior_accuracy.two_weights(rows=6, prior_variance=2.0)
    found, data = case.reference(EFFORT), case.data

    def density(b, a, x=None):
        w = np.array([a, b])
        log_p = stats.norm.logpdf(w, 0.0, np.sqrt(2.0)).sum()
        log_p += special.log_expit((2.0 * data.y - 1.0) * (data.X @ w)).sum()
        return np.exp(log_p) * (1.0 if x is None else special.expit(x @ w))

    Z, _ = integrate.dblquad(density, -9, 9, -9, 9, epsabs=1e-6)
    p, _ = integrate.dblquad(density, -9, 9, -9, 9, args=(data.X_test[0],), epsabs=1e-6)
    assert found.log_evidence == pytest.approx(np.log(Z), abs=1e-4)
    assert found.probabilities[0, 1] == pytest.approx(p / Z, abs=1e-4)


@for_each("classes", [2, 3])
def test_chains_over_functions_find_what_weighting_the_prior_finds(classes):
    rng, rho, s = np.random.default_rng(0), np.exp(-0.5), 3.0
    data = Data(np.zeros((1, 1)), np.array([1.0]), np.array([[0.0], [1.0], [50.0]]), np.zeros(3))
    kernel = kernels.Scaled(kernels.RBF(1.0), s**2)
    found = exact_posteriors.sample_posterior(data, kernel, classes, EFFORT)
    here = s * rng.standard_normal((400_000, classes))
    there = rho * here + s * np.sqrt(1.0 - rho**2) * rng.standard_normal(here.shape)
    for F in (here, there):
        F[:, 0] *= classes > 2  # two classes share one function
    weights = special.softmax(here, axis=1)[:, 1]
    for k, F in enumerate((here, there)):
        expected = np.average(special.softmax(F, axis=1), axis=0, weights=weights)
        np.testing.assert_allclose(found.probabilities[k], expected, atol=0.02)
    np.testing.assert_allclose(found.probabilities[2], 1.0 / classes, atol=0.02)
    assert found.log_evidence == pytest.approx(-np.log(classes), abs=0.05)
    assert found.facts["scale_reduction"] < 1.1
    assert found.facts["effective_size"] > 500.0


def test_errors_are_against_the_reference_and_the_page_tells_them(tmp_path, monkeypatch):
    monkeypatch.setattr(
        exact_posteriors, "REHEARSAL", exact_posteriors.Effort(8, 5, 50, 40, 1, 8, 10)
    )
    result = posterior_accuracy.run(Options(quick=True, folder=tmp_path))
    weights, *processes = result["tasks"]
    assert weights["models"]["posterity, Laplace"]["largest_error"] < 0.05
    assert [len(task["models"]) for task in processes] == [3, 3, 2]
    ours, theirs = (
        processes[0]["models"][k] for k in ("posterity, Laplace", "scikit-learn, Laplace")
    )
    assert ours["log_evidence_off"] == pytest.approx(theirs["log_evidence_off"], abs=1e-3)
    page = (tmp_path / "posterior_accuracy.md").read_text()
    assert "Exact, on a grid" in page
    assert "the least effective number of draws" in page
