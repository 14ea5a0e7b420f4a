"""The average over learned variances is that of a brute-force integral over both of them."""

import numpy as np
import pytest
from scipy import stats
from support import simulated_calibration
from support.for_each import for_each

from posterity import BayesianLinearRegression, DualLinearRegression, RidgeRegression, distributions
from posterity.inference.conjugate import AveragedPosterior

QUERIES = np.array([[0.5, -1.0], [2.0, 2.0]])
VALUES = np.array([[-2.0, 3.0], [0.0, 0.0], [0.4, 1.0], [3.0, -4.0]])


def rows(n=7, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) * [1.0, 5.0] + [0.0, 3.0]
    return X, X @ [1.0, 0.3] - 1.0 + 0.7 * rng.normal(size=n)


def integrate_density(X, y, sigma2=None, tau2=None):
    """Predictive densities at VALUES, (4, 2), without an offset: sums over dense normals."""
    spread = np.sqrt(np.mean(X**2, axis=0))
    Z, z = X / spread, QUERIES / spread
    total, norm = 0.0, 0.0
    for u in np.arange(-60.0, 15.0, 0.5):
        prior, ratio = np.exp(0.25 * u - 0.5 * np.logaddexp(0.0, u)), np.exp(u) / 2.0
        noise = np.exp(np.arange(-5.0, 9.0, 0.1)) if sigma2 is None else np.array([sigma2])
        noise = noise if tau2 is None else np.array([tau2 / ratio])
        weight, density = predict_at(Z, z, y, noise, ratio)
        total = total + prior * np.einsum("g,gij->ij", weight, density)
        norm += prior * np.sum(weight)
    return total / norm


def predict_at(Z, z, y, noise, ratio):
    """Evidence of the rows, and densities of new targets, at noise variances (G,)."""
    C, c = np.eye(len(y)) + ratio * Z @ Z.T, ratio * z @ Z.T  # in units of the noise
    mean, squares = c @ np.linalg.solve(C, y), y @ np.linalg.solve(C, y)
    own = 1.0 + ratio * np.sum(z**2, axis=1) - np.sum(c * np.linalg.solve(C, c.T).T, axis=1)
    log_evidence = -0.5 * (np.linalg.slogdet(C)[1] + len(y) * np.log(noise) + squares / noise)
    deviation = np.sqrt(noise[:, None, None] * own)
    return np.exp(log_evidence), stats.norm.pdf(VALUES, mean, deviation)


@for_each("given", [{}, {"noise_variance": 0.4}, {"prior_variance": 2.0}])
def test_predictions_are_those_of_an_integral_over_both_variances(given):
    """Without an offset, whose prior is flat where the noise is integrated out."""
    X, y = rows()
    model = BayesianLinearRegression(fit_intercept=False, **given).fit(X, y)
    dense = integrate_density(X, y, given.get("noise_variance"), given.get("prior_variance"))
    np.testing.assert_allclose(model.predict_dist(QUERIES).pdf(VALUES), dense, rtol=2e-3, atol=1e-5)


def test_an_offset_is_a_column_of_a_weight_with_a_flat_prior():
    """Student-t with one degree of freedom less: against least squares, whose prior is flat too."""
    X, y = rows(n=12)
    ridge = RidgeRegression(1e-12).fit(X, y).predict_dist(QUERIES)
    Z = np.column_stack([np.ones(12), X])
    leverage = 1.0 + np.sum(np.column_stack([np.ones(2), QUERIES]) @ np.linalg.inv(Z.T @ Z)
                            * np.column_stack([np.ones(2), QUERIES]), axis=1)  # fmt: skip
    squares = np.linalg.lstsq(Z, y, rcond=None)[1][0]
    np.testing.assert_allclose(ridge.scale**2, leverage * squares / 11.0, rtol=1e-8)
    assert np.all(ridge.degrees_of_freedom == 11.0)


