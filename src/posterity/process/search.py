"""Kernel parameters and noise of a Gaussian process, by the largest evidence.

From a start at which all columns matter a little, a function that is fast along one column and flat
along thirty looks like noise: along every length scale the evidence falls before it rises. So each
column is tried by itself, at a few lengths, on a few rows, while the others stay as they are:
the one by which the evidence rises most first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from posterity import kernels, optimize
from posterity.arrays import Array
from posterity.inference.averaging import Hyperprior
from posterity.inference.observations import Observations
from posterity.inference.search import (
    EvidenceProblem,
    Objective,
    draw_random_starts,
    negate_evidence,
)
from posterity.process import exact

_MORE_NOISE = float(np.log(10.0))  # at a time, where a search cannot start without more
_SCREEN_ROWS = 200
_FLAT = 3.0  # log of the factor by which a column that does not matter is longer than at the start
_LENGTHS = np.array([-1.5, -3.0])  # likewise, of a column that is tried: a fifth, a twentieth
_PASSES = 2  # a column may matter only beside another
_MOST_COLUMNS = 40  # that are tried beside others: those that do best by themselves


@dataclass(frozen=True)
class ProcessProblem(EvidenceProblem["LearnedProcess"]):
    """The log parameters of kernel and noise that are searched, between bounds.

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
    typical: Array | None = None  # (P,), log parameters of the kernel; None: the start

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
        """Names of the parameters."""
        return self.kernel.names + ["noise_variance"] * (self.noise_bounds is not None)

    def unpack_parameters(self, theta: Array) -> tuple[kernels.Kernel, float]:
        """Kernel and noise variance at log parameters."""
        if self.noise_bounds is None:
            return self.kernel.with_theta(theta), self.noise_variance
        return self.kernel.with_theta(theta[:-1]), float(np.exp(theta[-1]))

    def add_mean_prior(self, kernel: kernels.Kernel) -> kernels.Kernel:
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

    @property
    def hyperprior(self) -> Hyperprior:
        """Weak priors of the kernel's parameters; that of the noise is part of the objective."""
        learns_noise = self.noise_bounds is not None
        typical = self.kernel.theta if self.typical is None else self.typical
        return Hyperprior.weak(typical, n_own=int(learns_noise))

    def objective(self) -> Objective:
        """Minus the log evidence and prior, and their gradient; infinite if undefined."""
        evidence = exact.Evidence(self.X, self.observations, self.jitter)

        def value_and_gradient(theta: Array) -> tuple[float, Array]:
            kernel, noise = self.unpack_parameters(theta)
            value, gradient = evidence(self.add_mean_prior(kernel), noise)
            log_prior, slope = self.log_prior(theta)
            return value + log_prior, gradient[: len(theta)] + slope

        return negate_evidence(value_and_gradient)

    @property
    def n_rows(self) -> int:
        """Number of rows, N."""
        return self.observations.n_rows

    def resolution(self, theta: Array) -> float:
        """Return the rounding of N pivots as small as the noise, each that of a variance."""
        kernel, noise = self.unpack_parameters(theta)
        total = self.add_mean_prior(kernel)
        variance = exact.jitter_variance(total, self.X, 1.0)
        least = noise + self.jitter * variance
        return self.n_rows * optimize.optimum.EPS * variance / least if least else 0.0

    def check_room(self) -> None:
        """Refuse rows whose covariances do not fit into memory."""
        exact.check_room(self.observations)

    def describe(self, best: optimize.Optimum, probes: Array) -> LearnedProcess:
        """The kernel and the noise variance at an optimum, or as given where nothing is learned."""
        kernel, noise = (
            self.unpack_parameters(best.x) if len(best.x) else (self.kernel, self.noise_variance)
        )
        return LearnedProcess(kernel, noise, best, probes)

    def select_rows(self, rows: NDArray[np.intp]) -> ProcessProblem:
        """The same problem on these rows."""
        X = kernels.rows.select_rows(self.X, rows)
        return replace(self, X=X, observations=self.observations.select_rows(rows))

    def ease_start(self, theta: Array) -> Array | None:
        """Add noise, with which the covariance may have a factor; None at the bound."""
        most = self.limits[-1, 1]
        if self.noise_bounds is None or theta[-1] >= most:
            return None
        return np.append(theta[:-1], min(theta[-1] + _MORE_NOISE, most))

    def explain_no_start(self, theta: Array) -> str:
        """That the covariance is singular, and what to do."""
        kernel, noise = self.unpack_parameters(theta)
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
    Z: Any = None  # (M, D) inducing points, or M objects; None without


def draw_further_starts(
    problem: EvidenceProblem[Any], count: int, rng: np.random.Generator
) -> list[Array]:
    """One at which few columns matter, where each has a length scale; others at random."""
    screened = screen_start(problem, rng) if count else None
    if screened is None:
        return draw_random_starts(problem, count, rng)
    return [screened, *draw_random_starts(problem, count - 1, rng)]


def screen_start(problem: EvidenceProblem[Any], rng: np.random.Generator) -> Array | None:
    """Log parameters with columns that matter short and others long; None with one length for all.

    Examples
    --------
    >>> from posterity import kernels
    >>> from posterity.inference.observations import Observations
    >>> X = np.random.default_rng(0).normal(size=(80, 3))
    >>> kernel, bounds = kernels.Scaled(kernels.RBF(ard=True)).search_start(X)
    >>> y = Observations.from_targets(np.sin(9.0 * X[:, :1]))
    >>> problem = ProcessProblem(X, y, kernel, bounds, 0.1, None)
    >>> start = screen_start(problem, np.random.default_rng(0))
    >>> (start - kernel.theta)[1:]
    array([-3.,  3.,  3.])
    """
    places = [i for i, name in enumerate(problem.names) if name.endswith("]") and "length_" in name]
    if len(places) < 2:
        return None
    few = problem.select_rows(np.sort(problem.draw_order(rng)[:_SCREEN_ROWS]))
    low, high = few.limits.T
    theta = few.start.copy()
    theta[places] += _FLAT
    theta, objective = np.clip(theta, low, high), few.objective()

    def try_column(i: int, value: float, theta: Array) -> tuple[float, Array]:
        """The best of the lengths along a column, where it lowers the value."""
        before = theta
        for length in np.clip(problem.start[i] + _LENGTHS, low[i], high[i]):
            if length != before[i]:
                tried = before.copy()
                tried[i] = length
                if (found := objective(tried)[0]) < value:
                    theta, value = tried, found
        return value, theta

    value = objective(theta)[0]
    alone = {i: try_column(i, np.inf, theta)[0] for i in places}
    for i in sorted(places, key=alone.__getitem__)[:_MOST_COLUMNS] * _PASSES:
        value, theta = try_column(i, value, theta)
    return theta
