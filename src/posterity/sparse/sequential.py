"""The sequential maximisation of a sparse evidence, from the moments of columns in memory.

The compiled steps update the posterior by rank-one changes; it is computed anew, from a
factorisation, often enough for their rounding never to matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import linalg, priors
from posterity.arrays import Array
from posterity.sparse import steps
from posterity.sparse.steps import CURVED, DEPENDENT, KNOWN, LEARNED, StepState

__all__ = [
    "CURVED",
    "DEPENDENT",
    "KNOWN",
    "LEARNED",
    "LEAST_NOISE",
    "Moments",
    "SequentialSteps",
    "evidence",
    "gains",
]

_STEPS_AT_ONCE = 100
_MAX_STEPS = 10_000
LEAST_NOISE = 1e-12
"""Of the sum of squares: below it there is rounding only."""


@dataclass(frozen=True)
class Moments:
    """w columns Z and K targets Y, as the steps see them."""

    A: Array  # (w, w): Z^T B Z
    B: Array  # (w, K): Z^T B Y; CURVED: Z^T B (working targets), and Z^T c
    E: Array  # (K,): the sums of squares of the targets, where the noise is learned
    n: float  # rows, less one for an offset, where the noise is learned
    kind: int
    fixed: NDArray[np.bool_]  # (w,): not moved
    n_offsets: int  # columns that are always in, and do not pay for it

    @classmethod
    def from_products(
        cls,
        A: Array,
        B: Array,
        *,
        kind: int,
        E: Array | None = None,
        n: float = 1.0,
        fixed: NDArray[np.bool_] | None = None,
    ) -> Moments:
        """All columns free by default; those that are fixed are offsets."""
        given = np.ones(B.shape[1]) if E is None else E
        held = np.zeros(len(A), dtype=np.bool_) if fixed is None else fixed
        n_offsets = int(np.sum(held))
        return cls(
            np.ascontiguousarray(A), np.ascontiguousarray(B), given, n, kind, held, n_offsets
        )

    @property
    def floor(self) -> Array:
        """The least sum of squares that says anything of the noise."""
        return LEAST_NOISE * self.E if self.kind == LEARNED else np.full_like(self.E, -np.inf)


@dataclass(frozen=True)
class PosteriorFactor:
    """Factor of a posterior precision, P = L L^T, and its inverse.

    There are many more products with it than columns in it: one with the inverse of a small factor
    is two or three times faster than substitution.
    """

    L: Array  # (m, m)
    L_inverse: Array  # (m, m)

    @classmethod
    def from_precision(cls, P: Array) -> PosteriorFactor:
        """Without jitter: prior precisions are positive."""
        L = linalg.cholesky(P, max_jitter=0.0)
        return cls(L, linalg.solve_lower(L, np.eye(len(L))))


@dataclass(frozen=True)
class SequentialSteps:
    """Result of the sequential steps."""

    h: Array  # (w,), infinite where a column is out
    n_steps: int
    gained: float
    converged: bool


def maximise_evidence(
    moments: Moments,
    h: Array,
    prior: priors.Sparse,
    *,
    tol: float = 1e-3,
    max_steps: int | None = None,
    factor: PosteriorFactor | None = None,
) -> SequentialSteps:
    """The best step, and the next, until none gains more than ``tol``.

    The factor, where it is at hand, is that of the columns that are in at the start.
    """
    reached, taken, gained = h.copy(), 0, 0.0
    most = _MAX_STEPS if max_steps is None else max_steps
    with linalg.limit_threads(len(h)):
        while taken < most:
            m, state = _start_state(moments, reached, prior, None if taken else factor)
            more = min(_STEPS_AT_ONCE, most - taken)
            n_steps, gain = steps.take_steps(state, m, tol, more)
            taken, gained = taken + n_steps, gained + gain
            if n_steps < more:
                return SequentialSteps(reached, taken, gained, converged=True)
    return SequentialSteps(reached, taken, gained, converged=False)


def gains(
    kind: int, S: Array, Q: Array, E: Array, n: float, prior: priors.Sparse, m: int = 0
) -> Array:
    """What each column that is out, of sparsity S (b,) and qualities Q (b, K), would gain.

    There are m columns in.
    """
    found = steps.gains(
        kind, S, np.ascontiguousarray(Q), E, float(n), float(prior.degrees_of_freedom)
    )
    return np.maximum(found - prior.price(m), 0.0)


def evidence(moments: Moments, h: Array, L: Array | None = None) -> float:
    """The log evidence of targets with known noise, or learned noise at its best.

    Where the noise is known it is without the targets' own constants. L, where it is at hand, is
    the factor of the posterior precision.
    """
    used = np.flatnonzero(np.isfinite(h))
    K = moments.B.shape[1]
    if L is None:
        L = linalg.cholesky(_posterior_precision(moments, h, used), max_jitter=0.0)
    T = linalg.solve_lower(L, moments.B[used])
    log_det = K * (linalg.log_determinant(L) - float(np.sum(np.log(h[used]))))
    explained = np.sum(T * T, axis=0)
    if moments.kind == KNOWN:
        return 0.5 * (float(np.sum(explained)) - log_det)
    noise = np.maximum(moments.E - explained, moments.floor) / moments.n
    return -0.5 * (log_det + moments.n * float(np.sum(np.log(2.0 * np.pi * noise) + 1.0)))


def _posterior_precision(moments: Moments, h: Array, used: NDArray[np.intp]) -> Array:
    """H + A of the columns that are in."""
    P = moments.A[np.ix_(used, used)]
    i = np.arange(len(used))
    P[i, i] += h[used]
    return P


def _start_state(
    moments: Moments, h: Array, prior: priors.Sparse, factor: PosteriorFactor | None = None
) -> tuple[int, StepState]:
    """The posterior of the columns that are in, with room for more, and what the others offer."""
    A, B = moments.A, moments.B
    used = np.flatnonzero(np.isfinite(h))
    m, room = len(used), min(len(h), len(used) + _STEPS_AT_ONCE)
    order = np.zeros(room, dtype=np.intp)
    order[:m] = used
    Sigma, Mu = np.zeros((room, room)), np.zeros((room, B.shape[1]))
    S, Q, E = np.diagonal(A).copy(), B.copy(), moments.E.copy()
    if m:
        if factor is None:
            factor = PosteriorFactor.from_precision(_posterior_precision(moments, h, used))
        L_inverse = factor.L_inverse
        Sigma[:m, :m] = L_inverse.T @ L_inverse
        T, t = L_inverse @ A[used], L_inverse @ B[used]
        S -= np.einsum("mw,mw->w", T, T)
        Mu[:m] = L_inverse.T @ t
        Q -= T.T @ t
        if moments.kind == LEARNED:
            E = np.maximum(E - np.sum(t * t, axis=0), moments.floor)
    return m, StepState(
        moments.kind,
        moments.n,
        float(prior.degrees_of_freedom),
        int(prior.among),
        A,
        moments.fixed,
        moments.n_offsets,
        moments.floor,
        h,
        order,
        Sigma,
        Mu,
        S,
        Q,
        E,
    )
