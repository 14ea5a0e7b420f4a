"""Add, re-estimate, delete: steps of a sparse evidence whose columns have J weights each.

The J weights of a column share one precision h, infinite where the column is out. Columns are seen
through statistics only: A = Z^T B Z and b = Z^T B (working targets) with the curvature B frozen,
and Z^T c, what the evidence gains where a step moves the curvature. With the sparsity S (J, J) and
the qualities q, c (J,) of a column, the others as they are, and all three turned into the axes in
which S is diagonal, the column at h gains

    1/2 sum_j log(h / (h + s_j)) + u_j / (h + s_j),     u_j = q_j^2 + 2 q_j c_j.

One matrix holds what all steps need: minus the posterior covariance of the columns that are in,
the sparsities of those that are out, and regressions of the ones on the others. A step sweeps one
column in or out of it, at the cost of a product of rank J.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from posterity import linalg, priors
from posterity.arrays import Array
from posterity.linalg import eigen

_DEPENDENT = 1e-11  # of its square: what is left of a column that others can replace
_GRID = 10.0 ** np.arange(-8.0, 8.01, 0.25)  # precisions, in units of the mean sparsity
_NEWTON_STEPS = 40
_MAX_STEPS = 200  # on a frozen curvature
_LEVEL = 1e-8  # in a log precision: the step from there doubles the digits
_EQUAL = 1e-6  # of a gain
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class BlockMoments:
    """w columns of J weights each, as the steps see them."""

    A: Array  # (w, J, w, J)
    B: Array  # (w, J, 2): of the working targets, and of c

    def without_last(self, precision: Array) -> BlockMoments:
        """The other columns, when the last is in for good, of prior precision (J, J)."""
        w, J = self.A.shape[:2]
        L = linalg.cholesky(self.A[-1, :, -1, :] + precision, max_jitter=0.0)
        G = self.A[-1, :, :-1, :].reshape(J, (w - 1) * J)
        R = linalg.solve_lower(L, np.hstack([G, self.B[-1]]))
        moved = R[:, :-2].T @ R
        A = self.A[:-1, :, :-1, :] - moved[:, :-2].reshape(w - 1, J, w - 1, J)
        return BlockMoments(A, self.B[:-1] - moved[:, -2:].reshape(w - 1, J, 2))


@dataclass(frozen=True)
class BlockSteps:
    """Result of the sequential steps."""

    h: Array  # (w,), infinite where a column is out
    W: Array  # (w, J), weights of largest posterior while the curvature stays
    n_steps: int
    gained: float
    converged: bool


def maximise_block_evidence(
    moments: BlockMoments,
    h: Array,
    prior: priors.Sparse,
    *,
    tol: float = 1e-3,
    relative: float = 0.0,
    max_steps: int | None = None,
) -> BlockSteps:
    """The best step, and the next, until none gains more than ``tol``.

    Nor more than ``relative`` of what all have gained: far from the mode that they lead to, the
    curvature is not worth many small steps.
    """
    table = _SweptMatrix(moments, h)
    taken, gained, converged = 0, 0.0, False
    most = _MAX_STEPS if max_steps is None else max_steps
    while taken < most:
        best, gains = table.best_moves(prior)
        k = _best_column(gains, np.isfinite(table.h))
        if k < 0 or gains[k] <= max(tol, relative * gained):
            converged = True
            break
        table.move_column(k, float(best[k]))
        taken, gained = taken + 1, gained + float(gains[k])
    return BlockSteps(table.h, table.posterior_means(), taken, gained, converged)


def _best_column(gains: Array, inside: NDArray[np.bool_]) -> int:
    """Which gains most; rather one that is in, than its equal that would join it."""
    return int(np.argmax(gains * np.where(inside, 1.0 + _EQUAL, 1.0))) if len(gains) else -1


def gains_at(h: Array, s: Array, u: Array, prior: priors.Sparse) -> Array:
    """What columns of s, u (b, J) gain at precisions h (b,) or (..., b) over being out."""
    x = h[..., None]
    with np.errstate(invalid="ignore"):
        value = 0.5 * np.sum(u / (x + s) - np.log1p(s / x), axis=-1)
    return np.where(np.isinf(h), 0.0, value + prior.penalty(h))


def best_precisions(s: Array, u: Array, prior: priors.Sparse) -> tuple[Array, Array]:
    """The best precision of each column, infinite where it is better out, and what it gains.

    The gain may have several maxima: the search is over a grid, then in the best of its cells.
    """
    unit = np.maximum(np.mean(s, axis=1), _TINY)
    coarse = gains_at(_GRID[:, None] * unit, s, u, prior)
    i = np.argmax(coarse, axis=0)
    h, within = _GRID[i] * unit, (i > 0) & (i < len(_GRID) - 1)
    low, high = (np.log(_GRID[i[within] + step] * unit[within]) for step in (-1, 1))
    h[within] = np.exp(_level_log_precisions(low, high, s[within], u[within], prior))
    gain = gains_at(h, s, u, prior)
    out = ~(gain > 0.0)
    return np.where(out, np.inf, h), np.where(out, 0.0, gain)


def _level_log_precisions(
    low: Array, high: Array, s: Array, u: Array, prior: priors.Sparse
) -> Array:
    """Log precisions between these at which the gain is level, by Newton's method.

    A step that would leave what is known to hold the maximum is a bisection instead.
    """
    t = 0.5 * (low + high)
    for _ in range(_NEWTON_STEPS):
        slope, curvature = _gain_derivatives(np.exp(t), s, u, prior.degrees_of_freedom)
        low, high = np.where(slope > 0.0, t, low), np.where(slope > 0.0, high, t)
        step = np.divide(slope, curvature, out=np.full_like(t, np.inf), where=curvature < 0.0)
        inside = (t - step > low) & (t - step < high)
        following = np.where(inside, t - step, 0.5 * (low + high))
        moved, t = np.abs(following - t), following
        if np.all(moved <= _LEVEL):
            break
    return t


def _gain_derivatives(h: Array, s: Array, u: Array, nu: float) -> tuple[Array, Array]:
    """First and second derivative of the gain in the log precision, (b,)."""
    x = h[:, None]
    share = x / (x + s)
    slope = 0.5 * np.sum((1.0 - share) - u * share / (x + s), axis=1) + 0.5 * nu * (1.0 - h)
    change = share * (1.0 - share)
    curvature = -0.5 * np.sum(change + u * share * (s - x) / (x + s) ** 2, axis=1) - 0.5 * nu * h
    return slope, curvature


def rotate_to_axes(S: Array, q: Array) -> tuple[Array, Array]:
    """Eigenvalues s (b, J) of S (b, J, J), and q (b, J, 2) turned into the axes of S."""
    F = eigen.semidefinite_factors(S)
    s = np.sum(F * F, axis=1)
    length = np.sqrt(np.maximum(s, _TINY))
    return s, np.matmul(F.transpose(0, 2, 1), q) / length[:, :, None]


def add_curvature_move(q: Array) -> Array:
    """u (b, J) of qualities (b, J, 2), with what the move of the curvature adds."""
    return q[:, :, 0] ** 2 + 2.0 * q[:, :, 0] * q[:, :, 1]


class _SweptMatrix:
    """The swept matrix, and what is known of each column."""

    def __init__(self, moments: BlockMoments, h: Array) -> None:
        w, self.J = moments.A.shape[:2]
        n = w * self.J
        self.M = np.array(moments.A.reshape(n, n), order="C")
        self.U = np.array(moments.B.reshape(n, 2))
        self.h = np.full(w, np.inf)
        self._least = _DEPENDENT * np.einsum("iijj->i", moments.A.transpose(0, 2, 1, 3))
        self._sweep_in(np.flatnonzero(np.isfinite(h)), h)

    def best_moves(self, prior: priors.Sparse) -> tuple[Array, Array]:
        """The best precision of each column, and what a move there gains."""
        w, J = len(self.h), self.J
        blocks = self.M.reshape(w, J, w, J)
        V = blocks[np.arange(w), :, np.arange(w), :]  # (w, J, J)
        inside = np.isfinite(self.h)
        V[inside] *= -1.0
        s, q = rotate_to_axes(V, self.U.reshape(w, J, 2))
        # The axes of a covariance are those of the sparsity it stands for.
        variance = np.maximum(s[inside], _TINY)
        s[inside] = np.maximum(1.0 / variance - self.h[inside, None], 0.0)
        q[inside] /= variance[:, :, None]
        u = add_curvature_move(q)
        best, gains = best_precisions(s, u, prior)
        lost = (np.sum(s, axis=1) <= self._least) & np.isinf(self.h)
        best[lost], gains[lost] = np.inf, 0.0
        m = int(np.sum(inside))
        gains[~inside] -= prior.price(m)
        cheap = inside & (gains < prior.price(m - 1)) if m else inside
        best[cheap], gains[cheap] = np.inf, prior.price(m - 1)
        return best, gains - gains_at(self.h, s, u, prior)

    def move_column(self, k: int, h: float) -> None:
        """Column k to the precision h, from wherever it is."""
        J, rows = self.J, slice(k * self.J, (k + 1) * self.J)
        V, u, X = self.M[rows, rows].copy(), self.U[rows].copy(), self.M[:, rows].copy()
        one = np.eye(J)
        was_in, goes_in = np.isfinite(self.h[k]), np.isfinite(h)
        P = _invert(-V) if was_in else one  # takes the column out
        S = P - self.h[k] * one if was_in else V
        D = _invert(S + h * one) if goes_in else one
        change = (P if was_in else 0.0) - (P @ D @ P if goes_in else 0.0)
        F = D @ P if goes_in else P
        self._add_outer_product(X @ change, X)
        self.U += X @ (change @ u)
        self.M[rows], self.M[:, rows], self.U[rows] = F @ X.T, X @ F.T, F @ u
        self.M[rows, rows] = -D if goes_in else S
        self.h[k] = h

    def posterior_means(self) -> Array:
        """Posterior means, (w, J); zero where a column is out."""
        W = self.U[:, 0].reshape(len(self.h), self.J)
        return np.where(np.isfinite(self.h)[:, None], W, 0.0)

    def _add_outer_product(self, X: Array, Y: Array) -> None:
        """X Y^T, which is symmetric, to the matrix in place."""
        blas.dgemm(1.0, X, Y, beta=1.0, c=self.M.T, trans_b=True, overwrite_c=True)

    def _sweep_in(self, columns: NDArray[np.intp], h: Array) -> None:
        """Sweep these columns in, all at once."""
        if not len(columns):
            return
        J = self.J
        inside = (columns[:, None] * J + np.arange(J)).reshape(-1)
        outside = np.setdiff1d(np.arange(len(self.M)), inside)
        K = self.M[np.ix_(inside, inside)]
        i = np.arange(len(inside))
        K[i, i] += np.repeat(h[columns], J)
        L = linalg.cholesky(K, max_jitter=0.0)
        G = self.M[np.ix_(inside, outside)]
        R = linalg.solve_lower(L, np.hstack([G, self.U[inside]]))
        n = len(outside)
        regressed = linalg.solve_lower_transposed(L, R)
        self.M[np.ix_(outside, outside)] -= R[:, :n].T @ R[:, :n]
        self.U[outside] -= R[:, :n].T @ R[:, n:]
        self.M[np.ix_(inside, outside)] = regressed[:, :n]
        self.M[np.ix_(outside, inside)] = regressed[:, :n].T
        self.M[np.ix_(inside, inside)] = -linalg.inverse_from_cholesky(L)
        self.U[inside] = regressed[:, n:]
        self.h[columns] = h[columns]


def _invert(A: Array) -> Array:
    """Return the inverse of a small positive definite matrix."""
    return linalg.inverse_from_cholesky(linalg.cholesky(A, max_jitter=0.0))
