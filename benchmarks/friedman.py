"""Friedman's function of five inputs among others that do nothing, with noise of deviation one."""

import numpy as np

from benchmarks import scores
from benchmarks.cases import Array, Data, Prediction, Scores, Size

COLUMNS = 8
NOISE = 1.0


def generate(rng: np.random.Generator, size: Size) -> Data:
    """Rows from the unit cube; the reference is the function at the test rows, without noise."""
    X, X_test = (rng.uniform(size=(n, size.columns)) for n in (size.rows, size.test_rows))
    f, f_test = function(X), function(X_test)
    y = f + NOISE * rng.standard_normal(len(f))
    y_test = f_test + NOISE * rng.standard_normal(len(f_test))
    return Data(X, y, X_test, y_test, f_test)


def function(X: Array) -> Array:
    """10 sin(pi a b) + 20 (c - 1/2)^2 + 10 d + 5 e; an input that is not there stands at 1/2."""
    Z = np.full((len(X), max(5, X.shape[1])), 0.5)
    Z[:, : X.shape[1]] = X
    a, b, c, d, e = Z[:, :5].T
    return 10.0 * np.sin(np.pi * a * b) + 20.0 * (c - 0.5) ** 2 + 10.0 * d + 5.0 * e


def score(data: Data, prediction: Prediction) -> Scores:
    """Predictive scores on the test rows, and the error beside the function without noise."""
    if data.reference is None:
        raise ValueError("These data carry no function to compare predictions with.")
    rmse = float(np.sqrt(np.mean((prediction[0] - data.reference) ** 2)))
    return scores.predictive(data, prediction) | {"rmse_of_function": rmse}
