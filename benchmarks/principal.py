"""PCA beside scikit-learn's: rows in memory, few rows of many columns, and rows in blocks.

The reference is a singular value decomposition of the rows about their mean. Correct digits are
those of the worst of the variances asked for, or of the plane of their axes where that is worse.
"""

import math
from functools import partial
from typing import Any

import numpy as np
import sklearn.decomposition

from benchmarks import harness
from benchmarks.cases import Array, Benchmark, Contender, Data, Prediction, Scores, Size, Task
from benchmarks.options import Options
from posterity.designs import Chunks
from posterity.latent.pca import PCA

COMPONENTS, BLOCK_ROWS, LATENT, NOISE = 50, 8192, 60, 0.5


def generate(rng: np.random.Generator, size: Size) -> Data:
    """Falling variances along sixty directions, noise along all, and a mean that is not zero."""
    k = min(LATENT, size.rows, size.columns)
    axes = np.geomspace(3.0, 1.0, k)[:, None] * rng.standard_normal((k, size.columns))

    def rows(n: int) -> Array:
        noise = NOISE * rng.standard_normal((n, size.columns))
        return rng.standard_normal((n, k)) @ axes + noise + 1.0

    X, X_test = rows(size.rows), rows(size.test_rows)
    return Data(X, np.zeros(len(X)), X_test, np.zeros(len(X_test)), reference(X))


def reference(X: Array) -> Array:
    """Variances, and axes beside them, (k, 1 + D)."""
    centred = X - X.mean(axis=0)
    short = np.linalg.qr(centred, mode="r") if len(X) > X.shape[1] else centred
    _, s, Vt = np.linalg.svd(short, full_matrices=False)
    k = n_components(X)
    return np.column_stack([s[:k] ** 2 / (len(X) - 1), Vt[:k]])


def n_components(X: Array) -> int:
    """Fifty, or half of what a small matrix has."""
    return min(COMPONENTS, min(X.shape) // 2)


def fit(model: Any, X: Array, y: Array) -> Any:
    """All rows at once."""
    return model.set_params(n_components=n_components(X)).fit(X)


def fit_chunks(model: PCA, X: Array, y: Array) -> PCA:
    """Block by block."""
    return model.set_params(n_components=n_components(X)).fit(
        Chunks.from_arrays(X, rows=BLOCK_ROWS)
    )


def fit_batches(model: Any, X: Array, y: Array) -> Any:
    """Block by block, in scikit-learn's way."""
    model.set_params(n_components=n_components(X))
    for i in range(0, len(X), BLOCK_ROWS):
        model.partial_fit(X[i : i + BLOCK_ROWS])
    return model


def predict(model: Any, X: Array) -> Prediction:
    """The coordinates of other rows; with them what is judged, variances and axes."""
    return model.transform(X), np.column_stack([model.explained_variance_, model.components_])


def score(data: Data, prediction: Prediction) -> Scores:
    """How far variances, and the plane of the axes, are from the reference."""
    found, exact = prediction[1], data.reference
    assert found is not None
    assert exact is not None
    variance_error = float(np.max(np.abs(found[:, 0] / exact[:, 0] - 1.0)))
    beyond = found[:, 1:] - (found[:, 1:] @ exact[:, 1:].T) @ exact[:, 1:]
    sine = float(np.linalg.norm(beyond, 2))
    worst = max(variance_error, sine, float(np.finfo(np.float64).eps))
    return {"variance_error": variance_error, "plane_sine": sine, "digits": -math.log10(worst)}


def _scikit_learn(solver: str) -> sklearn.decomposition.PCA:
    return sklearn.decomposition.PCA(svd_solver=solver, random_state=0)


def _peers() -> tuple[Contender, ...]:
    return tuple(
        Contender(f"scikit-learn PCA, {solver}", partial(_scikit_learn, solver), fit, predict)
        for solver in ("auto", "full", "randomized")
    )


def _task(rows: int, columns: int, test_rows: int) -> Task:
    name = f"{LATENT} latent directions and noise"
    return Task(name, Size(rows, columns, test_rows), generate, score)


IN_MEMORY = Benchmark(
    name="principal",
    title=f"Principal components, up to {COMPONENTS}; coordinates of other rows",
    tasks=(_task(100_000, 100, 10_000), _task(200, 20_000, 200)),
    contenders=(Contender("posterity PCA", PCA, fit, predict), *_peers()),
)

IN_BLOCKS = Benchmark(
    name="principal_blocks",
    title=f"Principal components, up to {COMPONENTS}, of rows in blocks of {BLOCK_ROWS:,}",
    tasks=(_task(100_000, 1_000, 1_000),),
    contenders=(
        Contender("posterity PCA, chunks", PCA, fit_chunks, predict),
        Contender(
            "scikit-learn IncrementalPCA",
            sklearn.decomposition.IncrementalPCA,
            fit_batches,
            predict,
        ),
    ),
    note="IncrementalPCA keeps only the components asked for between blocks, and is an "
    "approximation; posterity's result is that of all rows at once.",
)


def run(options: Options) -> None:
    """Measure and write the tables."""
    harness.run(IN_MEMORY, options)
    harness.run(IN_BLOCKS, options)
