"""The variance contract: predictive variances do not depend on units, route or repetition."""

import numpy as np
import oracles
import pytest
from scipy import stats
from sklearn.base import clone
from support.for_each import for_each

from posterity import BayesianLinearRegression, LinearRegression, RidgeRegression

MODELS = [BayesianLinearRegression(), LinearRegression(), RidgeRegression(2.0)]


def data(n=30, m=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) * [1.0, 5.0, 0.2, 3.0][:m]
    y = X @ rng.normal(size=m) + rng.normal(size=n) + 2.0
    return X, y, rng.normal(size=(6, m)) * 4.0


def moments(model, X, y, X_star):
    return clone(model).fit(X, y).predict(X_star, return_std=True)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_shifting_and_scaling_inputs_changes_nothing(model):
    X, y, X_star = data()
    a, b = np.array([1e3, -2.0, 1e-4, 7.0]), np.array([1e4, 5.0, -3.0, 0.0])
    mean, std = moments(model, X, y, X_star)
    mean2, std2 = moments(model, X * a + b, y, X_star * a + b)
    np.testing.assert_allclose(mean2, mean, rtol=1e-8)
    np.testing.assert_allclose(std2, std, rtol=1e-8)


@for_each("model", MODELS, ids=repr)
@for_each(("a", "b"), [(1e-6, 0.0), (1e8, 3.0), (-2.0, 1e6)])
def test_shifting_and_scaling_targets_shifts_and_scales_predictions(model, a, b):
    X, y, X_star = data()
    mean, std = moments(model, X, y, X_star)
    mean2, std2 = moments(model, X, a * y + b, X_star)
    np.testing.assert_allclose((mean2 - b) / a, mean, rtol=1e-7)
    np.testing.assert_allclose(std2 / abs(a), std, rtol=1e-7)


def test_evidence_is_a_density_of_the_targets():
    X, y, _ = data()
    model = BayesianLinearRegression()
    at = model.fit(X, y).log_evidence_
    scaled = model.fit(X, 10.0 * y + 3.0).log_evidence_
    assert scaled == pytest.approx(at - len(y) * np.log(10.0), rel=1e-10)


def test_rotating_the_features_changes_nothing_without_standardising():
    X, y, X_star = data()
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    model = BayesianLinearRegression(standardize=False)
    mean, std = moments(model, X, y, X_star)
    mean2, std2 = moments(model, X @ Q, y, X_star @ Q)
    np.testing.assert_allclose(mean2, mean, rtol=1e-8)
    np.testing.assert_allclose(std2, std, rtol=1e-8)


