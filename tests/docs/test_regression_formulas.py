"""Equations on the pages of regressors are what these compute, letter by letter."""

import numpy as np
import pytest
from docs import formulas
from numpy.testing import assert_allclose
from scipy import optimize, stats
from scipy.special import gammaln

from posterity import (
    BayesianLinearRegression,
    GaussianProcessRegressor,
    KernelRidgeRegression,
    LinearRegression,
    LqRegression,
    RidgeRegression,
    SparseLinearRegression,
    kernels,
    likelihoods,
)

N = 30
ONE = np.ones(N)


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2)) * [1.0, 5.0] + [0.0, 3.0]
    return X, X @ [1.0, 0.3] + 2.0 + 0.5 * rng.normal(size=N)


def test_evidence_of_bayesian_linear_regression(rows):
    X, y = rows
    model = BayesianLinearRegression().fit(X, y)
    Z, tau2, sigma2 = standardised(X), model.prior_variance_, model.noise_variance_
    C = tau2 * Z @ Z.T + y.var() * np.outer(ONE, ONE) + sigma2 * np.eye(N)
    assert_allclose(model.log_evidence_, formulas.log_normal(y, y.mean() * ONE, C), rtol=1e-10)
    formulas.assert_printed(
        "regression",
        r"\bar y,\; \tau^2\mathbf{Z}\mathbf{Z}^T + s_y^2\mathbf{J} + \sigma^2\mathbf{I}",
    )


def test_prediction_of_bayesian_linear_regression(rows):
    X, y = rows
    model = BayesianLinearRegression(hyperparameters="maximise").fit(X, y)
    Z, tau2, sigma2 = standardised(X), model.prior_variance_, model.noise_variance_
    z = (np.array([0.3, 1.0]) - X.mean(axis=0)) / X.std(axis=0)
    A = Z.T @ Z / sigma2 + np.eye(2) / tau2
    mu = np.linalg.solve(A, Z.T @ y) / sigma2
    offset = sigma2 / (N + sigma2 / y.var())
    mean, std = model.predict([[0.3, 1.0]], return_std=True)
    assert_allclose(mean, z @ mu + y.mean())
    assert_allclose(std**2, z @ np.linalg.solve(A, z) + offset + sigma2)
    formulas.assert_printed("regression", r"\frac{\sigma^2}{N + \sigma^2/s_y^2} + \sigma^2")


def test_prediction_averaged_over_the_noise(rows):
    X, y = rows
    model = RidgeRegression(3.0).fit(X, y)
    Z, rho, centred = standardised(X), 1.0 / 3.0, y - y.mean()
    z = (np.array([0.3, 1.0]) - X.mean(axis=0)) / X.std(axis=0)
    Q = centred @ np.linalg.solve(np.eye(N) + rho * Z @ Z.T, centred)
    leverage = 1.0 + 1.0 / N + z @ np.linalg.solve(Z.T @ Z + np.eye(2) / rho, z)
    predicted = model.predict_dist([[0.3, 1.0]])
    assert_allclose(predicted.degrees_of_freedom, N - 1)
    assert_allclose(predicted.scale**2, Q / (N - 1) * leverage)
    formulas.assert_printed("regression", r"\frac{Q_\rho}{N - 1}\left(1 + \frac{1}{N}")


def test_noise_of_ridge_regression(rows):
    X, y = rows
    model = RidgeRegression(3.0, standardize=False).fit(X, y)
    squares = np.sum((y - model.predict(X)) ** 2) + 3.0 * np.sum(model.coef_**2)
    assert_allclose(model.noise_variance_, squares / (N + 2))
    assert_allclose(model.prior_variance_, model.noise_variance_ / 3.0)
    formulas.assert_printed(
        "regression", r"\sigma^2 = (\mathrm{SSE} + \lambda\,\mathbf{w}^T\mathbf{w})/(N + M)"
    )


