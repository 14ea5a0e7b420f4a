"""Who is too sure where rows are few: coverage, log score and width at the true model.

Truths are drawn from the prior of each model (``few_rows_truths``), so that predictions that
average over everything unknown cover what they say, up to what is learned of hyperparameters.
Estimators that have ``hyperparameters`` are measured with every value of it, on the same draws.

    python -m benchmarks.few_rows                                  # all, into benchmarks/results
    python -m benchmarks.few_rows GammaRegression --simulations 50 --rows 10 --rows 30
    python -m benchmarks.few_rows GammaRegression --keep           # anew in benchmarks/results
"""

from __future__ import annotations

import itertools
import json
import statistics
import time
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
import threadpoolctl
import typer
from rich.console import Console

from benchmarks import few_rows_tables, machine, report
from benchmarks import few_rows_truths as truths
from benchmarks.cases import Array
from benchmarks.few_rows_truths import Drawn
from benchmarks.options import Options
from posterity import distributions, kernels, likelihoods, linear, local, process, sparse, trees
from posterity.latent import GPLVM

ROWS = (6, 10, 15, 30, 60)
SIMULATIONS, REHEARSAL = 300, 6
CHUNK = 10  # simulations a job, all with the same seeds whatever the number of processes
CHOICES = ("average", "maximise")

NOTE = (
    "Truths are drawn from the prior of each model, hyperparameters log-uniform over a wide range "
    f"(benchmarks/few_rows_truths.py), with {truths.NEW_ROWS} new targets each. The oracle is told "
    "the true hyperparameters; for latent variables, trees and stages, the true distribution. "
    "Log scores of classes are expected under the true probabilities."
)


class Completion:
    """GPLVM as a regressor: the targets are what new rows miss."""

    def __init__(self, model: GPLVM) -> None:
        self.model = model

    def fit(self, X: Array, y: Array) -> Completion:
        """Fit to rows with all their values."""
        del y
        self.model.fit(X)
        return self

    def predict_dist(self, X: Array) -> Any:
        """Return the distribution of every missing value."""
        return self.model.complete(X)[np.isnan(X)]

    def get_params(self) -> dict[str, Any]:
        """Return the parameters of the model."""
        return self.model.get_params()

    def set_params(self, **given: Any) -> Completion:
        """Set parameters of the model."""
        self.model.set_params(**given)
        return self


@dataclass(frozen=True)
class Case:
    """An estimator, and the draws at which it is measured."""

    name: str
    make: Callable[[], Any]
    draw: Callable[[np.random.Generator, int], Drawn]


def _case(estimator: Any, draw: Callable[[np.random.Generator, int], Drawn], **given: Any) -> Case:
    return Case(estimator.__name__, lambda: estimator(**given), draw)


def _rbf(columns: int) -> kernels.Kernel:
    return kernels.Scaled(kernels.RBF(ard=columns > 1))


def _process(columns: int) -> Case:
    name = f"GaussianProcessRegressor, {columns} column{'s' * (columns > 1)}"
    make = process.GaussianProcessRegressor
    return Case(name, lambda: make(_rbf(columns)), partial(truths.process, columns=columns))


CASES = (
    _case(linear.LinearRegression, partial(truths.linear, columns=3)),
    _case(linear.BayesianLinearRegression, partial(truths.linear, columns=3)),
    Case(
        "BayesianLinearRegression, 10 columns",
        linear.BayesianLinearRegression,
        partial(truths.linear, columns=10),
    ),
    _case(linear.DualLinearRegression, truths.dual),
    _case(sparse.SparseLinearRegression, truths.sparse),
    _case(linear.RobustRegression, truths.robust),
    _case(linear.GammaRegression, truths.gamma),
    Case(
        "GeneralizedLinearRegression, Poisson",
        lambda: linear.GeneralizedLinearRegression(likelihoods.Poisson()),
        truths.counts,
    ),
    _process(1),
    _process(2),
    _case(sparse.RelevanceVectorRegressor, truths.vectors),
    _case(local.StagewiseRegressor, truths.stages, random_state=0),
    _case(trees.RandomTreeRegressor, truths.tree, random_state=0),
    _case(trees.RandomForestRegressor, truths.tree, random_state=0),
    Case("GPLVM.complete", lambda: Completion(GPLVM(1)), truths.latent),
    _case(linear.BayesianLogisticRegression, truths.logistic),
    _case(process.KernelLogisticRegression, truths.kernel_logistic),
    Case(
        "GaussianProcessClassifier",
        lambda: process.GaussianProcessClassifier(_rbf(2)),
        truths.process_classes,
    ),
    _case(sparse.RelevanceVectorClassifier, truths.vector_classes),
)
BY_NAME = {case.name: case for case in CASES}


