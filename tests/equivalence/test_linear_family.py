"""Theorems of the linear family: different routes, one answer."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor as ReferenceGP
from sklearn.gaussian_process.kernels import DotProduct
from sklearn.linear_model import BayesianRidge
from sklearn.linear_model import LinearRegression as ReferenceLeastSquares
from sklearn.linear_model import Ridge as ReferenceRidge
from support.for_each import for_each

from posterity import (
    BayesianLinearRegression,
    DualLinearRegression,
    LinearRegression,
    RidgeRegression,
    designs,
    features,
    priors,
)


def data(n=25, m=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    return X, X @ rng.normal(size=m) + 0.5 * rng.normal(size=n), rng.normal(size=(6, m)) * 2.0


@for_each(("n", "m"), [(25, 4), (6, 15)])
def test_bayesian_linear_regression_is_a_gaussian_process_with_the_linear_kernel(n, m):
    X, y, X_star = data(n, m)
    sigma2, tau2 = 0.4, 1.0
    model = BayesianLinearRegression(
        prior_variance=tau2, noise_variance=sigma2, fit_intercept=False, standardize=False
    ).fit(X, y)
    gp = ReferenceGP(DotProduct(0.0, "fixed"), alpha=sigma2, optimizer=None).fit(X, y)
    mean, std = gp.predict(X_star, return_std=True)
    ours = model.predict_dist(X_star, noise_variance=0.0)
    np.testing.assert_allclose(ours.mean(), mean, rtol=1e-8)
    np.testing.assert_allclose(ours.standard_deviation(), std, rtol=1e-6)
    assert model.log_evidence_ == pytest.approx(gp.log_marginal_likelihood_value_, rel=1e-10)


@for_each(("n", "m"), [(25, 4), (6, 15), (10, 10)])
def test_primal_dual_and_woodbury_agree(n, m):
    """[P8 8.11] by D x D, [P8 8.13] by N x N, and ours."""
    X, y, X_star = data(n, m)
    s2, t2 = 0.4, 1.7
    A = X.T @ X / s2 + np.eye(m) / t2
    primal = X_star @ np.linalg.solve(A, X.T @ y) / s2
    primal_var = np.sum(X_star * np.linalg.solve(A, X_star.T).T, axis=1)
    B = X @ X.T + s2 / t2 * np.eye(n)
    dual = X_star @ X.T @ np.linalg.solve(B, y)
    K_star = X_star @ X.T
    dual_var = t2 * (np.sum(X_star**2, 1) - np.sum(K_star * np.linalg.solve(B, K_star.T).T, 1))
    model = BayesianLinearRegression(
        prior_variance=t2, noise_variance=s2, fit_intercept=False, standardize=False
    ).fit(X, y)
    f = model.predict_dist(X_star, noise_variance=0.0)
    for mean, var in [(primal, primal_var), (dual, dual_var)]:
        np.testing.assert_allclose(f.mean(), mean, rtol=1e-8)
        np.testing.assert_allclose(f.variance(), var, rtol=1e-7)


@for_each(("n", "m"), [(25, 4), (6, 15)])
@for_each("fit_intercept", [True, False])
def test_dual_least_squares_is_primal_least_squares(n, m, fit_intercept):
    X, y, X_star = data(n, m)
    primal = LinearRegression(fit_intercept=fit_intercept).fit(X, y)
    dual = DualLinearRegression(
        prior=priors.Flat(), fit_intercept=fit_intercept, standardize=False
    ).fit(X, y)
    np.testing.assert_allclose(dual.coef_, primal.coef_, rtol=1e-8)
    np.testing.assert_allclose(dual.predict(X_star), primal.predict(X_star), rtol=1e-8)
    if n > m:
        np.testing.assert_allclose(
            dual.predict_dist(X_star).scale, primal.predict_dist(X_star).scale, rtol=1e-8
        )


def test_dual_evidence_is_the_dense_one():
    """[P8 8.52]: log N(y | 0, tau2 K K + sigma2 I)."""
    X, y, _ = data()
    model = DualLinearRegression(
        prior_variance=0.3, noise_variance=0.7, fit_intercept=False, standardize=False
    )
    K = X @ X.T
    dense = multivariate_normal(np.zeros(25), 0.3 * K @ K + 0.7 * np.eye(25)).logpdf(y)
    assert model.fit(X, y).log_evidence_ == pytest.approx(dense, rel=1e-10)


def test_ridge_is_the_bayesian_posterior_at_the_tied_variances():
    X, y, X_star = data()
    ridge = RidgeRegression(3.0, hyperparameters="maximise").fit(X, y)
    bayes = BayesianLinearRegression(
        prior_variance=ridge.prior_variance_, noise_variance=ridge.noise_variance_
    ).fit(X, y)
    for a, b in zip(
        ridge.predict(X_star, return_std=True), bayes.predict(X_star, return_std=True), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    assert ridge.log_evidence_ == pytest.approx(bayes.log_evidence_)
    assert ridge.prior_variance_ == pytest.approx(ridge.noise_variance_ / 3.0)


@for_each(("n", "m"), [(25, 4), (6, 15)])
def test_scikit_learn_agrees_on_least_squares_and_ridge(n, m):
    X, y, X_star = data(n, m)
    X = X * 7.0 + 3.0
    for ours, theirs in [
        (LinearRegression(), ReferenceLeastSquares()),
        (RidgeRegression(2.5, standardize=False), ReferenceRidge(2.5)),
    ]:
        ours.fit(X, y), theirs.fit(X, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-7)
        np.testing.assert_allclose(ours.predict(X_star), theirs.predict(X_star), rtol=1e-7)


def test_evidence_is_no_smaller_than_at_the_variances_of_scikit_learn():
    """BayesianRidge maximises nearly the same evidence by another route, and stops early."""
    X, y, _ = data(60, 5)
    theirs = BayesianRidge(fit_intercept=False, tol=1e-10, max_iter=5000).fit(X, y)
    settings = {"fit_intercept": False, "standardize": False, "hyperparameters": "maximise"}
    ours = BayesianLinearRegression(**settings).fit(X, y)
    at_theirs = BayesianLinearRegression(
        prior_variance=1.0 / theirs.lambda_, noise_variance=1.0 / theirs.alpha_, **settings
    ).fit(X, y)
    assert ours.log_evidence_ >= at_theirs.log_evidence_ - 1e-9
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4)


@for_each("standardize", [True, False])
def test_penalising_the_offset_is_a_weight_on_a_column_of_ones(standardize):
    X, y, X_star = data()
    ones, ones_star = np.ones((len(X), 1)), np.ones((len(X_star), 1))
    with_offset = RidgeRegression(2.0, penalize_intercept=True, standardize=standardize).fit(X, y)
    column = RidgeRegression(2.0, fit_intercept=False, standardize=standardize)
    column.fit(np.hstack([X, ones]), y)
    for a, b in zip(
        with_offset.predict(X_star, return_std=True),
        column.predict(np.hstack([X_star, ones_star]), return_std=True),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, rtol=1e-10)
    np.testing.assert_allclose(with_offset.intercept_, column.coef_[-1], rtol=1e-12)


MERGING = [
    LinearRegression(),
    RidgeRegression(2.0),
    BayesianLinearRegression(),
    BayesianLinearRegression(fit_intercept=False),
    BayesianLinearRegression(features=features.Polynomial(2)),
]


@pytest.mark.parametrize("model", MERGING, ids=repr)
def test_bit_by_bit_equals_all_at_once(model):
    X, y, X_star = data(200)
    once = model.fit(X, y).predict(X_star, return_std=True)
    for part in np.array_split(np.arange(200), 7):
        if part[0] == 0:
            model.fit(X[part], y[part])
        else:
            model.partial_fit(X[part], y[part])
    for a, b in zip(model.predict(X_star, return_std=True), once, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


@pytest.mark.parametrize("model", MERGING, ids=repr)
def test_chunks_equal_memory(model):
    X, y, X_star = data(200)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 200)
    memory = model.fit(X, y, sample_weight=weight).predict(X_star, return_std=True)
    chunks = designs.Chunks.from_arrays(X, y, sample_weight=weight, rows=17)
    streamed = model.fit(chunks).predict(X_star, return_std=True)
    for a, b in zip(streamed, memory, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)


def test_rows_one_at_a_time_reach_the_same_model():
    X, y, X_star = data(30)
    whole = BayesianLinearRegression().fit(X, y)
    online = BayesianLinearRegression().fit(X[:2], y[:2])
    for i in range(2, 30):
        online.partial_fit(X[i : i + 1], y[i : i + 1])
    np.testing.assert_allclose(online.predict(X_star), whole.predict(X_star), rtol=1e-8)
    assert online.log_evidence_ == pytest.approx(whole.log_evidence_, rel=1e-9)


def test_dual_weights_and_offset_reproduce_the_prediction_from_the_raw_kernel():
    X, y, X_star = data()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    for fit_intercept in (True, False):
        model = DualLinearRegression(fit_intercept=fit_intercept, standardize=False)
        model.fit(X, y, sample_weight=weight)
        if fit_intercept:
            assert abs(model.dual_coef_.sum()) < 1e-10 * np.abs(model.dual_coef_).sum()
        raw = X_star @ X.T @ model.dual_coef_ + model.intercept_
        np.testing.assert_allclose(raw, model.predict(X_star), rtol=1e-8)
        np.testing.assert_allclose(
            X_star @ model.coef_ + model.intercept_, model.predict(X_star), rtol=1e-8
        )


def test_the_origin_of_the_inputs_does_not_matter_to_the_dual_with_an_offset():
    X, y, X_star = data()
    here = DualLinearRegression().fit(X, y).predict(X_star, return_std=True)
    there = DualLinearRegression().fit(X + 50.0, y).predict(X_star + 50.0, return_std=True)
    for a, b in zip(here, there, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7)
