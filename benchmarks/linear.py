"""LinearRegression beside scikit-learn's and NumPy's least squares: seconds and correct digits."""

import numpy as np
import sklearn.linear_model

from benchmarks import harness, scores
from benchmarks.cases import Array, Benchmark, Contender, Data, Prediction, Size, Task, predict_mean
from benchmarks.options import Options
from posterity.linear import LinearRegression

NOISE = 0.5
_REFINEMENTS = 5


def normal_columns(rng: np.random.Generator, size: Size) -> Data:
    """Independent normal columns; the reference are the predictions of exact least squares."""
    w = rng.standard_normal(size.columns)
    X = rng.standard_normal((size.rows, size.columns))
    X_test = rng.standard_normal((size.test_rows, size.columns))
    y = 1.0 + X @ w + NOISE * rng.standard_normal(size.rows)
    y_test = 1.0 + X_test @ w + NOISE * rng.standard_normal(size.test_rows)
    return Data(X, y, X_test, y_test, _exact_predictions(X, y, X_test))


def _exact_predictions(X: Array, y: Array, X_test: Array) -> Array:
    """Predictions of least squares with an offset, refined with residuals in extended precision."""
    Z, Z_test = (np.column_stack([np.ones(len(A)), A]) for A in (X, X_test))
    gram = Z.T @ Z
    Z_long = Z.astype(np.longdouble)
    w = np.zeros(Z.shape[1], dtype=np.longdouble)
    for _ in range(_REFINEMENTS):
        w += np.linalg.solve(gram, (Z_long.T @ (y - Z_long @ w)).astype(float))
    return (Z_test @ w).astype(float)


def _fit_lstsq(model: None, X: Array, y: Array) -> Array:
    Z = np.column_stack([np.ones(len(X)), X])
    return np.asarray(np.linalg.lstsq(Z, y)[0], dtype=np.float64)


def _predict_lstsq(w: Array, X: Array) -> Prediction:
    return X @ w[1:] + w[0], None


def _do_nothing() -> None:
    """NumPy's solver has no object to build."""


def _task(rows: int, columns: int) -> Task:
    size = Size(rows, columns)
    return Task("independent normal columns", size, normal_columns, scores.numerical)


BENCHMARK = Benchmark(
    name="linear",
    title="Least squares; mean predictions",
    tasks=(_task(100_000, 100), _task(1_000, 500)),
    contenders=(
        Contender("posterity LinearRegression", LinearRegression, predict=predict_mean),
        Contender(
            "scikit-learn LinearRegression",
            sklearn.linear_model.LinearRegression,
            predict=predict_mean,
        ),
        Contender("NumPy lstsq", _do_nothing, fit=_fit_lstsq, predict=_predict_lstsq),
    ),
)


def run(options: Options) -> None:
    """Measure and write the tables."""
    harness.run(BENCHMARK, options)
