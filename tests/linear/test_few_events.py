"""Counts with few events or none: predicted means are those of the exact posterior."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity import (
    GammaRegression,
    GaussianProcessRegressor,
    GeneralizedLinearRegression,
    designs,
    kernels,
    likelihoods,
)
from posterity.inference.weights.variational import NearestNormal

POISSON = likelihoods.Poisson()


def linear(**options):
    return GeneralizedLinearRegression(POISSON, **options)


def process(**options):
    return GaussianProcessRegressor(likelihood=POISSON, **options)


def rows(n, d=2):
    return np.random.default_rng(0).normal(size=(n, d))


def averaged_rates(y, weights, mean, variance):
    """E[exp(a)] for one latent value of that prior, by brute force."""
    sd = np.sqrt(variance)
    a = np.linspace(mean - 12.0 * sd, mean + 12.0 * sd, 200_001)
    with np.errstate(over="ignore"):
        log_p = (weights @ y) * a - np.sum(weights) * np.exp(a) - 0.5 * (a - mean) ** 2 / variance
    p = np.exp(log_p - np.max(log_p))
    return float(p @ np.exp(np.minimum(a, 700.0)) / np.sum(p))


@pytest.mark.full
@for_each("n", [5, 30, 100, 1000])
def test_the_mean_of_zero_counts_is_less_than_half_an_event_in_all_rows(n):
    X = rows(n)
    expected = averaged_rates(
        np.zeros(n), np.ones(n), *POISSON.fit_constant(np.zeros(n), np.ones(n))
    )
    models = [linear(), linear(prior_variance=1e-9)] + [process()] * (n <= 100)
    models += [process(kernel=kernels.Scaled(kernels.RBF()), inducing_points=5)] * (n == 100)
    for model in models:
        np.testing.assert_allclose(model.fit(X, np.zeros(n)).predict(X), expected, rtol=0.03)
    assert 0.35 < n * expected < 0.45


@for_each("variance", [1e-6, 1.0, 1e3, 1e8])
@for_each("events", [0, 1])
def test_whatever_the_prior_predicted_counts_add_up_to_those_observed(variance, events):
    x = np.repeat([0.0, 1.0, 2.0], [900, 90, 10])[:, None]
    y = (np.arange(1000) == 999) * float(events)
    linear_model = linear(prior_variance=variance).fit(x, y)
    few = slice(None, None, 45)  # 20 rows without an event, 3 beside the one
    kernel = (variance * kernels.RBF(1.0)).fixed()
    function = process(kernel=kernel).fit(x[few], y[few] + (np.arange(23) == 22) * float(events))
    assert events - 0.1 < np.sum(linear_model.predict(x)) < events + 0.7
    assert events - 0.1 < np.sum(function.predict(x[few])) < events + 0.7


@for_each("variance", [1.0, 100.0, 1e6])
def test_a_column_that_separates_zeros_from_counts_predicts_the_exact_means(variance):
    n, total = 50, 240.0
    x = np.repeat([0.0, 1.0], n)[:, None]
    y = np.where(x[:, 0] > 0.0, total / n, 0.0).round()
    model = linear(prior_variance=variance).fit(x, y)
    shift, spread = POISSON.fit_constant(y, np.ones(2 * n))
    # Latent values of the two groups: offset -+ weight, in columns of unit variance.
    w, b = np.meshgrid(np.linspace(-1.0, 15.0, 1601), np.linspace(-14.0, 3.0, 1701))
    low, high = shift + b - w, shift + b + w
    log_p = np.sum(y) * high - n * (np.exp(low) + np.exp(high))
    log_p -= 0.5 * w**2 / variance + 0.5 * b**2 / spread
    p = np.exp(log_p - np.max(log_p))
    exact = [np.sum(p * np.exp(a)) / np.sum(p) for a in (low, high)]
    np.testing.assert_allclose(model.predict([[0.0], [1.0]]), exact, rtol=0.05)


def test_weights_are_repetitions_of_rows_without_events():
    X, y = rows(12), np.zeros(12)
    weights = np.arange(12) % 4
    again = np.repeat(np.arange(12), weights)
    for model in (linear(), process(kernel=kernels.RBF(1.0).fixed())):
        means = model.fit(X, y, sample_weight=weights).predict(X)
        np.testing.assert_allclose(means, model.fit(X[again], y[again]).predict(X), rtol=1e-3)


def test_chunks_without_events_predict_what_memory_does():
    X, y = rows(60), (np.arange(60) == 7) * 1.0
    chunks = designs.Chunks.from_arrays(X, y, rows=20)
    expected = linear(prior_variance=4.0).fit(X, y).predict(X)
    found = linear(prior_variance=4.0).fit(chunks).predict(X)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert np.sum(found) == pytest.approx(1.0, abs=0.1)


def test_a_prior_worth_one_row_does_not_hold_rows_without_events_up():
    """Large counts on one side: one row of them tells little of the other side."""
    x = np.repeat([0.0, 1.0], 50)[:, None]
    model = linear().fit(x, np.where(x[:, 0] > 0.0, 1e6, 0.0))
    low, high = model.predict([[0.0], [1.0]])
    assert low < 0.1
    assert high == pytest.approx(1e6, rel=1e-3)


def test_ordinary_counts_are_predicted_as_by_laplace():
    X = rows(300)
    y = np.random.default_rng(1).poisson(np.exp(1.0 + X @ [0.5, -0.3]))
    nearest, laplace = linear().fit(X, y), linear(inference="laplace").fit(X, y)
    assert isinstance(nearest.posterior_.fit, NearestNormal)
    assert nearest.log_evidence_ == laplace.log_evidence_
    np.testing.assert_allclose(nearest.predict(X), laplace.predict(X), rtol=0.03)
    np.testing.assert_allclose(np.sum(nearest.predict(X)), np.sum(y), rtol=2e-3)
    assert nearest.posterior_.fit.bound < nearest.log_evidence_ + 0.1


@for_each("shape", [0.2, 1.0, 5.0])
def test_the_mean_of_few_amounts_is_nearer_to_the_exact_one_than_laplace_is(shape):
    y = np.random.default_rng(0).gamma(shape, 1.0 / shape, size=6)
    X = np.zeros((6, 1))
    models = [
        GammaRegression(shape=shape, prior_variance=1.0, inference=name).fit(X, y)
        for name in ("auto", "laplace")
    ]
    shift, variance = likelihoods.Gamma(shape).fit_constant(y, np.ones(6))
    a = np.linspace(shift - 12.0 * np.sqrt(variance), shift + 12.0 * np.sqrt(variance), 100_001)
    log_p = -shape * (6.0 * a + np.sum(y) * np.exp(-a)) - 0.5 * (a - shift) ** 2 / variance
    p = np.exp(log_p - np.max(log_p))
    exact = p @ a / np.sum(p)
    nearest, laplace = (model.predict_latent(X[:1]).mean()[0] for model in models)
    assert abs(nearest - exact) < 0.2 * abs(laplace - exact)


def test_an_unknown_inference_is_refused():
    with pytest.raises(ValueError, match="must be one of"):
        linear(inference="exact").fit(rows(5), np.ones(5))
