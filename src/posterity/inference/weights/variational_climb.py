"""The climb to the normal that is nearest to a posterior of weights, whatever the weights are of.

Laplace's normal sits at the mode and has the curvature of the mode. Where classes hardly overlap
the rows are sure there and hardly curve: the normal is far too wide, and what is averaged over it
too near to even. The normal q that is nearest in the sense of Kullback and Leibler has
precision x mean = Z^T E_q[slope] and a Hessian of precision + Z^T E_q[curvature] Z, both averaged
over itself [OA 2.10]. It is found from Laplace's by damped replacement of both sides, along which
the lower bound of the evidence rises: a step is one pass over the rows, as one of Newton's is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from posterity import callers, linalg, optimize
from posterity.arrays import Array

TOLERANCE = 1e-3  # of the nats that the rows tell
MAX_STEPS = 60
_FEW_NATS = 10.0  # a thousandth of which is not worth a pass
_FASTER, _SLOWER = 1.25, 0.5  # of the pace, after a step that gained and one that did not
_SETTLED = 2  # steps in a row that make no difference: one may have gone too far by just so much


@dataclass(frozen=True)
class PassResult:
    """The expected likelihood under a normal of P weights, from a pass over the rows."""

    bound: float  # of log p(y), from below
    slope: Array  # (P,), of the bound in the mean
    hessian: Array  # (P, P), that averages over the normal ask for


Question = Callable[[Array, Array], PassResult]  # of the mean (P,) and of L (P, P), L L^T = H


@dataclass(frozen=True)
class ClimbStart:
    """Laplace's normal, from which a climb begins."""

    mode: Array  # (P,)
    L: Array  # (P, P), L L^T = H
    lean: Array  # (P,), by how much the mean lies beyond the mode, to first order
    total_weight: float  # of the rows
    log_evidence: float  # to Laplace's approximation

    @property
    def loss(self) -> float:
        """Nats, over all rows, that predictions at the mode lose to those at the mean."""
        return 0.5 * float(np.sum((self.lean @ np.tril(self.L)) ** 2))

    @property
    def nats(self) -> float:
        """How much the rows tell: one nat a row, or less where most rows are easily predicted.

        Two events among 2,000 rows tell 16 nats, in which two nats are not a rounding error.
        """
        return min(self.total_weight, max(_FEW_NATS, abs(self.log_evidence)))


@dataclass(frozen=True)
class NearestNormalEnd:
    """Where a climb ended, and why."""

    mean: Array  # (P,)
    L: Array
    bound: float
    largest_slope: float
    n_steps: int
    stop_reason: str
    converged: bool


def climb_to_nearest(
    start: ClimbStart, ask: Question, *, tol: float, max_steps: int
) -> NearestNormalEnd | None:
    """Step after step; None where rows are so many for each weight that none is worth its pass.

    Parameters
    ----------
    start : ClimbStart
        Of classes, under a prior that is not flat.
    ask : callable
        ``ask(mean, L)`` answers for the normal of that mean and of precision L L^T.
    tol : float
        Share of what the rows tell that makes no difference. No step is taken where predictions at
        the mode lose no more than that to those at the mean, to first order, and where the bound
        at Laplace's normal is at most as far below Laplace's evidence: a normal that is too wide
        may be where it should be. No further step where steps have changed the bound by less.
    max_steps : int
        Warns with ``optimize.ConvergenceWarning`` where these do not suffice.
    """
    if not start.L.size:
        return None
    least = tol * start.nats
    with linalg.limit_threads(len(start.L)):
        first = _ClimbState.from_start(start, ask)
        if max(start.loss, start.log_evidence - first.answer.bound) < least:
            return None
        return _climb_bound(first, ask, least, max_steps)


def _climb_bound(
    start: _ClimbState, ask: Question, least: float, max_steps: int
) -> NearestNormalEnd:
    """At the pace at which the bound rises."""
    at, pace, gain, n_steps, settled = start, 1.0, np.inf, 0, 0
    while settled < _SETTLED and n_steps < max_steps:
        trial = at.step(pace, ask)
        gain = trial.answer.bound - at.answer.bound
        settled = settled + 1 if abs(gain) < least else 0
        at, pace = (trial, min(1.0, _FASTER * pace)) if gain > 0.0 else (at, _SLOWER * pace)
        n_steps += 1
    converged = settled == _SETTLED
    reason = f"the last of {n_steps} steps changed the bound by {gain:.1g} nats"
    if not converged:
        message = f"the nearest normal was not found: {reason}; inference='laplace' does without"
        callers.warn_caller(message, optimize.ConvergenceWarning)
    largest = float(np.max(np.abs(at.answer.slope)))
    return NearestNormalEnd(at.mean, at.L, at.answer.bound, largest, n_steps, reason, converged)


@dataclass(frozen=True)
class _ClimbState:
    """A normal, with its expected likelihood and derivatives."""

    mean: Array
    H: Array
    L: Array
    answer: PassResult

    @classmethod
    def from_start(cls, start: ClimbStart, ask: Question) -> _ClimbState:
        L = np.tril(start.L)
        return cls(start.mode, L @ L.T, start.L, ask(start.mode, start.L))

    def step(self, pace: float, ask: Question) -> _ClimbState:
        """Some of the way to what is asked for: the mean by the Hessian that is reached."""
        H = self.H + pace * (self.answer.hessian - self.H)
        L = linalg.cholesky(H, max_jitter=0.0)
        mean = self.mean + pace * linalg.solve_cholesky(L, self.answer.slope)
        return _ClimbState(mean, H, L, ask(mean, L))
