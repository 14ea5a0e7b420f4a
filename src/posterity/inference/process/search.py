"""Kernel parameters and noise of a Gaussian process, by the largest evidence.

Climbs start on a few hundred rows, and only the best of them goes on with eight times as many,
until it has all: a step on an eighth of the rows costs a five-hundredth, and the last steps are
few.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy import special

from posterity import kernels, linalg, optimize
from posterity.arrays import Array
from posterity.inference.process import exact, screening
from posterity.inference.process.observations import Observations
from posterity.inference.search import Objective, Searchable, negated

_FEW_ROWS = 500
_GROWTH = 8
_LEAST_GAIN = 1e-5  # nats: little, because valleys of the evidence are long and flat
_MANY_ROWS = 2000  # from which a step is dear, and more is asked of it
_COARSE = 100.0  # times as much while there are more rows to come
_FLAT = 0.1  # of the least gain, for e times a parameter: there is nothing left to gain
_PROBES = 20  # iterations from each of several starts
_LONGEST = 2.0  # step, in log parameters: a factor of seven
_SPREAD = 1.0  # standard deviation of restarts in log parameters
_MORE_NOISE = float(np.log(10.0))  # at a time, where a search cannot start for want of it
NO_SEARCH = optimize.Optimum(
    np.empty(0), np.nan, np.empty(0), 0, "every parameter was given", converged=True
)

S = TypeVar("S", bound=Searchable)


@dataclass(frozen=True)
class ProcessProblem:
    """What is searched: log parameters of the kernel and of the noise, between bounds.

    ``kernel`` is tuned; ``extra`` is added to it and is not (the prior of a mean function).
    ``jitter`` is a share of the mean prior variance that is added to the variance of each row.
    ``noise_scale`` is a variance: a learned noise has a prior of about this size, the half-Cauchy
    of its standard deviation.
    """

    X: Any
    observations: Observations
    kernel: kernels.Kernel
    bounds: Array  # (P, 2), log
    noise_variance: float
    noise_bounds: tuple[float, float] | None  # None: given, not learned
    extra: kernels.Kernel | None = None
    jitter: float = 0.0
    noise_scale: float | None = None

    @property
    def start(self) -> Array:
        """The log parameters to start from."""
        if self.noise_bounds is None:
            return self.kernel.theta
        return np.append(self.kernel.theta, np.log(self.noise_variance))

    @property
    def limits(self) -> Array:
        """Log bounds of all that is searched, (P, 2)."""
        if self.noise_bounds is None:
            return self.bounds
        return np.vstack([self.bounds, np.log(self.noise_bounds)])

    @property
    def names(self) -> list[str]:
        """What the parameters are called."""
        return self.kernel.names + ["noise_variance"] * (self.noise_bounds is not None)

    def at(self, theta: Array) -> tuple[kernels.Kernel, float]:
        """Kernel and noise variance at log parameters."""
        if self.noise_bounds is None:
            return self.kernel.at(theta), self.noise_variance
        return self.kernel.at(theta[:-1]), float(np.exp(theta[-1]))

    def total(self, kernel: kernels.Kernel) -> kernels.Kernel:
        """The kernel with what is added to it."""
        return kernel if self.extra is None else kernel + self.extra

    def log_prior(self, theta: Array) -> tuple[float, Array]:
        """Log density of the log noise variance, and its gradient in all parameters.

        The standard deviation has a half-Cauchy prior: as likely anywhere below its scale. Where
        rows do not tell noise from a rough function, that holds the noise up by half a nat for e
        times its variance; where they do, it counts as one row among many.
        """
        gradient = np.zeros_like(theta)
        if self.noise_bounds is None or self.noise_scale is None:
            return 0.0, gradient
        log_ratio = float(theta[-1]) - math.log(self.noise_scale)
        share = float(special.expit(log_ratio))
        gradient[-1] = 0.5 - share
        return 0.5 * log_ratio + math.log1p(-share) - math.log(math.pi), gradient

    def objective(self) -> Objective:
        """Minus the log evidence and prior, and their gradient; infinite where there is none."""
        evidence = exact.Evidence(self.X, self.observations, self.jitter)

        def value_and_gradient(theta: Array) -> tuple[float, Array]:
            kernel, noise = self.at(theta)
            value, gradient = evidence(self.total(kernel), noise)
            log_prior, slope = self.log_prior(theta)
            return value + log_prior, gradient[: len(theta)] + slope

        return negated(value_and_gradient)

    @property
    def n_rows(self) -> int:
        """N."""
        return self.observations.n_rows

    def resolution(self, theta: Array) -> float:
        """Of N pivots that may be as small as the noise, each with the rounding of a variance."""
        kernel, noise = self.at(theta)
        total = self.total(kernel)
        variance = exact.jitter_variance(total, self.X, 1.0)
        least = noise + self.jitter * variance
        return self.n_rows * optimize.optimum.EPS * variance / least if least else 0.0

    def among(self, rows: NDArray[np.intp]) -> ProcessProblem:
        """The same problem on these rows."""
        X = kernels.rows.chosen(self.X, rows)
        return replace(self, X=X, observations=self.observations.rows(rows))

    def order(self, rng: np.random.Generator) -> NDArray[np.intp]:
        """All rows, at random."""
        return rng.permutation(self.n_rows)

    def eased(self, theta: Array) -> Array | None:
        """With more noise, with which the covariance may have a factor; None at the bound."""
        most = self.limits[-1, 1]
        if self.noise_bounds is None or theta[-1] >= most:
            return None
        return np.append(theta[:-1], min(theta[-1] + _MORE_NOISE, most))

    def no_start(self, theta: Array) -> str:
        """That the covariance is singular, and what to do."""
        kernel, noise = self.at(theta)
        return (
            f"the covariance of the {self.n_rows} rows under {kernel}, with noise of variance "
            f"{noise:.3g}, is not positive definite. Rows that are nearly equal are the usual "
            "cause: use a larger noise_variance. Otherwise kernels.check_positive_definite tells "
            "whether the kernel is one"
        )


@dataclass(frozen=True)
class LearnedProcess:
    """The kernel and the noise variance of the largest evidence found, and how."""

    kernel: kernels.Kernel
    noise_variance: float
    optimum: optimize.Optimum
    probes: Array  # log evidence and prior that the first steps from each of several starts reached


def maximise_process_evidence(
    problem: ProcessProblem,
    *,
    starts: Sequence[Array] = (),
    max_iter: int = 200,
    n_jobs: int | None = None,
    rng: np.random.Generator,
    announce: bool = True,
) -> LearnedProcess:
    """Climb a little from every start, on a part of the rows where there are many.

    Only the best goes on: which basin is the deepest shows in the first steps.
    """
    if not len(problem.start):
        return LearnedProcess(problem.kernel, problem.noise_variance, NO_SEARCH, np.empty(0))
    exact.check_room(problem.observations)  # the first stages need little of it
    best, probes = search_by_stages(problem, starts, max_iter, n_jobs, rng, announce=announce)
    kernel, noise = problem.at(best.x)
    return LearnedProcess(kernel, noise, best, probes)


def search_by_stages(
    problem: Searchable,
    starts: Sequence[Array],
    max_iter: int,
    n_jobs: int | None,
    rng: np.random.Generator,
    *,
    announce: bool = True,
) -> tuple[optimize.Optimum, Array]:
    """The best optimum, and the log evidence that the first steps from each start reached."""
    stages = list(_stages(problem, rng))
    points = [problem.start, *starts]
    probes = _probe(stages[0], points, min(_PROBES, max_iter), n_jobs)
    best = min(probes, key=lambda probe: probe.value) if probes else _unclimbed(problem.start)
    n_before = stages[0].n_rows
    for stage in stages:
        n = stage.n_rows
        gain = _LEAST_GAIN * max(1.0, n / _MANY_ROWS) ** 2 * (1.0 if stage is problem else _COARSE)
        best = _climb(stage, best, max_iter, gain, grown=n / n_before, announce=announce)
        n_before = n
    return best, -np.array([probe.value for probe in probes])


def _probe(
    problem: Searchable, points: Sequence[Array], max_iter: int, n_jobs: int | None
) -> list[optimize.Optimum]:
    """The first steps from each of several points; none where there is no choice."""
    if len(points) == 1:
        return []
    tasks = (joblib.delayed(_first_steps)(problem, point, max_iter) for point in points)
    return list(joblib.Parallel(n_jobs=n_jobs, require="sharedmem")(tasks))


def _first_steps(problem: Searchable, point: Array, max_iter: int) -> optimize.Optimum:
    """Where a short climb leads; nowhere from a point at which there is no evidence."""
    try:
        return _climb(problem, _unclimbed(point), max_iter, _COARSE * _LEAST_GAIN, announce=False)
    except linalg.NotPositiveDefiniteError as error:
        return replace(_unclimbed(point), stop_reason=str(error))


def _unclimbed(point: Array) -> optimize.Optimum:
    return optimize.Optimum(point, np.inf, 0.0 * point, 0, "not begun", converged=False)


def _stages(problem: S, rng: np.random.Generator) -> Iterator[S]:
    """The problem on more and more of its rows, each part within the next, and on all."""
    n, size = problem.n_rows, _FEW_ROWS
    order = problem.order(rng) if n >= 2 * size else np.arange(n)
    while n >= 2 * size:
        yield problem.among(np.sort(order[:size]))
        size *= _GROWTH
    yield problem


def draw_random_starts(problem: Searchable, count: int, rng: np.random.Generator) -> list[Array]:
    """Points about the start, within bounds."""
    low, high = problem.limits.T
    shape = (count, len(low))
    return list(np.clip(problem.start + _SPREAD * rng.standard_normal(shape), low, high))


def draw_further_starts(problem: Searchable, count: int, rng: np.random.Generator) -> list[Array]:
    """One at which few columns matter, where each has a length scale; others at random."""
    screened = screening.screen_start(problem, rng) if count else None
    if screened is None:
        return draw_random_starts(problem, count, rng)
    return [screened, *draw_random_starts(problem, count - 1, rng)]


def _climb(
    problem: Searchable,
    start: optimize.Optimum,
    max_iter: int,
    gain: float,
    *,
    grown: float = 1.0,
    announce: bool = True,
) -> optimize.Optimum:
    """From where another climb ended, with what it learned of the curvature.

    A log evidence curves in proportion to the rows it is of, which have grown by a factor.
    """
    H = start.inverse_hessian
    with linalg.threads.limited(problem.n_rows):
        objective = problem.objective()
        x = _feasible(problem, objective, start.x)
        gain = max(gain, problem.resolution(x))
        return optimize.minimise_bfgs(
            objective,
            x,
            bounds=[(low, high) for low, high in problem.limits],
            names=problem.names,
            inverse_hessian=None if H is None else H / grown,
            longest_step=_LONGEST,
            max_iter=max_iter,
            tol=_FLAT * gain,
            least_gain=gain,
            announce=announce,
        )


def _feasible(problem: Searchable, objective: Objective, start: Array) -> Array:
    """The start, or the nearest at which there is an evidence."""
    theta = np.clip(start, *problem.limits.T)
    while not np.isfinite(objective(theta)[0]):
        eased = problem.eased(theta)
        if eased is None:
            raise linalg.NotPositiveDefiniteError(problem.no_start(theta))
        theta = eased
    return theta
