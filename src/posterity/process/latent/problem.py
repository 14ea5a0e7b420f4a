"""Kernel and likelihood parameters of a latent Gaussian process, by the largest evidence.

The search is that of :mod:`~posterity.inference.search`; the evidence is whatever an engine
says it is: Laplace's, that of expectation propagation, or that of several coupled functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from posterity import kernels, likelihoods, optimize
from posterity.arrays import Array
from posterity.inference.averaging import Hyperprior
from posterity.inference.search import EvidenceProblem, Objective, negate_evidence
from posterity.process.latent.density import LatentTargets

_FEW_VALUES = 50  # distinct targets up to which every part of the rows holds all of them

L = TypeVar("L", likelihoods.Likelihood, likelihoods.Coupled)
Evidence = Callable[[kernels.Kernel, L], tuple[float, Array]]
Engine = Callable[[Any, LatentTargets], Evidence[L]]


@dataclass(frozen=True)
class LatentProblem(EvidenceProblem["LearnedLatent[L]"], Generic[L]):
    """The log parameters of kernel and likelihood that are searched, between bounds.

    A parameter of the likelihood whose two bounds are equal was given, and is not searched.
    """

    X: Any
    targets: LatentTargets
    kernel: kernels.Kernel
    bounds: Array  # (P, 2), log
    likelihood: L
    likelihood_bounds: Array  # (Q, 2), log
    engine: Engine[L]
    typical: Array | None = None  # (P,), log parameters; None: the start

    @property
    def start(self) -> Array:
        """The log parameters to start from."""
        return np.append(self.kernel.theta, self.likelihood.theta[self._is_searched])

    @property
    def limits(self) -> Array:
        """Log bounds of all that is searched, (P, 2)."""
        return np.vstack([self.bounds, self.likelihood_bounds[self._is_searched]])

    @property
    def names(self) -> list[str]:
        """Names of the parameters."""
        own = [self.likelihood.names[i] for i in np.flatnonzero(self._is_searched)]
        return self.kernel.names + own

    @property
    def hyperprior(self) -> Hyperprior:
        """Weak priors of all that is searched."""
        return Hyperprior.weak(self.start if self.typical is None else self.typical)

    @property
    def n_rows(self) -> int:
        """Number of rows, N."""
        return self.targets.n_rows

    def unpack_parameters(self, theta: Array) -> tuple[kernels.Kernel, L]:
        """Kernel and likelihood at log parameters."""
        P = len(self.kernel.theta)
        own = self.likelihood.theta
        own[self._is_searched] = theta[P:]
        return self.kernel.with_theta(theta[:P]), self.likelihood.with_parameters(own)

    def objective(self) -> Objective:
        """Minus the log evidence and its gradient; infinite where neither exists."""
        evidence = self.engine(self.X, self.targets)
        searched = np.append(np.ones(len(self.kernel.theta), dtype=bool), self._is_searched)

        def value_and_gradient(theta: Array) -> tuple[float, Array]:
            value, gradient = evidence(*self.unpack_parameters(theta))
            return value, gradient[searched]

        return negate_evidence(value_and_gradient)

    def check_room(self) -> None:
        """Refuse rows for which the engine has not enough memory."""
        self.engine(self.X, self.targets)

    def describe(self, best: optimize.Optimum, probes: Array) -> LearnedLatent[L]:
        """The kernel and the likelihood at an optimum, or as given where nothing is learned."""
        kernel, likelihood = self.kernel, self.likelihood
        if len(best.x):
            kernel, likelihood = self.unpack_parameters(best.x)
        return LearnedLatent(kernel, likelihood, best, probes)

    def select_rows(self, rows: NDArray[np.intp]) -> LatentProblem[L]:
        """The same problem on these rows."""
        return replace(
            self, X=kernels.rows.select_rows(self.X, rows), targets=self.targets.select_rows(rows)
        )

    def draw_order(self, rng: np.random.Generator) -> NDArray[np.intp]:
        """All rows at random; where targets have few values, any first few hold them in proportion.

        The very first rows hold every value once.
        """
        shuffled = rng.permutation(self.n_rows)
        _, value, count = np.unique(
            self.targets.y[shuffled], return_inverse=True, return_counts=True
        )
        if len(count) > _FEW_VALUES:
            return shuffled
        by_value = np.argsort(value, kind="stable")
        nth = np.empty(self.n_rows)
        nth[by_value] = np.arange(self.n_rows) - np.repeat(np.cumsum(count) - count, count)
        place = np.where(nth == 0.0, -1.0, (nth + 0.5) / count[value])
        return shuffled[np.argsort(place, kind="stable")]

    def explain_no_start(self, theta: Array) -> str:
        """Say that no posterior exists there, and what to do."""
        kernel, likelihood = self.unpack_parameters(theta)
        return (
            f"the latent values of the {self.n_rows} rows have no posterior under {kernel} and "
            f"{likelihood}. kernels.check_positive_definite tells whether the kernel is one"
        )

    @property
    def _is_searched(self) -> NDArray[np.bool_]:
        return self.likelihood_bounds[:, 0] < self.likelihood_bounds[:, 1]


@dataclass(frozen=True)
class LearnedLatent(Generic[L]):
    """The kernel and the likelihood of the largest evidence found, and how."""

    kernel: kernels.Kernel
    likelihood: L
    optimum: optimize.Optimum
    probes: Array  # the log evidence that the first steps from each of several starts reached