def choices(case: Case) -> tuple[str | None, ...]:
    """The values of ``hyperparameters`` to measure; None where an estimator has no choice."""
    return CHOICES if "hyperparameters" in case.make().get_params() else (None,)


def simulate(name: str, n: int, first: int) -> list[dict[str, Any]]:
    """The measurements of some simulations of a case, one of each for each choice."""
    case = BY_NAME[name]
    with warnings.catch_warnings(), threadpoolctl.threadpool_limits(1):
        warnings.simplefilter("ignore")
        seeds = range(first, first + CHUNK)
        return [run for k in seeds for run in _simulate_one(case, n, k)]


def _simulate_one(case: Case, n: int, k: int) -> Iterator[dict[str, Any]]:
    rng = np.random.default_rng([zlib.crc32(case.name.encode()), n, k])
    drawn, share = case.draw(rng, n), rng.random()
    oracle = _score(drawn.oracle(), drawn, share)
    for choice in choices(case):
        model = case.make()
        if choice is not None:
            model.set_params(hyperparameters=choice)
        start = time.process_time()  # of this process alone, however busy the machine is
        model.fit(drawn.X, drawn.y)
        seconds = time.process_time() - start
        own = _score(model.predict_dist(drawn.X_new), drawn, share)
        yield {"choice": choice, "fit_ms": 1e3 * seconds, "own": own, "oracle": oracle}


def _score(predicted: Any, drawn: Drawn, share: float) -> dict[str, Any]:
    """Score a prediction of all new rows; ``share`` says where in a step counts are ranked."""
    if isinstance(predicted, distributions.Discrete):
        return _score_classes(predicted.log_probabilities(), drawn.y_new)
    y = drawn.y_new
    below, at = predicted.cdf(np.nextafter(y, -np.inf)), predicted.cdf(y)
    lower, upper = predicted.interval(0.9)
    ranks = below + share * (at - below)
    return {
        "coverage_90": float(np.mean(np.abs(ranks - 0.5) <= 0.45)),
        "log_score": float(np.mean(predicted.log_prob(y))),
        "width": float(np.mean(upper - lower)) + hasattr(predicted, "logpmf"),  # counts: values
    }


def _score_classes(log_p: Array, truth: Array) -> dict[str, Any]:
    expected = truth * log_p[:, 1] + (1.0 - truth) * log_p[:, 0]
    return {
        "log_score": float(np.mean(expected)),
        "log_odds": log_p[:, 1] - log_p[:, 0],
        "truth": truth,
    }


def calibration_slope(log_odds: Array, truth: Array) -> float:
    """By what to multiply log odds to make them most probable under true probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> a = np.linspace(-2.0, 2.0, 9)
    >>> round(calibration_slope(2.0 * a, 1.0 / (1.0 + np.exp(-a))), 6)  # twice too sure
    0.5
    """
    slope = 0.0
    for _ in range(50):  # Newton's method; concave, and from 0 on monotone
        p = 1.0 / (1.0 + np.exp(-slope * log_odds))
        gradient = float(np.sum(log_odds * (truth - p)))
        slope += gradient / float(np.sum(log_odds**2 * p * (1.0 - p)) + 1e-12)
    return slope


def summarise(runs: Sequence[dict[str, Any]]) -> dict[str, float]:
    """One cell of the tables: means over simulations, with their standard errors."""
    own, oracle = [run["own"] for run in runs], [run["oracle"] for run in runs]
    gains = [a["log_score"] - b["log_score"] for a, b in zip(own, oracle, strict=True)]
    found = {
        "simulations": len(runs),
        "fit_ms": statistics.median(run["fit_ms"] for run in runs),
        "log_score": statistics.fmean(one["log_score"] for one in own),
        **_mean_and_error("log_score_gain", gains),
    }
    if "log_odds" in own[0]:
        truth = np.concatenate([one["truth"] for one in own])
        slopes = (np.concatenate([one["log_odds"] for one in side]) for side in (own, oracle))
        a, b = (calibration_slope(log_odds, truth) for log_odds in slopes)
        return found | {"slope": a, "oracle_slope": b}
    ratios = [a["width"] / b["width"] for a, b in zip(own, oracle, strict=True)]
    covered = _mean_and_error("coverage_90", [one["coverage_90"] for one in own])
    known = statistics.fmean(one["coverage_90"] for one in oracle)
    return (
        found | covered | {"oracle_coverage_90": known, "relative_width": statistics.median(ratios)}
    )


