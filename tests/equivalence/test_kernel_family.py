"""Theorems of the kernel family: one model under two names gives one answer."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity import (
    BayesianLinearRegression,
    GaussianProcessRegressor,
    KernelRidgeRegression,
    RidgeRegression,
    kernels,
)

LINEAR = kernels.Linear(1.0)


def data(n=30, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 2.0
    Y = X @ rng.normal(size=(d, 2)) + 5.0 + 0.3 * rng.normal(size=(n, 2))
    return X, Y, rng.normal(size=(7, d))


@for_each("offset", [True, False])
@for_each(("n", "d"), [(30, 4), (6, 15)])
@for_each("penalty", [1e-3, 0.7, 50.0])
def test_kernel_ridge_with_the_linear_kernel_is_ridge(offset, n, d, penalty):
    X, Y, X_star = data(n, d)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, n)
    dual = KernelRidgeRegression(LINEAR, penalty, fit_intercept=offset)
    dual.fit(X, Y, sample_weight=weight)
    primal = RidgeRegression(penalty, fit_intercept=offset, standardize=False)
    primal.fit(X, Y, sample_weight=weight)
    np.testing.assert_allclose(dual.predict(X_star), primal.predict(X_star), rtol=1e-8)
    np.testing.assert_allclose(dual.dual_coef_ @ dual.X_train_, primal.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(dual.intercept_, primal.intercept_, rtol=1e-8)


@for_each("offset", [True, False])
def test_leaving_one_out_of_kernel_ridge_is_leaving_one_out_of_ridge(offset):
    X, Y, _ = data(12, 3)
    dual = KernelRidgeRegression(LINEAR, 0.4, fit_intercept=offset).fit(X, Y)
    primal = RidgeRegression(0.4, fit_intercept=offset, standardize=False)
    refits = [
        primal.fit(np.delete(X, i, 0), np.delete(Y, i, 0)).predict(X[i : i + 1])[0]
        for i in range(len(X))
    ]
    np.testing.assert_allclose(dual.loo_predictions_, refits, rtol=1e-9)


@for_each("noise", [0.01, 0.5])
@for_each("signal", [0.3, 4.0])
def test_kernel_ridge_is_the_mean_of_a_gaussian_process(noise, signal):
    """The penalty is noise over signal variance; a free offset is one of endless prior variance."""
    X, Y, X_star = data(20, 2)
    k = kernels.RBF(1.5)
    y = Y[:, 0]
    C, C_star = signal * k(X) + noise * np.eye(len(X)), signal * k(X_star, X)
    ridge = KernelRidgeRegression(k, noise / signal, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(ridge.predict(X_star), C_star @ np.linalg.solve(C, y), rtol=1e-8)
    ones = np.linalg.solve(C, np.ones(len(X)))
    b = ones @ y / ones.sum()  # generalised least squares, the limit of that prior
    mean = b + C_star @ np.linalg.solve(C, y - b)
    with_offset = KernelRidgeRegression(k, noise / signal).fit(X, y)
    np.testing.assert_allclose(with_offset.predict(X_star), mean, rtol=1e-8)
    assert with_offset.intercept_ == pytest.approx(b, rel=1e-10)


@for_each("noise", [0.01, 0.5])
@for_each("signal", [0.3, 4.0])
def test_the_process_regressor_has_the_mean_of_kernel_ridge(noise, signal):
    X, Y, X_star = data(20, 2)
    k = kernels.RBF(1.5).fixed()
    process = GaussianProcessRegressor((signal * k).fixed(), noise, "zero").fit(X, Y)
    ridge = KernelRidgeRegression(k, noise / signal, fit_intercept=False).fit(X, Y)
    np.testing.assert_allclose(process.predict(X_star), ridge.predict(X_star), rtol=1e-8)


@for_each("offset", [True, False])
@for_each(("n", "d"), [(30, 4), (6, 15)])
def test_bayesian_linear_regression_is_a_process_with_the_linear_kernel(offset, n, d):
    """The offset's prior is that of one row at the centre of the features."""
    X, Y, X_star = data(n, d)
    y, centre = Y[:, 0], X.mean(0) if offset else 0.0
    weights = BayesianLinearRegression(
        prior_variance=0.7, noise_variance=0.2, fit_intercept=offset, standardize=False
    ).fit(X, y)
    mean = "constant" if offset else "zero"
    functions = GaussianProcessRegressor(kernels.Linear(0.7).fixed(), 0.2, mean)
    functions.fit(X - centre, y)
    assert functions.log_evidence_ == pytest.approx(weights.log_evidence_, rel=1e-10)
    for a, b in zip(
        functions.predict(X_star - centre, return_std=True),
        weights.predict(X_star, return_std=True),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, rtol=1e-8)


