"""GPLVM beside GPy's: the same start, a hundred steps, and how high each of them comes.

How high a search comes in so many steps is a matter of luck, so that every table is of several
draws of the functions: seconds are those of all draws together, heights their mean.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness, latent_models, worker
from benchmarks.cases import Array, Benchmark, Contender, Data, Prediction, Scores, Size, Task
from benchmarks.options import Options

LATENT, COLUMNS, NOISE, WAVES, STEPS, DRAWS = 2, 12, 0.1, 100, 100, 5
WARM_UP_ROWS = 50


def generate(rng: np.random.Generator, size: Size) -> Data:
    """So many rows of each draw, one draw after the other."""
    Y = np.vstack([drawn(rng, size) for _ in range(DRAWS)])
    nothing = np.zeros(len(Y))
    return Data(Y, nothing, Y[:0], nothing[:0])


def drawn(rng: np.random.Generator, size: Size) -> Array:
    """Smooth functions of two latent coordinates, sums of random waves, and noise."""
    X = rng.standard_normal((size.rows, LATENT))
    waves = np.cos(X @ rng.standard_normal((LATENT, WAVES)) + rng.uniform(0.0, 2.0 * np.pi, WAVES))
    weights = rng.standard_normal((WAVES, size.columns)) * np.sqrt(2.0 / WAVES)
    return waves @ weights + NOISE * rng.standard_normal((size.rows, size.columns))


def score_nothing(data: Data, prediction: Prediction) -> Scores:
    """There is nothing to predict: what a fit has found is among its facts."""
    return {}


def fit(model: latent_models.LatentModel, X: Array, y: Array) -> latent_models.LatentModel:
    """Fit the rows alone, without targets."""
    return model.fit(X)


def measure(task: Task, contender: Contender, folder: Path, threads: int | None) -> dict[str, Any]:
    """Fit every draw once."""
    data = Data.load(folder)
    draws = data.X.reshape(DRAWS, -1, data.X.shape[1])
    few = draws[0][:WARM_UP_ROWS]
    return worker.run_after_warm_up(
        lambda: contender.fit(contender.build(), few, few[:, 0]),
        lambda: _fit_draws(contender, draws),
        threads,
    )


def _fit_draws(contender: Contender, draws: Array) -> dict[str, Any]:
    """Seconds of all draws, what was found in the mean, and in each."""
    before = worker.peak_mib()
    models, (wall, cpu) = worker.time_work(
        lambda: [contender.fit(contender.build(), Y, Y[:, 0]) for Y in draws]
    )
    used = worker.peak_mib() - before
    found = [contender.facts(model) for model in models]
    return {
        "fit_wall_s": wall,
        "fit_cpu_s": cpu,
        "fit_peak_mib": used,
        **{key: float(np.mean([each[key] for each in found])) for key in found[0]},
        "draws": found,
    }


def _contender(
    name: str, build: Callable[[], latent_models.LatentModel], needs: str | None = None
) -> Contender:
    return Contender(name, build, fit, facts=latent_models.facts, needs=needs)


def _task(rows: int) -> Task:
    name = f"{DRAWS} draws of smooth functions of {LATENT} latent coordinates"
    return Task(name, Size(rows, COLUMNS, 0), generate, score_nothing)


MOST_PROBABLE = Benchmark(
    name="latent_variables",
    title=f"Gaussian process latent variables, {STEPS} steps from principal components",
    tasks=(_task(200), _task(350), _task(500)),
    contenders=(
        _contender("posterity GPLVM", partial(latent_models.Posterity, LATENT, STEPS)),
        _contender("GPy GPLVM", partial(latent_models.GPy, LATENT, STEPS), needs="GPy"),
        _contender(
            "GPy GPLVM, noise from 0.1 as posterity's",
            partial(latent_models.GPy, LATENT, STEPS, 0.1),
            needs="GPy",
        ),
    ),
    note="Means over the draws, seconds of all. The log density, log p(Y given X), is what GPy "
    "maximises; posterity maximises the log posterior, which adds a prior of the points. Both are "
    "computed by one function from the points, kernel and noise of each. A step of GPy is an "
    "evaluation, one of posterity an iteration.",
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
    note="Means over the draws, seconds of all. Both tell the same lower bound of the log "
    "evidence, all constants included.",
)


def run(options: Options) -> None:
    """Measure and write the tables."""
    harness.run(MOST_PROBABLE, options, measure)
    harness.run(VARIATIONAL, options, measure)