def _mean_and_error(key: str, values: Sequence[float]) -> dict[str, float]:
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    return {key: statistics.fmean(values), f"{key}_error": spread / len(values) ** 0.5}


@dataclass(frozen=True)
class Extent:
    """How much is measured."""

    names: Sequence[str] = tuple(BY_NAME)
    rows: Sequence[int] = ROWS
    simulations: int = SIMULATIONS
    processes: int | None = None


def measure(extent: Extent) -> list[dict[str, Any]]:
    """A task for each estimator: a cell for each number of rows and choice."""
    starts = range(0, extent.simulations, CHUNK)
    jobs = list(itertools.product(extent.names, extent.rows, starts))
    with ProcessPoolExecutor(extent.processes) as pool:
        parts = pool.map(simulate, *zip(*jobs, strict=True))
        runs: dict[tuple[str, int], list[dict[str, Any]]] = {}
        for (name, n, _), part in zip(jobs, parts, strict=True):
            runs.setdefault((name, n), []).extend(part)
    return [_task(name, {n: runs[name, n] for n in extent.rows}) for name in extent.names]


def _task(name: str, runs: dict[int, list[dict[str, Any]]]) -> dict[str, Any]:
    cells = [
        {"rows": n, "hyperparameters": choice}
        | summarise([run for run in found if run["choice"] == choice])
        for n, found in runs.items()
        for choice in choices(BY_NAME[name])
    ]
    return {
        "name": name,
        "truth": _describe(BY_NAME[name]),
        "cells": cells,
    }


def _describe(case: Case) -> str:
    """The first line about the truths of a case."""
    drawer = getattr(case.draw, "func", case.draw)
    return str(drawer.__doc__).splitlines()[0]


def run(options: Options, extent: Extent | None = None) -> dict[str, Any]:
    """Simulate, write and show the tables; estimators that are not asked for stay as they were."""
    extent = extent or Extent(simulations=REHEARSAL if options.quick else SIMULATIONS)
    tasks = {task["name"]: task for task in (*_kept_tasks(options), *measure(extent))}
    result = {
        "benchmark": "few_rows",
        "title": "Coverage and log scores where rows are few",
        **machine.describe(),
        "note": NOTE,
        "tasks": [tasks[name] for name in BY_NAME if name in tasks],
    }
    report.publish(result, few_rows_tables.page(result), options)
    return result


def _kept_tasks(options: Options) -> list[dict[str, Any]]:
    """What the file of results has already; a rehearsal begins anew."""
    file = options.results / "few_rows.json"
    return [] if options.quick or not file.exists() else json.loads(file.read_text())["tasks"]


def _known(names: list[str] | None) -> list[str]:
    """Cases whose name begins with one of these; all where none is given."""
    for name in names or []:
        if not any(known.startswith(name) for known in BY_NAME):
            raise typer.BadParameter(f"There is no {name!r}; choose from {'; '.join(BY_NAME)}.")
    return [known for known in BY_NAME if not names or known.startswith(tuple(names))]


def main(
    names: Annotated[
        list[str] | None, typer.Argument(callback=_known, help="Beginnings of names. None: all.")
    ] = None,
    simulations: Annotated[int, typer.Option(min=1, help="Truths for each cell.")] = SIMULATIONS,
    rows: Annotated[list[int] | None, typer.Option(min=4, help="Rows of a fit.")] = None,
    processes: Annotated[int | None, typer.Option(min=1, help="None: one a core.")] = None,
    keep: Annotated[bool, typer.Option(help="Write into benchmarks/results.")] = False,
) -> None:
    """Measure some cases; a run of all of them, or with --keep, replaces results that are kept."""
    extent = Extent(names or (), rows or ROWS, simulations, processes)
    whole = len(extent.names) == len(CASES) and rows is None
    run(Options(quick=not (whole or keep), console=Console()), extent)


if __name__ == "__main__":
    typer.run(main)
