"""GaussianProcessRegressor beside its peers: a whole fit, and predictions with deviations.

The second page is of processes whose parameters are given, with more rows: what conditioning and
predicting alone take.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import friedman, harness, processes, standardised, tensor_processes, worker
from benchmarks.cases import Benchmark, Contender, Scores, Size, Task
from benchmarks.options import Options


def measure(task: Task, contender: Contender, folder: Path, threads: int | None) -> dict[str, Any]:
    """Fit and predict once; the sum too, because some packages factorise when they predict."""
    numbers = worker.measure(task, contender, folder, threads)
    return numbers | {"whole_wall_s": numbers["fit_wall_s"] + numbers["predict_wall_s"]}


def facts(fitted: standardised.Standardised) -> Scores:
    """What the process says of the standardised targets."""
    return processes.facts(fitted.model)


def _contender(
    name: str, build: Callable[[], processes.Process], needs: str | None = None
) -> Contender:
    return Contender(
        name, build, standardised.fit, standardised.predict_with_std, facts=facts, needs=needs
    )


def _task(rows: int) -> Task:
    size = Size(rows, friedman.COLUMNS)
    return Task("Friedman's function", size, friedman.generate, friedman.score)


def _give_parameters(kind: Callable[..., processes.Process]) -> Callable[[], processes.Process]:
    return partial(kind, processes.GIVEN)


LEARNED = Benchmark(
    name="gaussian_process",
    title="Gaussian process regression, every parameter learned; predictions with deviations",
    tasks=(_task(500), _task(1_000), _task(2_000)),
    contenders=(
        _contender("posterity GaussianProcessRegressor", processes.PosterityDefaults),
        _contender("posterity, the model of the others", processes.Posterity),
        _contender("scikit-learn GaussianProcessRegressor", processes.ScikitLearn),
        _contender("GPy GPRegression", processes.GPy, needs="GPy"),
        _contender("GPyTorch ExactGP, L-BFGS", tensor_processes.GPyTorch, needs="gpytorch"),
        _contender("tinygp, L-BFGS-B", tensor_processes.TinyGP, needs="tinygp"),
    ),
    note="Every contender sees targets of mean zero and variance one; the log evidence is theirs. "
    "By default posterity has a rational quadratic kernel, an offset that it integrates over, and "
    "tries three starts; the others have an RBF kernel and no offset, as posterity has in the "
    "second row, and try one. tinygp compiles for each number of rows, and that is counted.",
)

FIXED = Benchmark(
    name="gaussian_process_given",
    title="Gaussian process regression, every parameter given; predictions with deviations",
    tasks=(_task(1_000), _task(2_000), _task(4_000)),
    contenders=(
        _contender("posterity GaussianProcessRegressor", _give_parameters(processes.Posterity)),
        _contender(
            "scikit-learn GaussianProcessRegressor", _give_parameters(processes.ScikitLearn)
        ),
        _contender("GPy GPRegression", _give_parameters(processes.GPy), needs="GPy"),
        _contender(
            "GPyTorch ExactGP", _give_parameters(tensor_processes.GPyTorch), needs="gpytorch"
        ),
        _contender("tinygp", _give_parameters(tensor_processes.TinyGP), needs="tinygp"),
    ),
    note="GPyTorch and tinygp factorise when they predict, so that their fit is next to nothing: "
    "compare the sum. tinygp compiles for each number of rows, and that is counted.",
)


def run(options: Options) -> None:
    """Measure and write the tables."""
    harness.run(LEARNED, options, measure)
    harness.run(FIXED, options, measure)
