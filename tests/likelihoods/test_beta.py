"""Shares: the density, steps from anywhere, the maximum, and intervals that stay inside."""

import numpy as np
import pytest
from scipy import integrate, optimize, stats
from scipy.special import expit, logit
from support.for_each import for_each

from posterity import GaussianProcessRegressor, GeneralizedLinearRegression, designs, likelihoods

RNG = np.random.default_rng(0)
X = RNG.uniform(-2.0, 2.0, size=(300, 1))
MEAN = expit(0.5 + 1.2 * X[:, 0])
Y = RNG.beta(12.0 * MEAN, 12.0 * (1.0 - MEAN))


@for_each("concentration", [3.0, 40.0, 1e4])
@for_each("a", [-2.0, 0.0, 1.5])
def test_the_density_integrates_to_one(concentration, a):
    likelihood = likelihoods.Beta(concentration)

    def density(z):  # of the logit of y
        y = expit(z)
        return float(np.exp(likelihood.log_prob(y, a)) * y * (1.0 - y))

    total = integrate.quad(density, -120.0, 35.0, points=[a, a - 0.5, a + 0.5], limit=400)[0]
    assert total == pytest.approx(1.0, rel=1e-8)


@for_each("concentration", [0.05, 1.0, 30.0, 1e5])
def test_a_step_climbs_from_anywhere_and_stays_on_its_side(concentration):
    likelihood = likelihoods.Beta(concentration)
    y = np.array([1e-9, 0.01, 0.3, 0.9, 1.0 - 1e-9])[:, None]
    a = np.linspace(-12.0, 12.0, 97)
    weight, slope = likelihood.step_curvature(y, a), likelihood.d1(y, a)
    moved = a + slope / weight
    assert np.all(weight > 0.0)
    assert np.all(likelihood.d1(y, moved) * slope >= -1e-9 * slope**2)


@for_each("concentration", [5.0, 1e3, 1e7])
@for_each("variance", [1e-4, 0.3, 9.0])
def test_moments_of_a_prediction_agree_with_samples_of_the_latent_value(concentration, variance):
    t = np.linspace(-9.0, 9.0, 40_001)
    w = np.exp(-0.5 * t**2) / np.sum(np.exp(-0.5 * t**2))
    m = expit(0.7 + np.sqrt(variance) * t)
    mean = w @ m
    spread = w @ (m * (1.0 - m)) / (concentration + 1.0) + w @ (m - mean) ** 2
    prediction = likelihoods.Beta(concentration).predict(0.7, variance)
    assert prediction.mean() == pytest.approx(mean, rel=1e-9)
    # A concentration that nodes would not resolve is lowered; the noise is next to nothing then.
    rtol = 1e-3 if concentration * variance > 1e4 else 1e-9
    assert prediction.variance() == pytest.approx(spread, rel=rtol)


def test_the_fit_of_many_rows_is_near_the_maximum():
    def loss(x):
        m = expit(x[0] + x[1] * X[:, 0])
        return -np.sum(stats.beta.logpdf(Y, np.exp(x[2]) * m, np.exp(x[2]) * (1.0 - m)))

    best = optimize.minimize(loss, [0.0, 0.0, 1.0])
    model = GeneralizedLinearRegression(likelihoods.Beta()).fit(X, Y)
    found = [model.intercept_, model.coef_[0], np.log(model.likelihood_.concentration)]
    error = np.sqrt(np.diag(best.hess_inv))
    np.testing.assert_allclose((found - best.x) / error, 0.0, atol=0.3)


def test_the_posterior_of_one_weight_agrees_with_brute_force():
    x, y = np.array([[1.0], [2.0], [-1.0]]), np.array([0.9, 0.7, 0.05])
    likelihood = likelihoods.Beta(6.0)
    model = GeneralizedLinearRegression(
        likelihood, prior_variance=1.0, fit_intercept=False, standardize=False
    ).fit(x, y)
    w = np.linspace(-8.0, 8.0, 4001)
    log_p = np.sum(likelihood.log_prob(y[:, None], x * w), axis=0) + stats.norm.logpdf(w)
    p = np.exp(log_p)
    mean = p @ w / p.sum()
    sd = np.sqrt(p @ (w - mean) ** 2 / p.sum())
    found = model.predict_latent([[1.0]])
    assert (found.mean()[0] - mean) / sd == pytest.approx(0.0, abs=0.03)
    assert found.standard_deviation()[0] == pytest.approx(sd, rel=0.05)
    evidence = np.log(p.sum() * (w[1] - w[0]))
    assert model.log_evidence_ == pytest.approx(evidence, abs=0.1)


@pytest.mark.full
def test_intervals_of_a_process_stay_between_zero_and_one():
    model = GaussianProcessRegressor(likelihood=likelihoods.Beta()).fit(X[:60], Y[:60])
    low, high = model.predict_dist([[-9.0], [-2.0], [4.0]]).interval(0.99)
    assert np.all((low > 0.0) & (high <= 1.0))
    inside = model.predict_dist(X[60:160]).interval(0.9)
    covered = np.mean((inside[0] < Y[60:160]) & (Y[60:160] < inside[1]))
    assert 0.8 < covered < 0.98


def test_chunks_give_what_rows_in_memory_give():
    model = GeneralizedLinearRegression(likelihoods.Beta()).fit(X, Y)
    chunks = designs.Chunks.from_arrays(X, Y, rows=70)
    chunked = GeneralizedLinearRegression(likelihoods.Beta()).fit(chunks)
    np.testing.assert_allclose(chunked.coef_, model.coef_, rtol=1e-6)
    np.testing.assert_allclose(chunked.log_evidence_, model.log_evidence_, rtol=1e-9)


def test_mirrored_shares_are_predicted_by_the_mirrored_distribution():
    model = GeneralizedLinearRegression(likelihoods.Beta()).fit(X, Y)
    mirrored = GeneralizedLinearRegression(likelihoods.Beta()).fit(X, 1.0 - Y)
    np.testing.assert_allclose(mirrored.predict(X[:5]), 1.0 - model.predict(X[:5]), rtol=1e-4)
    assert logit(model.predict([[0.0]]))[0] == pytest.approx(0.5, abs=0.2)
