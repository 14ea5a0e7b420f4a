"""GPLVM beside GPy's: the same start, a hundred steps, and how high each of them comes."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness, latent_models, worker
from benchmarks.cases import Array, Benchmark, Contender, Data, Prediction, Scores, Size, Task
from benchmarks.options import Options

LATENT, COLUMNS, NOISE, WAVES, STEPS = 2, 12, 0.1, 100, 100


def generate(rng: np.random.Generator, size: Size) -> Data:
    """Smooth functions of two latent coordinates, sums of random waves, and noise."""
    X = rng.standard_normal((size.rows, LATENT))
    waves = np.cos(X @ rng.standard_normal((LATENT, WAVES)) + rng.uniform(0.0, 2.0 * np.pi, WAVES))
    weights = rng.standard_normal((WAVES, size.columns)) * np.sqrt(2.0 / WAVES)
    Y = waves @ weights + NOISE * rng.standard_normal((size.rows, size.columns))
    nothing = np.zeros(len(Y))
    return Data(Y, nothing, Y[:0], nothing[:0])


def unjudged(data: Data, prediction: Prediction) -> Scores:
    """There is nothing to predict: what a fit has found is among its facts."""
    return {}


def fit(model: latent_models.LatentModel, X: Array, y: Array) -> latent_models.LatentModel:
    """Rows alone."""
    return model.fit(X)


def measure(task: Task, contender: Contender, folder: Path, threads: int | None) -> dict[str, Any]:
    """Fit once."""
    data = Data.load(folder)
    small = data.small()
    return worker.watched(
        lambda: contender.fit(contender.build(), small.X, small.y),
        lambda: _fitted(contender, data),
        threads,
    )


def _fitted(contender: Contender, data: Data) -> dict[str, Any]:
    before = worker.peak_mib()
    model, (wall, cpu) = worker.timed(lambda: contender.fit(contender.build(), data.X, data.y))
    used = worker.peak_mib() - before
    return {
        "fit_wall_s": wall,
        "fit_cpu_s": cpu,
        "fit_peak_mib": used,
        **contender.facts(model),
    }


def _contender(
    name: str, build: Callable[[], latent_models.LatentModel], needs: str | None = None
) -> Contender:
    return Contender(name, build, fit, facts=latent_models.facts, needs=needs)


def _task(rows: int) -> Task:
    name = f"smooth functions of {LATENT} latent coordinates"
    return Task(name, Size(rows, COLUMNS, 0), generate, unjudged)


MOST_PROBABLE = Benchmark(
    name="latent_variables",
    title=f"Gaussian process latent variables, {STEPS} steps from principal components",
    tasks=(_task(200), _task(350), _task(500)),
    contenders=(
        _contender("posterity GPLVM", partial(latent_models.Posterity, LATENT, STEPS)),
        _contender("GPy GPLVM", partial(latent_models.GPy, LATENT, STEPS), needs="GPy"),
    ),
    note="The log density, log p(Y given X), is computed by one function from the points, kernel and noise of each. It "
    "is what GPy maximises; posterity maximises it together with a prior of the points. A step of "
    "GPy is an evaluation, one of posterity an iteration.",
)

VARIATIONAL = Benchmark(
    name="latent_variables_bayesian",
    title=f"Bayesian Gaussian process latent variables, {STEPS} steps: 5 dimensions, 20 carriers",
    tasks=(_task(100),),
    contenders=(
        _contender(
            "posterity GPLVM, variational",
            partial(latent_models.PosterityVariational, 5, STEPS, 20),
        ),
        _contender(
            "GPy BayesianGPLVM",
            partial(latent_models.GPyVariational, 5, STEPS, 20),
            needs="GPy",
        ),
    ),
    note="Both tell the same lower bound of the log evidence, all constants included.",
)


def run(options: Options) -> None:
    """Measure and write the tables."""
    harness.run(MOST_PROBABLE, options, measure)
    harness.run(VARIATIONAL, options, measure)