@for_each("given", [{}, {"noise_variance": 0.4}, {"prior_variance": 2.0}])
def test_joint_moments_and_samples_are_those_of_the_predictions(given):
    X, y = rows(n=12)
    Y = np.column_stack([y, -2.0 * y + X[:, 0] ** 2])
    model = BayesianLinearRegression(**given).fit(X, Y)
    predicted = model.predict_dist(QUERIES)
    mean, std = model.predict(QUERIES, return_std=True)
    np.testing.assert_allclose(predicted.mean(), mean, rtol=1e-10)
    covariance = model.predict_cov(QUERIES)
    np.testing.assert_allclose(np.diagonal(covariance, axis1=1, axis2=2).T, std**2, rtol=1e-10)
    latent = model.predict_dist(QUERIES, noise_variance=0.0)
    drawn = model.sample_functions(QUERIES, 40_000, random_state=0)
    levels = np.array([0.05, 0.3, 0.5, 0.9])
    for level, edge in zip(levels, latent.icdf(levels[:, None, None]), strict=True):
        np.testing.assert_allclose(np.mean(drawn <= edge, axis=0), level, atol=0.01)
    both = np.cov(drawn[:, 0, 0], drawn[:, 1, 0])[0, 1]
    assert both == pytest.approx(covariance[0, 0, 1], rel=0.1)


def test_noise_that_is_given_for_a_query_is_added_to_the_function():
    X, y = rows()
    model = BayesianLinearRegression().fit(X, y)
    function = model.predict_dist(QUERIES, noise_variance=0.0)
    noisy = model.predict_dist(QUERIES, noise_variance=[0.5, 2.0])
    np.testing.assert_allclose(noisy.variance(), np.add(function.variance(), [0.5, 2.0]))
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    shifted = function.cdf(VALUES - np.sqrt([0.5, 2.0]) * nodes[:, None, None])
    dense = np.einsum("g,gij->ij", weights / weights.sum(), shifted)
    np.testing.assert_allclose(noisy.cdf(VALUES), dense, atol=1e-5)


def test_points_that_agree_become_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 3))
    y = X @ [1.0, 2.0, -1.0] + rng.normal(size=5000)
    model = BayesianLinearRegression().fit(X, y)
    assert isinstance(model.predict_dist(X[:2]), distributions.StudentT)
    few = BayesianLinearRegression().fit(X[:20], y[:20])
    assert few.posterior_.n_points == 7
    assert isinstance(few.predict_dist(X[:2]), distributions.Mixture)


def test_constant_columns_leave_a_student_t_about_the_mean():
    y = np.array([1.0, 2.0, 4.0, 1.0])
    predicted = BayesianLinearRegression().fit(np.ones((4, 2)), y).predict_dist([[1.0, 1.0]])
    lower, upper = stats.t.interval(0.9, 3, y.mean(), np.sqrt(y.var(ddof=1) * 1.25))
    np.testing.assert_allclose(np.ravel(predicted.interval(0.9)), [lower, upper])


def test_two_rows_have_intervals_and_no_covariance():
    model = BayesianLinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])
    lower, upper = model.predict_interval([[0.5]])
    assert lower < 0.5 < upper
    assert model.predict([[0.5]], return_std=True)[1] == np.inf
    with pytest.raises(ValueError, match="three rows or fewer have no covariance"):
        model.predict_cov([[0.5]])


def test_given_variances_leave_nothing_to_average_over():
    X, y = rows()
    model = BayesianLinearRegression(noise_variance=1.0, prior_variance=1.0).fit(X, y)
    assert not isinstance(model.posterior_, AveragedPosterior)
    assert isinstance(model.predict_dist(X), distributions.Normal)


@pytest.mark.full
@pytest.mark.parametrize("model", [BayesianLinearRegression(), DualLinearRegression()], ids=repr)
def test_predictions_are_calibrated_where_rows_are_few(model):
    def simulate(rng):
        X = rng.normal(size=(9, 3))
        weights = np.exp(rng.uniform(-1.0, 2.0)) * rng.normal(size=3)
        y = X @ weights + 2.0 + rng.normal(size=9)
        return X[:8], y[:8], X[8:], y[8]

    ranks = simulated_calibration.rank_new_targets(model.fit, simulate, 300)
    assert simulated_calibration.probability_of_uniform(ranks) > 0.01
    assert 0.87 <= simulated_calibration.coverage(ranks) <= 0.93
