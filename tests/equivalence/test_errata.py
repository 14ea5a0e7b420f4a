"""Where the sources are wrong: each printed form is written down and seen to fail."""

import numpy as np
import pytest

from posterity import (
    BayesianLinearRegression,
    DualLinearRegression,
    LinearRegression,
    RidgeRegression,
    features,
)


def data(n=12, m=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    return X, X @ rng.normal(size=m) + 0.3 * rng.normal(size=n), rng.normal(size=(5, m))


def test_the_predictive_mean_does_not_cancel_for_a_wide_prior():
    """[P8 8.14] subtracts two terms of the size of tau2 / sigma2."""
    X, y, X_star = data()
    sigma2, tau2 = 1e-2, 1e14
    K, K_star = X @ X.T, X_star @ X.T
    B = K + sigma2 / tau2 * np.eye(len(y))
    printed = tau2 / sigma2 * (K_star @ y - K_star @ np.linalg.solve(B, K @ y))
    exact = X_star @ np.linalg.solve(X.T @ X, X.T @ y)  # the limit of a wide prior
    model = BayesianLinearRegression(
        prior_variance=tau2, noise_variance=sigma2, fit_intercept=False, standardize=False
    ).fit(X, y)
    np.testing.assert_allclose(model.predict(X_star), exact, rtol=1e-10)
    assert np.abs(printed - exact).max() > 1e-2 * np.abs(exact).max()


def test_the_dual_noise_variance_maximises_the_likelihood_with_log_of_the_variance():
    """[P8 8.44] has I log(sigma) / 2, whose maximum is at twice the variance."""
    X, y, _ = data()
    model = DualLinearRegression(prior="flat", fit_intercept=False).fit(X, y)
    rss, n = np.sum((y - model.predict(X)) ** 2), len(y)
    grid = np.linspace(0.2, 4.0, 100_001) * rss / n
    right = grid[np.argmax(-0.5 * n * np.log(grid) - rss / (2 * grid))]
    printed = grid[np.argmax(-0.5 * n * np.log(np.sqrt(grid)) - rss / (2 * grid))]
    assert model.noise_variance_ == pytest.approx(right, rel=1e-4)
    assert printed == pytest.approx(2.0 * right, rel=1e-3)


def test_dual_least_squares_needs_the_pseudo_inverse():
    """[P8 8.45] inverts X X' (here N x N), which has rank D < N."""
    X, y, _ = data()
    assert np.linalg.matrix_rank(X @ X.T) == 3
    printed = np.linalg.inv(X @ X.T + 0.0) @ y
    exact = np.linalg.pinv(X) @ y
    model = DualLinearRegression(prior="flat", fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, exact, rtol=1e-9)
    assert np.abs(X.T @ printed - exact).max() > 1e-3 * np.abs(exact).max()


def test_the_dual_predictive_mean_is_in_the_targets_seen():
    """[P8 8.51] writes the target to be predicted on the right-hand side."""
    X, y, X_star = data()
    s2, t2 = 0.2, 0.9
    K = X @ X.T
    A = K @ K / s2 + np.eye(len(y)) / t2
    right = X_star @ X.T @ np.linalg.solve(A, K @ y) / s2
    model = DualLinearRegression(prior_variance=t2, noise_variance=s2, fit_intercept=False)
    np.testing.assert_allclose(model.fit(X, y).predict(X_star), right, rtol=1e-8)
    unseen = np.zeros(len(y))  # the printed form with the new targets unknown says nothing
    assert not np.allclose(X_star @ X.T @ np.linalg.solve(A, K @ unseen) / s2, right)


@pytest.mark.parametrize("penalize_intercept", [True, False])
def test_the_noise_of_ridge_counts_the_weights_too(penalize_intercept):
    """[J 21] leaves sigma2 open; [J 15] would divide the residuals by n alone."""
    X, y, _ = data()
    model = RidgeRegression(4.0, penalize_intercept=penalize_intercept, standardize=False).fit(X, y)
    theta = np.append(model.coef_, model.intercept_ if penalize_intercept else [])
    squares = np.sum((y - model.predict(X)) ** 2) + 4.0 * np.sum(theta**2)
    d = len(theta)

    def penalised(s2):  # [J 20], [J 21] up to a constant
        return -0.5 * (len(y) + d) * np.log(s2) - squares / (2.0 * s2)

    grid = np.linspace(0.2, 4.0, 100_001) * squares / len(y)
    assert model.noise_variance_ == pytest.approx(grid[np.argmax(penalised(grid))], rel=1e-4)
    assert model.noise_variance_ != pytest.approx(squares / len(y), rel=1e-2)


def test_radial_width_is_a_length_scale():
    """[P8 8.22] divides by lambda and [P8 8.28] by 2 lambda^2: one convention everywhere."""
    z = features.Radial(centers=[[0.0]], length_scale=2.0).fit([[0.0], [1.0]]).transform([[2.0]])
    assert z[0, 0] == pytest.approx(np.exp(-0.5))
    assert z[0, 0] != pytest.approx(np.exp(-(2.0**2) / 2.0))


def test_plugging_in_the_maximum_likelihood_variance_is_too_narrow():
    X, y, X_star = data()
    plug_in = LinearRegression(predictive="plug_in").fit(X, y).predict(X_star, return_std=True)[1]
    honest = LinearRegression().fit(X, y).predict(X_star, return_std=True)[1]
    assert np.all(honest > plug_in)
