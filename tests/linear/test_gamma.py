"""Positive targets: effects multiply, and so does the scatter."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity import BayesianLinearRegression, GammaRegression, designs


def amounts(n=400, shape=5.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, rng.gamma(shape, np.exp(1.0 + X @ [0.7, -0.4]) / shape)


@for_each("shape", [0.7, 5.0, 200.0])
def test_parameters_are_recovered(shape):
    X, y = amounts(2000, shape)
    model = GammaRegression().fit(X, y)
    se = 1.0 / np.sqrt(2000 * shape)
    np.testing.assert_allclose(model.coef_, [0.7, -0.4], atol=4 * se)
    assert model.intercept_ == pytest.approx(1.0, abs=4 * se)
    assert model.shape_ == pytest.approx(shape, rel=0.12)


@for_each("c", [1e-9, 40.0, 1e9])
def test_the_unit_of_the_targets_moves_the_offset_alone(c):
    X, y = amounts()
    plain, scaled = GammaRegression().fit(X, y), GammaRegression().fit(X, c * y)
    np.testing.assert_allclose(scaled.coef_, plain.coef_, rtol=1e-3)
    assert scaled.intercept_ == pytest.approx(plain.intercept_ + np.log(c), abs=1e-5)
    assert scaled.shape_ == pytest.approx(plain.shape_, rel=1e-3)
    jacobian = len(y) * np.log(c)
    assert scaled.log_evidence_ + jacobian == pytest.approx(plain.log_evidence_, abs=1e-4)


def test_predictions_are_those_of_simulated_weights_and_targets():
    X, y = amounts(25, 2.0)
    model = GammaRegression(hyperparameters="maximise").fit(X, y)
    queries = np.array([[0.0, 0.0], [3.0, -3.0]])
    rng = np.random.default_rng(1)
    coef, intercept = model.posterior_.sample(40_000, rng)
    a = np.einsum("nm,smc->ns", queries, coef) + intercept[:, 0]
    draws = rng.gamma(model.shape_, np.exp(a) / model.shape_)
    predicted = model.predict_dist(queries)
    np.testing.assert_allclose(predicted.mean(), draws.mean(axis=1), rtol=0.04)
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    quantiles = model.predict_quantiles(queries, levels)
    for i in range(2):
        below = [np.mean(draws[i] < q) for q in quantiles[i]]
        np.testing.assert_allclose(below, levels, atol=0.009)


def test_intervals_cover():
    X, y = amounts(1000, 3.0)
    test_X, test_y = amounts(1000, 3.0, seed=1)
    lower, upper = GammaRegression().fit(X, y).predict_interval(test_X, coverage=0.9)
    assert np.all(lower > 0.0)
    assert np.mean((lower < test_y) & (test_y < upper)) == pytest.approx(0.9, abs=0.03)


def test_evidence_knows_positive_targets_from_normal_ones():
    X, y = amounts(shape=3.0)
    assert GammaRegression().fit(X, y).log_evidence_ > (
        BayesianLinearRegression().fit(X, y).log_evidence_ + 50.0
    )


def test_targets_that_are_not_positive_are_named():
    X, y = amounts()
    for bad in (0.0, -2.5):
        y[7] = bad
        with pytest.raises(ValueError, match=r"in row 7; a gamma likelihood needs positive"):
            GammaRegression().fit(X, y)


def test_a_shape_that_is_given_is_kept():
    X, y = amounts()
    model = GammaRegression(shape=2.0, prior_variance=1.5).fit(X, y)
    assert model.shape_ == pytest.approx(2.0)
    assert model.prior_variance_ == 1.5
    assert model.stop_reason_ == "every parameter was given"


def test_streams_give_the_same_model():
    X, y = amounts(150)
    streamed = GammaRegression().fit(designs.Chunks.from_arrays(X, y, rows=40))
    plain = GammaRegression().fit(X, y)
    assert streamed.log_evidence_ == pytest.approx(plain.log_evidence_, abs=1e-7)
    np.testing.assert_allclose(streamed.predict(X), plain.predict(X), rtol=1e-5)
