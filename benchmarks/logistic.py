"""LogisticRegression beside scikit-learn's solvers, all brought to the same gradient.

scikit-learn's tolerance means something else in each solver, so each is tried with ever smaller
ones, and the first fit whose gradient is as small as asked is the one that counts. The gradient is
recomputed from the weights, by one function for all.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.linear_model
from scipy import special

from benchmarks import harness, probabilities, worker
from benchmarks.cases import Array, Benchmark, Contender, Data, Scores, Size, Task
from benchmarks.options import Options
from posterity.linear import LogisticRegression

TARGET = 1e-6
TOLERANCES = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-10, 1e-12)
SOLVERS = ("lbfgs", "newton-cholesky")
MOST_STEPS = 1_000
STRENGTH = 2.0  # standard deviation of a latent value


def generate(rng: np.random.Generator, size: Size, classes: int, units: bool = False) -> Data:
    """Classes by the softmax of linear functions; columns related, and in units of their own."""
    W = rng.normal(0.0, STRENGTH / np.sqrt(size.columns), size=(size.columns, classes))
    mixing = np.eye(size.columns)
    if units:
        mixing += 0.5 * np.tri(size.columns, k=-1)
    scale = 10.0 ** rng.uniform(-2.0, 2.0, size.columns) if units else np.ones(size.columns)

    def rows(n: int) -> tuple[Array, Array]:
        Z = rng.standard_normal((n, size.columns))
        y = np.argmax(Z @ W + rng.gumbel(size=(n, classes)), axis=1)
        return (Z @ mixing) * scale + 3.0 * scale * units, y.astype(np.float64)

    return Data(*rows(size.rows), *rows(size.test_rows))


def gradient_norm(model: Any, X: Array, y: Array) -> float:
    """The largest slope of the mean log likelihood, columns standardised, offset included."""
    residual = -np.exp(log_probabilities(model, X))
    residual[np.arange(len(y)), y.astype(np.intp)] += 1.0
    center, scale = X.mean(axis=0), X.std(axis=0)
    of_offset = residual.mean(axis=0)
    of_weights = (X.T @ residual / len(y) - np.outer(center, of_offset)) / scale[:, None]
    return float(max(np.abs(of_weights).max(), np.abs(of_offset).max()))


def log_probabilities(model: Any, X: Array) -> Array:
    """Return log-probabilities of each class from weights in scikit-learn's shapes."""
    A = X @ model.coef_.T + model.intercept_
    return special.log_softmax(np.hstack([np.zeros_like(A), A]) if A.shape[1] == 1 else A, axis=1)


def measure(task: Task, contender: Contender, folder: Path, threads: int | None) -> dict[str, Any]:
    """The first of a contender's models that reaches the target, or else the last."""
    data = Data.load(folder)
    corner = data.small()
    return worker.run_after_warm_up(
        lambda: contender.build()[0].fit(corner.X, corner.y),
        lambda: measure_models(contender.build(), data, task.score),
        threads,
    )


def measure_models(
    models: Sequence[Any], data: Data, score: Callable[..., Scores]
) -> dict[str, Any]:
    """Seconds of one fit, what it reached, and scores on the test rows."""
    before = worker.peak_mib()
    for model in models:
        _, (wall, cpu) = worker.time_work(partial(model.fit, data.X, data.y))
        added = worker.peak_mib() - before
        norm = gradient_norm(model, data.X, data.y)
        if norm <= TARGET or np.max(model.n_iter_) >= model.max_iter:
            break
    log_p = log_probabilities(model, data.X)[np.arange(len(data.y)), data.y.astype(np.intp)]
    scored = score(data, probabilities.predict(model, data.X_test))
    return {
        "fit_wall_s": wall,
        "fit_cpu_s": cpu,
        "fit_peak_mib": added,
        "gradient_norm": norm,
        "tolerance": getattr(model, "tol", None),
        "mean_log_likelihood": float(np.mean(log_p)),
        "error_percent": scored["error_percent"],
        "log_loss": scored["log_loss"],
        "iterations": float(np.max(model.n_iter_)),
    }


def _ours() -> list[LogisticRegression]:
    return [LogisticRegression()]


def _defaults(solver: str) -> list[sklearn.linear_model.LogisticRegression]:
    return [sklearn.linear_model.LogisticRegression(C=np.inf, solver=solver)]


def _to_target(solver: str) -> list[sklearn.linear_model.LogisticRegression]:
    return [
        model.set_params(tol=tol, max_iter=MOST_STEPS)
        for tol in TOLERANCES
        for model in _defaults(solver)
    ]


def _task(name: str, rows: int, columns: int, classes: int, units: bool = False) -> Task:
    make = partial(generate, classes=classes, units=units)
    return Task(name, Size(rows, columns), make, probabilities.score)


BENCHMARK = Benchmark(
    name="logistic",
    title="Logistic regression by maximum likelihood, to the same gradient",
    tasks=(
        _task("two classes, independent columns", 100_000, 100, 2),
        _task("two classes, related columns in units from 0.01 to 100", 100_000, 100, 2, True),
        _task("ten classes, independent columns", 50_000, 50, 10),
    ),
    contenders=(
        Contender("posterity LogisticRegression", _ours),
        *(Contender(f"scikit-learn {s}, to the gradient", partial(_to_target, s)) for s in SOLVERS),
        *(Contender(f"scikit-learn {s}, default tol", partial(_defaults, s)) for s in SOLVERS),
    ),
    note="The gradient is of the mean log likelihood, its largest part, columns standardised. To "
    f"the gradient: the first tol of {', '.join(f'{t:g}' for t in TOLERANCES)} at which it is "
    f"{TARGET:g} or less, one fit, from the start; where none gets there in {MOST_STEPS:,} steps, "
    "the last. posterity has no tolerance to set.",
)


def run(options: Options) -> None:
    """Measure and write the tables."""
    harness.run(BENCHMARK, options, measure)
