"""Models of Dask arrays beside dask-ml: least squares, logistic regression, principal components.

The rows are held by two worker processes. Contenders take turns on the same rows, after a warm-up
of each on few. All solve the same problem: dask-ml's penalty is set to nothing. The reference is
found in memory by other means. What nothing can beat is a pass that only sums the rows.
``python -m benchmarks.dask_peers --rows 100000`` does it with fewer rows.
"""

import importlib.util
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from scipy import special

from benchmarks import dask_cluster, machine, principal, report
from benchmarks.cases import Array
from benchmarks.dask_source import Source
from benchmarks.options import Options
from posterity import PCA, LinearRegression, LogisticRegression

WORKERS, PARTITIONS, COMPONENTS, WARM_UP_ROWS = 2, 16, 10, 4_000
SIZES = ((1_000_000, 30), (200_000, 100))
TOO_LONG_S = 60.0  # who takes longer is measured once
SOLVERS = ("admm", "lbfgs", "newton", "proximal_grad")
NOTE = (
    "Two worker processes of one thread hold the rows. Every peer has its own tolerance; correct "
    "digits are of its worst coefficient, or of variances and of the plane of the components. "
    "Columns are independent, which suits solvers without curvature best; those of the components "
    "share as many directions as are asked for. "
    "dask-ml's C is infinite, so that nothing is penalised; admm is its default. A pass is a "
    "graph handed to the scheduler. KiB are what the client received and sent. Who took more "
    f"than {TOO_LONG_S:.0f} s was measured once."
)


@dataclass(frozen=True)
class Contender:
    """From rows and targets on the workers to what is judged, coefficients or components."""

    name: str
    fit: Callable[[Any, Any], Array]
    warm_up: Callable[[Any, Any], Array] | None = None  # None: the fit itself, of few rows
    exact: bool = True  # or no more than a floor for the time

    @property
    def is_here(self) -> bool:
        """Whether its package is installed."""
        return (
            not self.name.startswith("dask-ml") or importlib.util.find_spec("dask_ml") is not None
        )


@dataclass(frozen=True)
class Problem:
    """A name, the kind of targets, who solves it, the exact solution, and what is right of one."""

    name: str
    targets: str
    contenders: tuple[Contender, ...]
    exact: Callable[[Array, Array], Array]
    error: Callable[[Array, Array], float]
    directions: int = 0  # that columns share; independent columns are easy for every solver


def run(options: Options, rows: int | None = None) -> dict[str, Any]:
    """Measure every problem at every size; write and show the tables."""
    scale = rows / SIZES[0][0] if rows else 0.1 if options.quick else 1.0
    sizes = [(round(scale * n), columns) for n, columns in SIZES]
    absent = [c.name for problem in PROBLEMS for c in problem.contenders if not c.is_here]
    result: dict[str, Any] = {
        "benchmark": "dask_peers",
        "title": "Models of rows on a Dask cluster",
        **machine.describe(),
        "repeats": options.repeats,
        "note": NOTE,
        "not_installed": absent,
        "tasks": [measure(p, *size, options) for size in sizes for p in PROBLEMS],
    }
    report.publish(result, report.markdown(result), options)
    return result


