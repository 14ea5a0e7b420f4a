"""One log evidence of a Gaussian process with its gradient, beside peers and beside LAPACK.

No evaluation that inverts the matrix can be faster than the factorisation and the inversion, which
are LAPACK's dpotrf and dpotri: they are the floor, timed in turns with the evaluation, in the same
process, on the same matrix.
"""

import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import lapack
from scipy.spatial import distance

from benchmarks import friedman, harness, processes, tensor_processes, worker
from benchmarks.cases import Array, Benchmark, Contender, Data, Size, Task
from benchmarks.options import Options

_TURNS = 3


def measure(task: Task, contender: Contender, folder: Path, threads: int | None) -> dict[str, Any]:
    """Seconds of an evaluation and of the floor, and the memory it takes, in matrices."""
    del task
    data = Data.load(folder)
    return worker.run_after_warm_up(
        lambda: _measure_evaluation(contender, data.small()),
        lambda: _measure_evaluation(contender, data),
        threads,
    )


def _measure_evaluation(contender: Contender, data: Data) -> dict[str, float]:
    """The first call is for compilers and buffers; its memory counts, its time does not."""
    y = (data.y - data.y.mean()) / data.y.std()
    worker.forget_peak()
    before = worker.peak_mib()
    evaluate = contender.fit(contender.build(), data.X, y)
    value, _ = evaluate()
    evaluate()
    added = worker.peak_mib() - before
    K = covariance(data.X, processes.GIVEN)
    turns = [(worker.time_work(evaluate)[1], floor(K)) for _ in range(_TURNS)]
    seconds = statistics.median(wall for (wall, _), _ in turns)
    least = statistics.median(wall for _, wall in turns)
    return {
        "evaluation_wall_s": seconds,
        "evaluation_cpu_s": statistics.median(cpu for (_, cpu), _ in turns),
        "floor_wall_s": least,
        "times_floor": seconds / least,
        "matrices": added * 2**20 / (8 * len(K) ** 2),
        "log_evidence": float(value),
    }


def covariance(X: Array, parameters: processes.Parameters) -> Array:
    """Return the covariance of the targets, in LAPACK's memory order."""
    Z = X / parameters.lengths(X)
    K = parameters.variance * np.exp(-0.5 * distance.cdist(Z, Z, "sqeuclidean"))
    K[np.diag_indices_from(K)] += parameters.noise_variance
    return np.asfortranarray(K)


def floor(K: Array) -> float:
    """Wall seconds of the Cholesky factor and the inverse, in the memory of a copy."""
    A = K.copy(order="F")
    start = time.perf_counter()
    L, _ = lapack.dpotrf(A, lower=1, clean=0, overwrite_a=1)
    lapack.dpotri(L, lower=1, overwrite_c=1)
    return time.perf_counter() - start


def evaluation(process: processes.Process, X: Array, y: Array) -> processes.Evaluation:
    """What a contender of this benchmark does in place of a fit."""
    return process.evaluation(X, y)


def _contender(
    name: str, kind: Callable[..., processes.Process], needs: str | None = None
) -> Contender:
    return Contender(name, partial(kind, processes.GIVEN), fit=evaluation, needs=needs)


def _task(rows: int) -> Task:
    size = Size(rows, friedman.COLUMNS, test_rows=10)
    return Task("Friedman's function", size, friedman.generate, friedman.score)


BENCHMARK = Benchmark(
    name="gaussian_process_evaluation",
    title="Gaussian process regression: one log evidence with its gradient, ten parameters",
    tasks=(_task(500), _task(1_000), _task(2_000), _task(4_000)),
    contenders=(
        _contender("posterity", processes.Posterity),
        _contender("scikit-learn", processes.ScikitLearn),
        _contender("GPy", processes.GPy, needs="GPy"),
        _contender("GPyTorch, Cholesky", tensor_processes.GPyTorch, needs="gpytorch"),
        _contender("tinygp", tensor_processes.TinyGP, needs="tinygp"),
    ),
    note="The floor is LAPACK's dpotrf and dpotri of the same matrix, which every exact evaluation "
    "needs, in the same process and in turns. Memory is what building the model and evaluating "
    "twice add to the process, in units of the covariance matrix.",
)


def run(options: Options) -> None:
    """Measure and write the tables."""
    harness.run(BENCHMARK, options, measure)
