"""The most probable latent points, with the numbers of every term that judges them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import joblib
import numpy as np

from posterity import linalg, optimize
from posterity.arrays import Array
from posterity.inference.latents.placements import Placement
from posterity.inference.latents.terms import Term
from posterity.inference.searchable import Objective, negated

_LEAST_GAIN = 1e-6  # nats for each value observed: valleys are long, and their ends say little


@dataclass(frozen=True)
class Problem:
    """A sum of terms, as a function of where points are placed and of the terms' own numbers."""

    terms: tuple[Term, ...]
    placement: Placement
    n_values: int  # observed

    def packed(self, X: Array) -> Array:
        """The vector that a search from points X starts from."""
        return np.concatenate([self.placement.start(X), *(term.start for term in self.terms)])

    def unpacked(self, x: Array) -> tuple[Array, tuple[Array, ...]]:
        """The latent points, and the own numbers of each term."""
        own, used = [], self.placement.size
        for term in self.terms:
            own.append(x[used : used + len(term.start)])
            used += len(term.start)
        return self.placement.points(x[: self.placement.size]), tuple(own)

    @property
    def limits(self) -> Array:
        """Bounds of all that is searched, (P, 2)."""
        free = np.tile([-np.inf, np.inf], (self.placement.size, 1))
        return np.vstack([free, *(term.limits for term in self.terms)])

    @property
    def names(self) -> list[str]:
        """What it is called."""
        own = [name for term in self.terms for name in term.names]
        return [f"latent {i}" for i in range(self.placement.size)] + own

    def objective(self) -> Objective:
        """Minus the sum of the terms and its gradient; infinite where a term has no value."""

        def value_and_gradient(x: Array) -> tuple[float, Array]:
            X, own = self.unpacked(x)
            answers = [term(X, numbers) for term, numbers in zip(self.terms, own, strict=True)]
            dX = np.sum([answer[1] for answer in answers], axis=0)
            slopes = [self.placement.pulled_back(dX), *(answer[2] for answer in answers)]
            return sum(answer[0] for answer in answers), np.concatenate(slopes)

        return negated(value_and_gradient)


@dataclass(frozen=True)
class Learned:
    """The most probable latent points that were found, and how."""

    X: Array  # (N, Q)
    weights: Array  # of the placement
    own: tuple[Array, ...]  # of each term
    log_posterior: float
    optimum: optimize.Optimum
    ends: Array  # the log posterior that the search from each start reached


def maximise(
    problem: Problem, starts: Sequence[Array], *, max_iter: int, n_jobs: int | None = None
) -> Learned:
    """Climb from every start; the highest end counts.

    Warns
    -----
    ConvergenceWarning
        Where the best climb did not end by itself.
    """
    climbs = (joblib.delayed(_climb)(copy.deepcopy(problem), X, max_iter) for X in starts)
    ends = list(joblib.Parallel(n_jobs=n_jobs, prefer="threads")(climbs))
    best = optimize.optimum.announced(min(ends, key=lambda end: end.value))
    X, own = problem.unpacked(best.x)
    heights = -np.array([end.value for end in ends])
    return Learned(X, best.x[: problem.placement.size], own, -best.value, best, heights)


def _climb(problem: Problem, X: Array, max_iter: int) -> optimize.Optimum:
    """From one start, on a problem of one's own: terms keep the memory they work in."""
    with linalg.limited(len(X)):
        return optimize.minimise_lbfgs(
            problem.objective(),
            problem.packed(X),
            bounds=[(low, high) for low, high in problem.limits],
            names=problem.names,
            max_iter=max_iter,
            least_gain=_LEAST_GAIN * problem.n_values,
            announce=False,
        )