@for_each("known", [False, True])
def test_weights_and_functions_learn_the_same_variances(known):
    X, Y, _ = data(30, 4)
    y, centre = Y[:, 0], X.mean(0)
    noise = np.random.default_rng(3).uniform(0.05, 0.2, 30) if known else None
    if known:
        centre = np.average(X, axis=0, weights=1.0 / noise)
    weights = BayesianLinearRegression(standardize=False).fit(X, y, noise_variance=noise)
    functions = GaussianProcessRegressor(kernels.Linear())
    functions.fit(X - centre, y, noise_variance=noise)
    # But for the prior of the noise, which is worth one row.
    assert functions.log_evidence_ == pytest.approx(weights.log_evidence_, abs=2e-2)
    assert functions.kernel_.variance == pytest.approx(weights.prior_variance_, rel=0.05)
    assert functions.noise_variance_ == pytest.approx(weights.noise_variance_, rel=0.1)


def test_equal_lengths_are_one_length():
    X, Y, X_star = data(25, 3)
    one, each = (
        GaussianProcessRegressor((2.0 * kernels.RBF(l)).fixed(), 0.2).fit(X, Y)
        for l in (1.7, [1.7, 1.7, 1.7])
    )
    assert one.log_evidence_ == pytest.approx(each.log_evidence_, rel=1e-12)
    for a, b in zip(
        one.predict(X_star, return_std=True), each.predict(X_star, return_std=True), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-10)


@for_each("options", [{"mean": "zero"}, {"normalize_y": True}])
def test_outputs_together_are_outputs_alone_where_nothing_is_learned(options):
    X, Y, X_star = data(25, 3)
    model = GaussianProcessRegressor((2.0 * kernels.RBF(1.7)).fixed(), 0.2, **options)
    together = model.fit(X, Y * [1.0, 30.0])
    mean, std = together.predict(X_star, return_std=True)
    total = together.log_evidence_
    loo = together.leave_one_out().mean()
    for k, scale in enumerate((1.0, 30.0)):
        alone = model.fit(X, Y[:, k] * scale)
        mean_alone, std_alone = alone.predict(X_star, return_std=True)
        np.testing.assert_allclose(mean[:, k], mean_alone, rtol=1e-9)
        np.testing.assert_allclose(std[:, k], std_alone, rtol=1e-9)
        np.testing.assert_allclose(loo[:, k], alone.leave_one_out().mean(), rtol=1e-9)
        total -= alone.log_evidence_
    assert total == pytest.approx(0.0, abs=1e-8)


def test_a_linear_mean_is_a_linear_kernel_about_the_centre():
    X, Y, X_star = data(25, 3)
    y = Y[:, 0]
    centre, slopes = X.mean(0), y.var() / X.var(0)
    rbf = 2.0 * kernels.RBF(1.7)
    implied = GaussianProcessRegressor(rbf.fixed(), 0.2, "linear").fit(X, y)
    spelt_out = GaussianProcessRegressor((rbf + kernels.Linear(slopes)).fixed(), 0.2, "constant")
    spelt_out.fit(X - centre, y)
    assert implied.log_evidence_ == pytest.approx(spelt_out.log_evidence_, rel=1e-10)
    np.testing.assert_allclose(implied.predict(X_star), spelt_out.predict(X_star - centre))


def test_noise_is_a_white_kernel():
    X, Y, _ = data(25, 3)
    y, rbf = Y[:, 0], 2.0 * kernels.RBF(1.7)
    noise = GaussianProcessRegressor(rbf.fixed(), 0.5).fit(X, y)
    white = GaussianProcessRegressor((rbf + kernels.White(0.4)).fixed(), 0.1).fit(X, y)
    assert noise.log_evidence_ == pytest.approx(white.log_evidence_, rel=1e-12)
    np.testing.assert_allclose(noise.predict(X), white.predict(X))
    np.testing.assert_allclose(
        noise.predict(X, return_std=True)[1], white.predict(X, return_std=True)[1]
    )
