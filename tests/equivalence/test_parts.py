"""A model is its parts: the estimators are what likelihood times prior says they are."""

import tracemalloc

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import dblquad, quad
from support.for_each import for_each

from posterity import (
    BayesianLinearRegression,
    LinearRegression,
    LqRegression,
    RidgeRegression,
    likelihoods,
    priors,
)

SIGMA2, TAU2 = 0.4, 1.7


def data(n=8, m=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    return X, X @ rng.normal(size=m) + 0.5 * rng.normal(size=n)


def bayesian():
    return BayesianLinearRegression(
        prior_variance=TAU2, noise_variance=SIGMA2, fit_intercept=False, standardize=False
    )


def log_density(prior, w):
    return prior.log_prob(w) if isinstance(prior, priors.Prior) else prior.logpdf(w)


def log_joint(w, X, y, prior):
    likelihood = likelihoods.Normal(SIGMA2)
    return likelihood.log_prob(y, X @ w).sum() + log_density(prior, w).sum()


def test_the_posterior_mean_is_the_most_probable_weight():
    X, y = data()
    w = bayesian().fit(X, y).coef_
    likelihood, prior = likelihoods.Normal(SIGMA2), priors.Normal(TAU2)
    slope = X.T @ likelihood.d1(y, X @ w) + -w / prior.variance
    np.testing.assert_allclose(slope, 0.0, atol=1e-10)


def test_the_posterior_precision_is_the_curvature():
    X, y = data()
    model = bayesian().fit(X, y)
    likelihood, prior = likelihoods.Normal(SIGMA2), priors.Normal(TAU2)
    curvature = -X.T @ (likelihood.d2(y, X @ model.coef_)[:, None] * X)
    curvature -= np.diag(np.full(2, -1.0 / prior.variance))
    covariance = model.posterior_.joint(np.eye(2)).covariance[0]
    np.testing.assert_allclose(covariance, np.linalg.inv(curvature), rtol=1e-10)


def test_the_evidence_of_one_weight_is_the_integral_of_likelihood_times_prior():
    X, y = data(m=1)
    prior = priors.Normal(TAU2)
    model = bayesian().fit(X, y)
    peak = log_joint(model.coef_, X, y, prior)

    def integrand(w):
        return np.exp(log_joint(np.array([w]), X, y, prior) - peak)

    area, _ = quad(integrand, -8.0, 8.0, epsabs=1e-13, points=[model.coef_[0]])
    assert model.log_evidence_ == pytest.approx(peak + np.log(area), rel=1e-9)


def test_the_evidence_of_two_weights_is_the_integral_of_likelihood_times_prior():
    X, y = data(m=2)
    prior = priors.Normal(TAU2)
    model = bayesian().fit(X, y)
    peak = log_joint(model.coef_, X, y, prior)
    a, b = model.coef_

    def integrand(v, u):
        return np.exp(log_joint(np.array([u, v]), X, y, prior) - peak)

    area, _ = dblquad(integrand, a - 4.0, a + 4.0, b - 4.0, b + 4.0, epsabs=1e-9)
    assert model.log_evidence_ == pytest.approx(peak + np.log(area), rel=1e-6)


@for_each(
    ("model", "prior"),
    [
        (LinearRegression(fit_intercept=False), priors.Flat()),
        (
            RidgeRegression(SIGMA2 / TAU2, fit_intercept=False, standardize=False),
            priors.Normal(TAU2),
        ),
        (
            LqRegression(2.0 * SIGMA2 / 0.3, fit_intercept=False, standardize=False),
            stats.laplace(scale=0.3),
        ),
    ],
    ids=["flat", "normal", "Laplace"],
)
def test_each_penalty_is_the_most_probable_weight_under_its_prior(model, prior):
    X, y = data(n=12, m=3)
    w = model.fit(X, y).coef_
    best = log_joint(w, X, y, prior)
    steps = np.random.default_rng(1).normal(size=(500, 3))
    for size in (1e-6, 1e-3, 0.1, 1.0):
        rivals = [log_joint(w + size * step, X, y, prior) for step in steps]
        assert max(rivals) <= best + 1e-12


def test_more_features_than_rows_takes_memory_for_the_rows_only():
    rng = np.random.default_rng(0)
    X, y, X_star = rng.normal(size=(40, 3000)), rng.normal(size=40), rng.normal(size=(40, 3000))
    tracemalloc.start()
    BayesianLinearRegression().fit(X, y).predict(X_star, return_std=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * X.nbytes  # a D x D matrix would be seventy-five times the rows