def test_interval_of_least_squares_is_the_classical_one(rows):
    X, y = rows
    Z, z = np.column_stack([ONE, X]), np.array([1.0, 0.3, 1.0])
    w, squares = np.linalg.lstsq(Z, y, rcond=None)[:2]
    scale = np.sqrt(squares[0] / (N - 3) * (1.0 + z @ np.linalg.solve(Z.T @ Z, z)))
    expected = stats.t(N - 3, loc=z @ w, scale=scale).interval(0.9)
    told = LinearRegression().fit(X, y).predict_interval([[0.3, 1.0]], coverage=0.9)
    assert_allclose(np.ravel(told), expected)


def test_objective_of_powers(rows):
    X, y = rows
    model = LqRegression(2.0, loss_power=1.5, penalty_power=1.0, standardize=False).fit(X, y)
    loss = np.sum(np.abs(y - model.predict(X)) ** 1.5) + 2.0 * np.abs(model.coef_).sum()
    assert_allclose(model.objective_, loss)
    formulas.assert_printed("regression", r"\rvert}^p + \lambda\sum_m {\lvert w_m\rvert}^q")


def test_weights_offset_and_left_out_rows_of_kernel_ridge_regression(rows):
    X, y = rows
    kernel, lam = kernels.RBF(3.0), 0.2
    model = KernelRidgeRegression(kernel, lam).fit(X, y)
    P = np.linalg.inv(kernel(X) + lam * np.eye(N))
    p = P.sum(axis=1)
    b = (p @ y) / p.sum()
    c = P @ (y - b)
    left_out = c / (np.diag(P) - p**2 / p.sum())
    assert_allclose(model.intercept_, b)
    assert_allclose(model.dual_coef_, c, atol=1e-10)
    assert_allclose(model.loo_residuals_, left_out)
    others = KernelRidgeRegression(kernel, lam).fit(X[1:], y[1:])
    assert_allclose(left_out[0], y[0] - others.predict(X[:1])[0])
    formulas.assert_printed("kernels", r"Q_{nn} = P_{nn} - \frac{p_n^2}{\sum_m p_m}")


def test_evidence_prediction_and_left_out_rows_of_a_process(rows):
    X, y = rows
    kernel = kernels.Scaled(kernels.RBF())
    model = GaussianProcessRegressor(kernel, hyperparameters="maximise").fit(X, y)
    K, sigma2 = model.kernel_(X) + y.var() * np.outer(ONE, ONE), model.noise_variance_
    P = np.linalg.inv(K + sigma2 * np.eye(N))
    a = P @ (y - y.mean())
    evidence = formulas.log_normal(y, y.mean() * ONE, K + sigma2 * np.eye(N))
    assert_allclose(model.log_evidence_, evidence, rtol=1e-9)
    told = model.predict_dist([[0.3, 1.0]], noise_variance=0.0)
    k = model.kernel_(X, np.array([[0.3, 1.0]]))[:, 0] + y.var()
    k_star = model.kernel_(np.array([[0.3, 1.0]]))[0, 0] + y.var()
    assert_allclose(told.mean(), k @ a + y.mean())
    assert_allclose(told.variance(), k_star - k @ P @ k, rtol=1e-5)
    others = model.leave_one_out()
    assert_allclose(others.mean(), y - a / np.diag(P), rtol=1e-6)
    assert_allclose(others.variance(), 1.0 / np.diag(P), rtol=1e-6)
    formulas.assert_printed(
        "gaussian_processes", r"the mean is $y_n - a_n/P_{nn}$, the variance $1/P_{nn}$"
    )


def test_bound_of_inducing_points(rows):
    X, y = rows
    kernel = kernels.RBF(3.0).fixed()
    model = GaussianProcessRegressor(kernel, 0.3, mean="zero", inducing_points=X[:6]).fit(X, y)
    Z = np.asarray(model.inducing_points_)
    K_uf, K = kernel(Z, X), kernel(X)
    Q = K_uf.T @ np.linalg.solve(kernel(Z), K_uf)
    bound = formulas.log_normal(y, 0.0 * ONE, Q + 0.3 * np.eye(N)) - np.trace(K - Q) / 0.6
    assert_allclose(model.log_evidence_, bound, rtol=1e-6)
    formulas.assert_printed(
        "gaussian_processes", r"\frac{\mathrm{tr}(\mathbf{K} - \mathbf{Q})}{2\sigma^2}"
    )


