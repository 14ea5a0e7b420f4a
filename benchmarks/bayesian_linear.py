"""BayesianLinearRegression beside scikit-learn's BayesianRidge: both learn both variances."""

import numpy as np
from sklearn.linear_model import BayesianRidge

from benchmarks import harness, scores
from benchmarks.cases import Benchmark, Contender, Data, Size, Task
from benchmarks.options import Options
from posterity.linear import BayesianLinearRegression

LIVE_WEIGHTS = 20
NOISE = 0.5


def few_live_weights(rng: np.random.Generator, size: Size) -> Data:
    """Independent normal columns, of which twenty matter, and noise of standard deviation 0.5."""
    w = np.zeros(size.columns)
    w[rng.permutation(size.columns)[:LIVE_WEIGHTS]] = rng.standard_normal(
        min(LIVE_WEIGHTS, size.columns)
    )
    X = rng.standard_normal((size.rows, size.columns))
    X_test = rng.standard_normal((size.test_rows, size.columns))
    y = X @ w + NOISE * rng.standard_normal(size.rows)
    y_test = X_test @ w + NOISE * rng.standard_normal(size.test_rows)
    return Data(X, y, X_test, y_test)


def _task(rows: int, columns: int) -> Task:
    size = Size(rows, columns)
    return Task("twenty live weights", size, few_live_weights, scores.predictive)


BENCHMARK = Benchmark(
    name="bayesian_linear",
    title="Bayesian linear regression, variances learned; predictions with standard deviations",
    tasks=(_task(10_000, 100), _task(100_000, 100), _task(500, 5_000)),
    contenders=(
        Contender("posterity BayesianLinearRegression", BayesianLinearRegression),
        Contender("scikit-learn BayesianRidge", BayesianRidge),
    ),
)


def run(options: Options) -> None:
    """Measure and write the tables."""
    harness.run(BENCHMARK, options)
