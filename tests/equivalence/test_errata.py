"""Where the sources are wrong: each printed form is written down and seen to fail."""

import numpy as np
import pytest
import sparse_support
from scipy import integrate
from support.for_each import for_each

from posterity import (
    BayesianLinearRegression,
    DualLinearRegression,
    LinearRegression,
    RidgeRegression,
    designs,
    features,
    likelihoods,
    priors,
)
from posterity.inference.weights.targets import RowTargets


def data(n=12, m=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    return X, X @ rng.normal(size=m) + 0.3 * rng.normal(size=n), rng.normal(size=(5, m))


def test_the_predictive_mean_does_not_cancel_for_a_wide_prior():
    """[P8 8.14] subtracts two terms of the size of tau2 / sigma2."""
    X, y, X_star = data()
    sigma2, tau2 = 1e-2, 1e10
    K, K_star = X @ X.T, X_star @ X.T
    B = K + sigma2 / tau2 * np.eye(len(y))
    printed = tau2 / sigma2 * (K_star @ y - K_star @ np.linalg.solve(B, K @ y))
    exact = X_star @ np.linalg.solve(X.T @ X, X.T @ y)  # the limit of a wide prior
    model = BayesianLinearRegression(
        prior_variance=tau2, noise_variance=sigma2, fit_intercept=False, standardize=False
    ).fit(X, y)
    np.testing.assert_allclose(model.predict(X_star), exact, rtol=1e-10)
    assert np.abs(printed - exact).max() > 1e-7 * np.abs(exact).max()  # about 1e-16 tau2 / sigma2


def test_the_dual_noise_variance_maximises_the_likelihood_with_log_of_the_variance():
    """[P8 8.44] has I log(sigma) / 2, whose maximum is at twice the variance."""
    X, y, _ = data()
    model = DualLinearRegression(prior=priors.Flat(), fit_intercept=False).fit(X, y)
    rss, n = np.sum((y - model.predict(X)) ** 2), len(y)
    grid = np.linspace(0.2, 4.0, 100_001) * rss / n
    right = grid[np.argmax(-0.5 * n * np.log(grid) - rss / (2 * grid))]
    printed = grid[np.argmax(-0.5 * n * np.log(np.sqrt(grid)) - rss / (2 * grid))]
    assert model.noise_variance_ == pytest.approx(right, rel=1e-4)
    assert printed == pytest.approx(2.0 * right, rel=1e-3)


def test_dual_least_squares_needs_the_pseudo_inverse():
    """[P8 8.45] inverts X X' (here N x N), which has rank D < N."""
    X, y, _ = data()
    assert np.linalg.matrix_rank(X @ X.T) == 3 < len(X)  # it has no inverse
    model = DualLinearRegression(prior=priors.Flat(), fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, X.T @ np.linalg.pinv(X @ X.T) @ y, rtol=1e-9)


def test_the_dual_predictive_mean_is_in_the_targets_seen():
    """[P8 8.51] writes the target to be predicted on the right-hand side."""
    X, y, X_star = data()
    s2, t2 = 0.2, 0.9
    K = X @ X.T
    A = K @ K / s2 + np.eye(len(y)) / t2
    right = X_star @ X.T @ np.linalg.solve(A, K @ y) / s2
    model = DualLinearRegression(
        prior_variance=t2, noise_variance=s2, fit_intercept=False, standardize=False
    )
    np.testing.assert_allclose(model.fit(X, y).predict(X_star), right, rtol=1e-8)
    unseen = np.zeros(len(y))  # the printed form with the new targets unknown says nothing
    assert not np.allclose(X_star @ X.T @ np.linalg.solve(A, K @ unseen) / s2, right)


@for_each("penalize_intercept", [True, False])
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


def sparse(Z, y, nu=0.0):
    """Columns kept, in normal noise that is learned, without an offset."""
    columns = designs.CandidateColumns.from_columns(designs.MatrixColumnSource(Z), centred=False)
    return sparse_support.alternate_normal(
        columns,
        y[:, None],
        centred=False,
        prior=priors.Sparse(nu),
        tol=1e-12,
        max_iter=20_000,
    )


def posterior(Z, y, found):
    """Noise variance at its best, and mean and covariance of the weights kept."""
    X = Z[:, found.places] / found.scale
    S = np.linalg.inv(X.T @ X + np.diag(found.precision))
    mu = S @ X.T @ y
    sigma2 = (y @ y - y @ X @ mu) / len(y)
    return X, sigma2, mu, sigma2 * S


def test_the_noise_of_a_sparse_model_counts_examples_not_dimensions():
    """[P8 8.39] divides by D less what the data determine; it is I, as in [P8 8.56]."""
    X, y, _ = data(n=40, m=6)
    Z, sigma2, mu, Sigma = posterior(X, y, sparse(X, y))
    h = sparse(X, y).precision / sigma2
    told, rss = np.sum(1.0 - h * np.diagonal(Sigma)), np.sum((y - Z @ mu) ** 2)

    def log_evidence(s2):  # [P8 8.34] at these hidden variables
        C = s2 * np.eye(len(y)) + (Z / h) @ Z.T
        return -0.5 * (np.linalg.slogdet(C)[1] + y @ np.linalg.solve(C, y))

    grid = sigma2 * np.linspace(0.5, 2.0, 1501)
    best = grid[np.argmax([log_evidence(s2) for s2 in grid])]
    assert sigma2 == pytest.approx(best, rel=2e-3)
    assert sigma2 == pytest.approx(rss / (len(y) - told), rel=1e-5)
    assert rss / (X.shape[1] - told) > 5.0 * sigma2  # as printed


@for_each("likelihood", ["normal", "bernoulli"])
def test_a_dual_sparse_model_has_a_hidden_variable_for_each_example(likelihood):
    """[P8 8.54] and [P9 9.35] multiply the priors of D of them, here of one."""
    nu, x = 1.0, np.linspace(-3.0, 3.0, 30)
    K = np.exp(-0.5 * np.subtract.outer(x, x) ** 2 / 0.5**2)
    if likelihood == "normal":
        y = np.sin(2.0 * x) + 0.1 * np.random.default_rng(0).normal(size=30)
        found = sparse(K, y, nu)
        Z, sigma2, _, _ = posterior(K, y, found)
        C = sigma2 * (np.eye(30) + (Z / found.precision) @ Z.T)
        log_det = np.linalg.slogdet(2.0 * np.pi * C)[1]
        log_evidence = -0.5 * (log_det + y @ np.linalg.solve(C, y))
    else:
        y = (np.sin(2.0 * x) > 0.0).astype(float)
        targets = RowTargets.from_observations(y, None, likelihoods.Bernoulli(), offset=False)
        columns = designs.CandidateColumns.from_columns(
            designs.MatrixColumnSource(K), centred=False
        )
        found, fit = sparse_support.alternate_laplace(
            columns, targets, offset=False, prior=priors.Sparse(nu)
        )
        log_evidence = fit.log_evidence
    h = found.precision
    each = 0.5 * nu * (np.log(h) - h + 1.0)
    assert len(h) > 1  # of one dimension
    assert found.value == pytest.approx(log_evidence + np.sum(each), rel=1e-8)
    assert abs(found.value - log_evidence - each[0]) > 0.1  # as printed


def test_the_constants_of_laplaces_evidence_stand_outside_the_product_over_examples():
    """[P9 9.38] raises them to the power I."""
    x = np.linspace(-2.0, 2.0, 40)
    y = (x + 0.8 * np.sin(9.0 * x) > 0.0).astype(float)
    targets = RowTargets.from_observations(y, None, likelihoods.Bernoulli(), offset=False)
    columns = designs.CandidateColumns.from_columns(
        designs.MatrixColumnSource(x[:, None]), centred=False
    )
    found, fit = sparse_support.alternate_laplace(
        columns, targets, offset=False, prior=priors.Sparse()
    )
    z, h = x / found.scale[0], found.precision[0]

    def log_joint(w):
        rows = np.where(y > 0.0, w * z, -w * z)
        return -np.sum(np.log1p(np.exp(-rows))) + 0.5 * np.log(h / (2 * np.pi)) - 0.5 * h * w * w

    mu, variance = float(fit.weights.W[0, 0]), float(fit.covariance[0, 0, 0, 0])
    peak, width = log_joint(mu), 12.0 * np.sqrt(variance)
    area = integrate.quad(lambda w: np.exp(log_joint(w) - peak), mu - width, mu + width)[0]
    exact = peak + np.log(area)
    prior = 0.5 * np.log(h / (2.0 * np.pi)) - 0.5 * h * mu * mu
    constants = 0.5 * np.log(2.0 * np.pi * variance) + prior
    assert fit.log_evidence == pytest.approx(exact, abs=0.05)
    printed = peak - prior + len(y) * constants
    assert abs(printed - exact) > 10.0


def test_what_is_kept_does_not_depend_on_units():
    """[P8 8.6], [P9 9.6] discard h > 1000, which is all or nothing by choice of units."""
    X, y, _ = data(n=40, m=6)
    kept, raw = [], []
    for unit in (1.0, 1e-4, 1e4):
        found = sparse(unit * X, y)
        _, sigma2, _, _ = posterior(unit * X, y, found)
        kept.append(found.places)
        raw.append(found.precision * found.scale**2 / sigma2)  # of weights of the columns given
    np.testing.assert_array_equal(kept[0], kept[1])
    np.testing.assert_array_equal(kept[0], kept[2])
    assert np.all(raw[1] < 1000.0)
    assert np.all(raw[2] > 1000.0)