def test_laplace_evidence_of_a_process_of_counts(rows):
    X = rows[0]
    y = np.random.default_rng(0).poisson(np.exp(0.5 * X[:, 0])).astype(float)
    kernel = kernels.Scaled(kernels.RBF(2.0), 0.5).fixed()
    model = GaussianProcessRegressor(kernel, likelihood=likelihoods.Poisson(), mean="constant").fit(
        X, y
    )
    b, K = np.log(y.mean()), kernel(X) + max(1.0 / y.mean(), np.var(y) / y.mean() ** 2)
    found = optimize.root(lambda f: f - K @ (y - np.exp(b + f)), np.zeros(N), tol=1e-12)
    a = b + found.x  # at the mode a - b = K d1
    expected = np.exp(model.predict_latent(X).mean() + 0.5 * model.predict_latent(X).variance())
    mean = b + K @ (y - expected)  # and so it is of the nearest normal, with the average d1
    assert_allclose(mean, model.predict_latent(X).mean(), atol=0.01)
    evidence = np.sum(stats.poisson(np.exp(a)).logpmf(y))
    evidence -= 0.5 * (a - b) @ np.linalg.solve(K + 1e-12 * np.eye(N), a - b)
    evidence -= 0.5 * np.linalg.slogdet(np.eye(N) + K * np.exp(a))[1]
    assert_allclose(model.log_evidence_, evidence, rtol=1e-7)
    formulas.assert_printed(
        "likelihoods", r"\tfrac{1}{2}\log\lvert\mathbf{I} + \mathbf{K}\mathbf{W}\rvert"
    )


def test_densities_of_the_likelihoods():
    y, a = np.array([1.0, 2.0, 5.0]), np.array([0.5, 0.1, 1.2])
    t, gamma = likelihoods.StudentT(0.7, 3.0), likelihoods.Gamma(2.5)
    kernel_of_t = -2.0 * np.log1p((y - a) ** 2 / (3.0 * 0.7**2))
    kernel_of_gamma = 1.5 * np.log(y) - 2.5 * (a + y * np.exp(-a))
    assert np.ptp(t.log_prob(y, a) - kernel_of_t) < 1e-12
    assert np.ptp(gamma.log_prob(y, a) - kernel_of_gamma) < 1e-12
    poisson = a * y - np.exp(a) - np.log([1.0, 2.0, 120.0])
    assert_allclose(likelihoods.Poisson().log_prob(y, a), poisson)
    counts, k = likelihoods.NegativeBinomial(2.5), 2.5
    kernel_of_counts = gammaln(y + k) + a * y - (y + k) * np.log(k + np.exp(a)) - gammaln(y + 1.0)
    assert np.ptp(counts.log_prob(y, a) - kernel_of_counts) < 1e-12
    logs = likelihoods.LogNormal(0.3).log_prob(y, a) + (np.log(y) - a) ** 2 / 0.6 + np.log(y)
    assert np.ptp(logs) < 1e-12
    formulas.assert_printed(
        "likelihoods", r"\Gamma(y + \kappa)\, e^{a y}(\kappa + e^a)^{-(y + \kappa)}/y!$"
    )
    formulas.assert_printed("likelihoods", r"$\propto y^{-1} e^{-(\log y - a)^2/2\sigma^2}$")
    formulas.assert_printed("likelihoods", r"$\propto y^{\kappa - 1} e^{-\kappa (a + y e^{-a})}$")
    formulas.assert_printed(
        "likelihoods", r"$\propto \left(1 + (y - a)^2/\nu s^2\right)^{-(\nu + 1)/2}$"
    )


def test_evidence_of_hidden_precisions(rows):
    X, y = rows
    model = SparseLinearRegression().fit(X, y)
    Z = standardised(X)[:, model.relevance_]
    C = model.noise_variance_ * (Z / model.precision_ @ Z.T + np.eye(N))
    C += y.var() * np.outer(ONE, ONE)
    assert model.relevance_.size > 0
    assert_allclose(model.log_evidence_, formulas.log_normal(y, y.mean() * ONE, C), rtol=1e-8)
    formulas.assert_printed(
        "sparse", r"\sigma^2 (\mathbf{Z}\mathbf{H}^{-1}\mathbf{Z}^T + \mathbf{I})"
    )
