"""Truths drawn from the prior of a model, with few rows of each: what ``few_rows`` measures.

Noise has unit variance, and columns are standardised over the rows of the fit, as the prior of the
estimators takes them. Hyperparameters are log-uniform over the ranges below. The truth of a sparse
model has few columns that matter; those of trees and of stages are a tree and a sum of units.

Each draw has an oracle: the prediction of the posterior whose hyperparameters are the true ones
(of a sparse model, also the columns that matter), exact or as the estimator approximates it. For
latent variables, trees and stages it is the true distribution. Rows of one class only are drawn
again: what depends on the rows alone does not change the posterior.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.cases import Array
from posterity import distributions, kernels, likelihoods
from posterity.linear import (
    BayesianLinearRegression,
    BayesianLogisticRegression,
    DualLinearRegression,
    GammaRegression,
    GeneralizedLinearRegression,
    RobustRegression,
)
from posterity.process import (
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelLogisticRegression,
)

NEW_ROWS = 20
SIGNAL = (0.3, 10.0)  # deviation of the function, in those of the noise
LENGTH_SCALE = (0.3, 3.0)  # in deviations of a column
CURVED, CLEAR = (1.0, 3.0), (3.0, 10.0)  # length scale and signal of functions of latent points
LOG_SIGNAL = (0.1, 1.5)  # deviation of the log of a mean
LATENT = (0.5, 5.0)  # deviation of the latent function of two classes
OFFSET = 2.0  # deviation of its offset, for shares of classes from rare to common
SHAPE = (0.5, 20.0)  # of gamma noise
DEGREES_OF_FREEDOM = (2.5, 30.0)  # of Student-t noise
SIZE_OF_LEAVES = 0.2  # least share of the rows on a side of a split

Rng = np.random.Generator


@dataclass(frozen=True)
class Drawn:
    """Rows of one truth, new rows, and the best prediction that can be had of these."""

    X: Array
    y: Array
    X_new: Array
    y_new: Array  # of classes: the true probability of the second
    oracle: Callable[[], distributions.Univariate]


def log_uniform(rng: Rng, ends: tuple[float, float]) -> float:
    """One value, its log uniform between the ends."""
    return float(np.exp(rng.uniform(*np.log(ends))))


def draw_columns(rng: Rng, n: int, columns: int) -> tuple[Array, Array]:
    """Normal columns of n rows and of new ones, standardised over the first n."""
    X = rng.standard_normal((n + NEW_ROWS, columns))
    X = (X - X[:n].mean(axis=0)) / X[:n].std(axis=0)
    return X[:n], X[n:]


def predict_with(model: Any, X: Array, y: Array, X_new: Array) -> distributions.Univariate:
    """The prediction of a model that is told the hyperparameters."""
    return model.fit(X, y).predict_dist(X_new)


def _noisy(rng: Rng, f: Array) -> Array:
    return f + rng.standard_normal(len(f))


def linear(rng: Rng, n: int, columns: int) -> Drawn:
    """Normal weights of all columns, normal noise."""
    X, X_new = draw_columns(rng, n, columns)
    variance = log_uniform(rng, SIGNAL) ** 2 / columns
    w = np.sqrt(variance) * rng.standard_normal(columns)
    y, y_new = _noisy(rng, X @ w), _noisy(rng, X_new @ w)
    model = BayesianLinearRegression(prior_variance=variance, noise_variance=1.0)
    return Drawn(X, y, X_new, y_new, lambda: predict_with(model, X, y, X_new))


def dual(rng: Rng, n: int) -> Drawn:
    """Normal weights of rows, three columns."""
    X, X_new = draw_columns(rng, n, 3)
    variance = log_uniform(rng, SIGNAL) ** 2 / np.mean(np.sum((X @ X.T) ** 2, axis=1))
    w = X.T @ (np.sqrt(variance) * rng.standard_normal(n))
    y, y_new = _noisy(rng, X @ w), _noisy(rng, X_new @ w)
    model = DualLinearRegression(prior_variance=variance, noise_variance=1.0)
    return Drawn(X, y, X_new, y_new, lambda: predict_with(model, X, y, X_new))


def sparse(rng: Rng, n: int) -> Drawn:
    """Ten columns, of which three have a weight."""
    X, X_new = draw_columns(rng, n, 10)
    variance = log_uniform(rng, SIGNAL) ** 2 / 3.0
    w = np.sqrt(variance) * rng.standard_normal(3)
    y, y_new = _noisy(rng, X[:, :3] @ w), _noisy(rng, X_new[:, :3] @ w)
    model = BayesianLinearRegression(prior_variance=variance, noise_variance=1.0)
    return Drawn(X, y, X_new, y_new, lambda: predict_with(model, X[:, :3], y, X_new[:, :3]))


def _draw_log_mean(rng: Rng, n: int) -> tuple[Array, Array, Array, float]:
    """Columns, new ones, the log of all means, and the variance of the weights."""
    X, X_new = draw_columns(rng, n, 3)
    variance = log_uniform(rng, LOG_SIGNAL) ** 2 / 3.0
    w = np.sqrt(variance) * rng.standard_normal(3)
    return X, X_new, rng.standard_normal() + np.concatenate([X, X_new]) @ w, variance


def gamma(rng: Rng, n: int) -> Drawn:
    """Positive targets, the log of the mean linear in three columns."""
    X, X_new, a, variance = _draw_log_mean(rng, n)
    shape = log_uniform(rng, SHAPE)
    y = np.maximum(rng.gamma(shape, np.exp(a) / shape), 1e-12)
    model = GammaRegression(shape=shape, prior_variance=variance)
    return Drawn(X, y[:n], X_new, y[n:], lambda: predict_with(model, X, y[:n], X_new))


def counts(rng: Rng, n: int) -> Drawn:
    """Counts, the log of the rate linear in three columns."""
    X, X_new, a, variance = _draw_log_mean(rng, n)
    y = rng.poisson(np.exp(a)).astype(np.float64)
    if not y[:n].any():
        return counts(rng, n)
    model = GeneralizedLinearRegression(likelihoods.Poisson(), prior_variance=variance)
    return Drawn(X, y[:n], X_new, y[n:], lambda: predict_with(model, X, y[:n], X_new))


def robust(rng: Rng, n: int) -> Drawn:
    """Three columns, noise of unit scale with heavy tails."""
    X, X_new = draw_columns(rng, n, 3)
    variance, nu = log_uniform(rng, SIGNAL) ** 2 / 3.0, log_uniform(rng, DEGREES_OF_FREEDOM)
    w = np.sqrt(variance) * rng.standard_normal(3)
    y = X @ w + rng.standard_t(nu, n)
    y_new = X_new @ w + rng.standard_t(nu, NEW_ROWS)
    model = RobustRegression(degrees_of_freedom=nu, scale=1.0, prior_variance=variance)
    return Drawn(X, y, X_new, y_new, lambda: predict_with(model, X, y, X_new))


def _draw_uniform(rng: Rng, n: int, columns: int) -> Array:
    """Columns that are uniform with unit variance, of n rows and of new ones."""
    return rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), size=(n + NEW_ROWS, columns))


def _draw_process(rng: Rng, kernel: kernels.Kernel, X: Array) -> Array:
    K = np.asarray(kernel(X, X))
    L = np.linalg.cholesky(K + 1e-9 * K[0, 0] * np.eye(len(X)))
    return np.asarray(L @ rng.standard_normal(len(X)))


def _draw_kernel(rng: Rng, columns: int, deviation: tuple[float, float]) -> kernels.Kernel:
    """A scaled RBF with a length scale for each column, all of it fixed."""
    scales = tuple(log_uniform(rng, LENGTH_SCALE) for _ in range(columns))
    return kernels.Scaled(kernels.RBF(scales), log_uniform(rng, deviation) ** 2).fixed()


def process(rng: Rng, n: int, columns: int) -> Drawn:
    """A draw of a Gaussian process with an RBF kernel, normal noise."""
    X, kernel = _draw_uniform(rng, n, columns), _draw_kernel(rng, columns, SIGNAL)
    y = _noisy(rng, _draw_process(rng, kernel, X))
    model = GaussianProcessRegressor(kernel, noise_variance=1.0)
    return Drawn(X[:n], y[:n], X[n:], y[n:], lambda: predict_with(model, X[:n], y[:n], X[n:]))


def _draw_vectors(
    rng: Rng, n: int, columns: int, deviation: tuple[float, float]
) -> tuple[Array, Array, Array, float]:
    """Rows, kernel columns of a few of the first n, the function, and the variance of a weight."""
    X = _draw_uniform(rng, n, columns)
    few = rng.choice(n, size=int(rng.integers(1, 1 + min(5, n // 2))), replace=False)
    K = np.asarray(kernels.RBF(log_uniform(rng, LENGTH_SCALE))(X, X[few]))
    variance = log_uniform(rng, deviation) ** 2 / np.mean(np.sum(K[:n] ** 2, axis=1))
    return X, K, K @ (np.sqrt(variance) * rng.standard_normal(len(few))), variance


def vectors(rng: Rng, n: int) -> Drawn:
    """A sum of RBFs about one to five of the rows, one column, normal noise."""
    X, K, f, variance = _draw_vectors(rng, n, 1, SIGNAL)
    y = _noisy(rng, f)
    model = BayesianLinearRegression(prior_variance=variance, noise_variance=1.0, standardize=False)
    return Drawn(X[:n], y[:n], X[n:], y[n:], lambda: predict_with(model, K[:n], y[:n], K[n:]))


def latent(rng: Rng, n: int) -> Drawn:
    """Six columns, smooth functions of one coordinate; of new rows three are hidden.

    Targets are the hidden values, and the rows of the fit have none.
    """
    z = rng.standard_normal((n + NEW_ROWS, 1))
    length, deviation = log_uniform(rng, CURVED), log_uniform(rng, CLEAR)
    kernel = kernels.Scaled(kernels.RBF(length), deviation**2)
    F = np.column_stack([_draw_process(rng, kernel, z) for _ in range(6)])
    Y = F + rng.standard_normal(F.shape)
    X_new = Y[n:].copy()
    X_new[:, 3:] = np.nan
    truth = distributions.Normal(F[n:, 3:].ravel(), 1.0)
    return Drawn(Y[:n], np.zeros(n), X_new, Y[n:, 3:].ravel(), lambda: truth)


def _draw_leaves(rng: Rng, X: Array, n: int, depth: int) -> Array:
    """Values of a tree at rows, its splits between the first n."""
    f = np.full(len(X), rng.standard_normal())
    if depth == 0:
        return f
    column = int(rng.integers(X.shape[1]))
    share = rng.uniform(SIZE_OF_LEAVES, 1.0 - SIZE_OF_LEAVES)
    left = X[:, column] <= np.quantile(X[:n, column], share)
    for side in (left, ~left):
        f[side] = _draw_leaves(rng, X, n, depth - 1)[side]
    return f


def tree(rng: Rng, n: int) -> Drawn:
    """A tree of four leaves in three columns, normal noise."""
    X = _draw_uniform(rng, n, 3)
    f = log_uniform(rng, SIGNAL) * _draw_leaves(rng, X, n, 2)
    y, truth = _noisy(rng, f), distributions.Normal(f[n:], 1.0)
    return Drawn(X[:n], y[:n], X[n:], y[n:], lambda: truth)


def stages(rng: Rng, n: int) -> Drawn:
    """A sum of three arctangents of two columns, normal noise."""
    X = _draw_uniform(rng, n, 2)
    units = np.arctan(X @ (2.0 * rng.standard_normal((2, 3))) + rng.standard_normal(3))
    f = log_uniform(rng, SIGNAL) / np.sqrt(3.0) * (units @ rng.standard_normal(3))
    y, truth = _noisy(rng, f), distributions.Normal(f[n:], 1.0)
    return Drawn(X[:n], y[:n], X[n:], y[n:], lambda: truth)


def _classes(
    rng: Rng, X: Array, a: Array, n: int, model: Any, columns: Array | None = None
) -> Drawn | None:
    """Classes of latent values a and an offset; None where the rows have only one.

    The model is told the hyperparameters, and may see other columns than the estimator.
    """
    p = 1.0 / (1.0 + np.exp(-(a + OFFSET * rng.standard_normal())))
    y, seen = (rng.random(len(a)) < p).astype(np.float64), X if columns is None else columns
    if len(set(y[:n])) < 2:
        return None
    return Drawn(X[:n], y[:n], X[n:], p[n:], lambda: predict_with(model, seen[:n], y[:n], seen[n:]))


def logistic(rng: Rng, n: int) -> Drawn:
    """Two classes, the latent function linear in three columns."""
    X = np.concatenate(draw_columns(rng, n, 3))
    variance = log_uniform(rng, LATENT) ** 2 / 3.0
    a = X @ (np.sqrt(variance) * rng.standard_normal(3))
    model = BayesianLogisticRegression(prior_variance=variance)
    return _classes(rng, X, a, n, model) or logistic(rng, n)


def kernel_logistic(rng: Rng, n: int) -> Drawn:
    """Two classes, the latent function a sum of RBFs about all rows, two columns."""
    X, kernel = _draw_uniform(rng, n, 2), kernels.RBF(log_uniform(rng, LENGTH_SCALE)).fixed()
    K = np.asarray(kernel(X, X[:n]))
    K = K - K[:n].mean(axis=0)
    variance = log_uniform(rng, LATENT) ** 2 / np.mean(np.sum(K[:n] ** 2, axis=1))
    a = K @ (np.sqrt(variance) * rng.standard_normal(n))
    model = KernelLogisticRegression(kernel, prior_variance=variance)
    return _classes(rng, X, a, n, model) or kernel_logistic(rng, n)


def process_classes(rng: Rng, n: int) -> Drawn:
    """Two classes, the latent function a draw of a Gaussian process of two columns."""
    X, kernel = _draw_uniform(rng, n, 2), _draw_kernel(rng, 2, LATENT)
    a = _draw_process(rng, kernel, X)
    return _classes(rng, X, a, n, GaussianProcessClassifier(kernel)) or process_classes(rng, n)


def vector_classes(rng: Rng, n: int) -> Drawn:
    """Two classes, the latent function a sum of RBFs about one to five rows, two columns."""
    X, K, a, variance = _draw_vectors(rng, n, 2, LATENT)
    model = BayesianLogisticRegression(prior_variance=variance, standardize=False)
    return _classes(rng, X, a, n, model, K) or vector_classes(rng, n)