def measure(problem: Problem, rows: int, columns: int, options: Options) -> dict[str, Any]:
    """Every run of one problem, in the order they were measured, and the medians."""
    source = Source(rows, columns, -(-rows // PARTITIONS), problem.directions, "float64")
    exact = problem.exact(*source.in_memory(problem.targets))
    present = [contender for contender in problem.contenders if contender.is_here]
    with dask_cluster.start_cluster(WORKERS) as client:
        _warm_up(present, source, problem.targets)
        X, y = dask_cluster.hold_in_memory(*source.collections(problem.targets))
        label = f"{problem.name}, {rows:,} x {columns}"
        runs: list[dict[str, Any]] = []
        for repeat, one in track(_turns(present, options), label, console=options.console):
            if not _took_too_long(one, runs):
                found, numbers = dask_cluster.measure_work(client, partial(one.fit, X, y))
                judged = {"digits": digits(problem.error(found, exact))} if one.exact else {}
                runs.append({"contender": one.name, "repeat": repeat, **numbers, **judged})
        workers = dask_cluster.blas(client)
    runs = [run | workers for run in runs]
    size = {"rows": rows, "columns": columns, "partitions": PARTITIONS}
    return {"name": problem.name, **size, "runs": runs, "summary": report.summarise(runs)}


def digits(error: float) -> float:
    """How many are correct; no more than a double has."""
    return -math.log10(max(error, float(np.finfo(np.float64).eps)))


def least_squares(X: Array, y: Array) -> Array:
    """Weights and offset, by an orthogonal factorisation of the rows."""
    Z = np.column_stack([X, np.ones(len(X))])
    return np.asarray(np.linalg.lstsq(Z, y, rcond=None)[0])


def most_likely(X: Array, y: Array) -> Array:
    """Weights and offset of logistic regression, by Newton's steps until they change nothing."""
    Z = np.column_stack([X, np.ones(len(X))])
    w = np.zeros(Z.shape[1])
    for _ in range(50):
        p = special.expit(Z @ w)
        step = np.linalg.solve((Z.T * (p * (1.0 - p))) @ Z, Z.T @ (y - p))
        w = w + step
        if np.max(np.abs(step)) < 1e-13 * np.max(np.abs(w)):
            break
    return w


def components(X: Array, y: Array) -> Array:
    """Variances, and axes beside them, by a singular value decomposition."""
    return principal.reference(X)[:COMPONENTS]


def coefficient_error(found: Array, exact: Array) -> float:
    """The largest, relative to the largest coefficient."""
    return float(np.max(np.abs(found - exact)) / np.max(np.abs(exact)))


def component_error(found: Array, exact: Array) -> float:
    """Return the error of the worst variance, or of the plane of the axes if that is worse."""
    beyond = found[:, 1:] - (found[:, 1:] @ exact[:, 1:].T) @ exact[:, 1:]
    of_variances = np.max(np.abs(found[:, 0] / exact[:, 0] - 1.0))
    return float(max(of_variances, np.linalg.norm(beyond, 2)))


def _turns(contenders: Sequence[Contender], options: Options) -> list[tuple[int, Contender]]:
    return [(repeat, one) for repeat in range(options.repeats) for one in contenders]


def _took_too_long(one: Contender, runs: Sequence[dict[str, Any]]) -> bool:
    return any(r["contender"] == one.name and r["fit_wall_s"] > TOO_LONG_S for r in runs)


def _warm_up(contenders: Sequence[Contender], source: Source, targets: str) -> None:
    """Imports and compiles, on the workers and here."""
    few = source.of_rows(WARM_UP_ROWS, WARM_UP_ROWS // PARTITIONS)
    X, y = dask_cluster.hold_in_memory(*few.collections(targets))
    for one in contenders:
        (one.warm_up or one.fit)(X, y)


def _linear(model: Any, X: Any, y: Any) -> Array:
    fitted = model().fit(X, y)
    return np.append(fitted.coef_, fitted.intercept_)


def _peer_linear(model: str, solver: str, X: Any, y: Any, max_iter: int = 100) -> Array:
    linear_model = importlib.import_module("dask_ml.linear_model")
    settings = {"solver": solver, "C": math.inf, "max_iter": max_iter}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = getattr(linear_model, model)(**settings).fit(X, y)
    return np.append(fitted.coef_, fitted.intercept_)


def _principal(X: Any, y: Any) -> Array:
    fitted = PCA(COMPONENTS).fit(X)
    return np.column_stack([fitted.explained_variance_, fitted.components_])


def _peer_principal(solver: str, X: Any, y: Any) -> Array:
    decomposition = importlib.import_module("dask_ml.decomposition")
    fitted = decomposition.PCA(COMPONENTS, svd_solver=solver, random_state=0).fit(X)
    return np.column_stack([fitted.explained_variance_, fitted.components_])


def _sum(X: Any, y: Any) -> Array:
    return np.asarray(X.sum(axis=0).compute())


def _solvers(model: str) -> tuple[Contender, ...]:
    fits = {solver: partial(_peer_linear, model, solver) for solver in SOLVERS}
    return tuple(
        Contender(f"dask-ml {model}, {solver}", fit, partial(fit, max_iter=2))
        for solver, fit in fits.items()
    )


FLOOR = Contender("floor: the sum of the rows", _sum, exact=False)
PROBLEMS = (
    Problem(
        "least squares",
        "numbers",
        (
            Contender("posterity LinearRegression", partial(_linear, LinearRegression)),
            *_solvers("LinearRegression"),
            FLOOR,
        ),
        least_squares,
        coefficient_error,
    ),
    Problem(
        "logistic regression",
        "classes",
        (
            Contender("posterity LogisticRegression", partial(_linear, LogisticRegression)),
            *_solvers("LogisticRegression"),
            FLOOR,
        ),
        most_likely,
        coefficient_error,
    ),
    Problem(
        f"{COMPONENTS} principal components",
        "numbers",
        (
            Contender("posterity PCA", _principal),
            *(
                Contender(f"dask-ml PCA, {solver}", partial(_peer_principal, solver))
                for solver in ("randomized", "full")
            ),
            FLOOR,
        ),
        components,
        component_error,
        directions=COMPONENTS,
    ),
)


def main(
    rows: Annotated[int, typer.Option(min=10_000, help="Of the first size.")] = SIZES[0][0],
    repeats: Annotated[int, typer.Option(min=1, help="Turns for each contender.")] = 5,
) -> None:
    """Measure; fewer rows than usual count as a rehearsal."""
    run(Options(repeats=repeats, quick=rows < SIZES[0][0], console=Console()), rows)


if __name__ == "__main__":
    typer.run(main)