def test_more_features_than_rows_equals_the_same_model_padded_to_a_square():
    """Columns of zeros add weights that nothing depends on: N < D must agree with N > D."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(10, 4)), rng.normal(size=10)
    wide = np.hstack([X, np.zeros((10, 30))])
    model = BayesianLinearRegression(prior_variance=0.5, noise_variance=0.3, standardize=False)
    tall = model.fit(X, y)
    at, mean, std = tall.log_evidence_, *tall.predict(X, return_std=True)
    padded = model.fit(wide, y)
    assert padded.log_evidence_ == pytest.approx(at, rel=1e-12)
    mean2, std2 = padded.predict(wide, return_std=True)
    np.testing.assert_allclose(mean2, mean, rtol=1e-10)
    np.testing.assert_allclose(std2, std, rtol=1e-10)


@for_each("m", [2, 80])
def test_variance_grows_away_from_the_rows_and_never_below_the_noise(m):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(30, m)), rng.normal(size=30)
    model = BayesianLinearRegression(prior_variance=1.0, noise_variance=0.5).fit(X, y)
    ray = rng.normal(size=m)
    std = model.predict(np.outer(np.linspace(0.0, 50.0, 20), ray), return_std=True)[1]
    assert np.all(np.diff(std) > 0.0)
    assert np.all(std**2 > 0.5)


def test_least_squares_intervals_are_the_classical_ones():
    X, y, X_star = data()
    model = LinearRegression().fit(X, y)
    A = np.column_stack([np.ones(len(X)), X])
    A_star = np.column_stack([np.ones(len(X_star)), X_star])
    beta, rss, *_ = np.linalg.lstsq(A, y, rcond=None)
    df = len(y) - 5
    h = np.sum(A_star * np.linalg.solve(A.T @ A, A_star.T).T, axis=1)
    half = stats.t(df).ppf(0.95) * np.sqrt(rss[0] / df * (1.0 + h))
    lower, upper = model.predict_interval(X_star, coverage=0.9)
    np.testing.assert_allclose(lower, A_star @ beta - half, rtol=1e-9)
    np.testing.assert_allclose(upper, A_star @ beta + half, rtol=1e-9)
    function = model.predict_dist(X_star, noise_variance=0.0)
    np.testing.assert_allclose(function.scale, np.sqrt(rss[0] / df * h), rtol=1e-9)


def test_known_noise_is_generalised_least_squares():
    X, y, X_star = data()
    v = np.linspace(0.1, 4.0, len(y))
    model = LinearRegression().fit(X, y, noise_variance=v)
    A = np.column_stack([np.ones(len(X)), X])
    A_star = np.column_stack([np.ones(len(X_star)), X_star])
    S = np.linalg.inv(A.T @ (A / v[:, None]))
    mean, std = model.predict(X_star, return_std=True)
    np.testing.assert_allclose(mean, A_star @ S @ A.T @ (y / v), rtol=1e-9)
    expected = np.sum(A_star @ S * A_star, axis=1) + v.mean()
    np.testing.assert_allclose(std**2, expected, rtol=1e-9)
    told = model.predict_dist(X_star, noise_variance=np.arange(6.0)).variance()
    np.testing.assert_allclose(told, expected - v.mean() + np.arange(6.0), rtol=1e-9)


def test_the_covariance_has_the_variances_on_its_diagonal():
    X, y, X_star = data()
    model = BayesianLinearRegression().fit(X, np.column_stack([y, y**2]))
    mean, C = model.predict(X_star, return_cov=True)
    std = model.predict(X_star, return_std=True)[1]
    assert C.shape == (2, 6, 6)
    np.testing.assert_allclose(np.diagonal(C, axis1=1, axis2=2).T, std**2, rtol=1e-10)
    np.testing.assert_allclose(mean, model.predict(X_star))


@pytest.mark.parametrize("model", [BayesianLinearRegression(), RidgeRegression(2.0)], ids=repr)
def test_known_noise_merges_like_everything_else(model):
    X, y, X_star = data()
    v = np.linspace(0.1, 4.0, len(y))
    whole = clone(model).fit(X, y, noise_variance=v)
    parts = clone(model).fit(X[:9], y[:9], noise_variance=v[:9])
    parts.partial_fit(X[9:], y[9:], noise_variance=v[9:])
    assert parts.log_evidence_ == pytest.approx(whole.log_evidence_, rel=1e-10)
    assert parts.noise_variance_ == whole.noise_variance_ == pytest.approx(v.mean())
    for a, b in zip(
        parts.predict(X_star, return_std=True), whole.predict(X_star, return_std=True), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_known_noise_is_that_of_the_dense_posterior():
    X, y, X_star = data()
    v = np.linspace(0.1, 4.0, len(y))
    model = BayesianLinearRegression(hyperparameters="maximise")
    model.fit(X, y, noise_variance=v)
    mean, cov, evidence = oracles.dense_posterior(
        X, y, v, model.prior_variance_, offset=True, X_star=X_star, standardize=True
    )
    f = model.predict_dist(X_star, noise_variance=0.0)
    np.testing.assert_allclose(f.mean(), mean, rtol=1e-9)
    np.testing.assert_allclose(f.variance(), np.diag(cov), rtol=1e-8)
    assert model.log_evidence_ == pytest.approx(evidence, rel=1e-10)


def test_known_noise_with_ridge_is_a_prior_variance_of_one_over_the_penalty():
    X, y, X_star = data()
    v = np.linspace(0.1, 4.0, len(y))
    ridge = RidgeRegression(2.0).fit(X, y, noise_variance=v)
    bayes = BayesianLinearRegression(prior_variance=0.5).fit(X, y, noise_variance=v)
    np.testing.assert_allclose(ridge.predict(X_star), bayes.predict(X_star), rtol=1e-10)
    assert ridge.log_evidence_ == pytest.approx(bayes.log_evidence_)


def test_noise_at_the_queries_must_be_a_variance():
    X, y, X_star = data()
    model = BayesianLinearRegression().fit(X, y)
    for bad in (-1.0, np.nan, np.ones(2)):
        with pytest.raises(ValueError, match="one finite number >= 0"):
            model.predict_dist(X_star, noise_variance=bad)
