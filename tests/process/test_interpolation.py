"""Noise-free functions, as of simulators: interpolated without a warning, with an honest band."""

import numpy as np
import pytest
from scipy.stats import qmc
from support.for_each import for_each

from posterity import GaussianProcessRegressor, kernels


def branin(X):
    x, y = 15.0 * X[:, 0] - 5.0, 15.0 * X[:, 1]
    curve = (y - 5.1 * x**2 / (4.0 * np.pi**2) + 5.0 * x / np.pi - 6.0) ** 2
    return curve + 10.0 * (1.0 - 1.0 / (8.0 * np.pi)) * np.cos(x) + 10.0


FUNCTIONS = {
    "sine": (1, lambda X: np.sin(6.0 * X[:, 0])),
    "fast cosine": (1, lambda X: np.cos(18.0 * X[:, 0])),
    "exponential": (1, lambda X: 1e3 * np.exp(3.0 * X[:, 0])),
    "step": (1, lambda X: np.tanh(10.0 * (X[:, 0] - 0.5))),
    "line": (1, lambda X: 1e-6 * (3.0 * X[:, 0] + 1.0)),
    "plane": (3, lambda X: X @ [1.0, 2.0, 3.0]),
    "branin": (2, branin),
}
KERNELS = {
    "default": None,
    "RBF": kernels.Scaled(kernels.RBF()),
    "Matern": kernels.Scaled(kernels.Matern(ard=True)),
}
each_function = pytest.mark.parametrize("name", FUNCTIONS)


def design(name, n):
    D, function = FUNCTIONS[name]
    X = np.linspace(0.0, 1.0, n)[:, None] if D == 1 else qmc.Halton(D, seed=0).random(n)
    return X, function(X), function


@pytest.mark.full(but=2)
@for_each("n", [10, 25, 80])
@for_each("kernel", KERNELS.values(), ids=KERNELS)
@each_function
def test_smooth_functions_are_interpolated_without_a_warning(name, kernel, n):
    X, y, _ = design(name, n)
    model = GaussianProcessRegressor(kernel, noise_variance=0.0).fit(X, y)
    assert np.max(np.abs(model.predict(X) - y)) < 1e-3 * y.std()
    assert model.noise_variance_ == 0.0
    mean_variance = np.mean(model.posterior_.kernel.diag(X))
    assert model.jitter_ == pytest.approx(1e-10 * mean_variance)


@pytest.mark.full(but=2)
@each_function
def test_between_rows_the_band_holds_the_function(name):
    X, y, function = design(name, 80)
    model = GaussianProcessRegressor(noise_variance=0.0).fit(X, y)
    X_new = np.random.default_rng(1).random((300, X.shape[1]))
    mean, std = model.predict(X_new, return_std=True)
    error = mean - function(X_new)
    assert np.sqrt(np.mean(error**2)) < 1e-3 * y.std()
    assert np.sqrt(np.mean((error / std) ** 2)) < 1.5


def test_further_rows_are_interpolated_too():
    X, y, _ = design("sine", 40)
    model = GaussianProcessRegressor(noise_variance=0.0).fit(X[::2], y[::2])
    model.partial_fit(X[1::2], y[1::2])
    np.testing.assert_allclose(model.predict(X), y, atol=1e-3)
