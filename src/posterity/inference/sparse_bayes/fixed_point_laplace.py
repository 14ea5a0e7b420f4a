"""The objective of a sparse model of any likelihood, by Laplace, for the fixed point.

The curvature of a likelihood moves with the mode, which [P9 9.43] leaves out; here it is in, so
that a fixed point is a stationary point of the evidence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posterity import designs, linalg, priors
from posterity.arrays import Array
from posterity.inference.sparse_bayes import fixed_point
from posterity.inference.sparse_bayes.fixed_point import Model, Places, State, of_all
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.prior import WeightPrior
from posterity.inference.weights.problem import WeightProblem
from posterity.inference.weights.targets import RowTargets
from posterity.linalg import eigen

_ROUNDING = 1e-10  # of the log density of one row, at a mode found by iteration


@dataclass(frozen=True)
class LaplaceState(State):
    """With the mode of the weights in use."""

    fit: LaplaceFit


@dataclass(frozen=True)
class LaplaceModel(Model):
    """Standardised columns, and rows of any likelihood."""

    Z: Array  # (N, M)
    targets: RowTargets
    offset: bool
    prior: priors.Sparse

    @property
    def n_outputs(self) -> int:
        """J."""
        return self.targets.n_outputs

    @property
    def rounding(self) -> float:
        """Of a sum over all rows."""
        return _ROUNDING * self.targets.total_weight

    def even(self) -> Array:
        """Columns that together move latent values by what is typical of them."""
        use = fixed_point.distinct(self.Z.T @ self.Z)
        size = max(1.0, float(np.sum(use))) / self.targets.typical_variance
        return np.where(use, size, np.inf)

    def at(self, h: Array, near: State | None) -> LaplaceState:
        used = np.flatnonzero(np.isfinite(h))
        H, J = h[used], self.n_outputs
        problem = self._problem(used, H)
        fit = LaplaceFit.of(problem, self._start(used, near))
        W, T = fit.weights.W[: len(used)], _own_blocks(fit, len(used))
        told = J - H * np.einsum("mjj->m", T)
        w2 = np.sum(W * W, axis=1)
        # What the mode, as it moves, makes of the curvature: the rest of the exact gradient.
        curved = told - H * w2 - 2.0 * np.sum(fit.precision_gradient(), axis=1)
        up = np.maximum(told, 0.0) + np.maximum(-curved, 0.0)
        down = w2 + (np.maximum(curved, 0.0) + np.maximum(-told, 0.0)) / H
        step = np.log(self.prior.updated(up, down) / H)  # [P9 9.43]
        penalty = self.prior.penalty(H)
        worth = _worth(W, T, H) + penalty - self.prior.price(len(used) - 1)
        return LaplaceState(
            h,
            fit.log_evidence + self.prior.total(H),
            of_all(len(h), used, step, 0.0),
            of_all(len(h), used, told / J, 0.0),
            of_all(len(h), used, worth, np.inf),
            fit,
        )

    def offers(self, state: State) -> tuple[Array, Array]:
        assert isinstance(state, LaplaceState)
        fit, t, Z = state.fit, self.targets, self.Z
        J = self.n_outputs
        X = fit.problem.design.rows(0, len(Z))
        A = t.latents(X @ fit.weights.W)
        d, b = t.slope(A), t.curvature(A)
        c = -0.5 * t.curvature_pullback(A, fit.spread(X))
        V = linalg.solve_cholesky(fit.L, (X.T @ c).reshape(-1)).reshape(X.shape[1], J)
        moved = np.matmul(b, (X @ V)[:, :, None])[:, :, 0]
        square = (Z * Z).T @ np.einsum("njj->n", b)
        S = square.copy()
        for j in range(J):
            G = np.stack([X.T @ (b[:, k, j, None] * Z) for k in range(J)], axis=1)
            P = linalg.solve_lower(fit.L, G.reshape(-1, Z.shape[1]))
            S -= np.einsum("mw,mw->w", P, P)
        Q, C = Z.T @ d, Z.T @ (c - moved)
        s = fixed_point.left_over(S, square, state.h)
        return s / J, np.sum(Q * Q + 2.0 * Q * C, axis=1)

    def _problem(self, used: Places, H: Array) -> WeightProblem:
        ones = np.ones((len(self.Z), int(self.offset)))
        design = designs.Dense(np.hstack([self.Z[:, used], ones]))
        precision = self.targets.offset_precision if self.offset else None
        return WeightProblem(design, self.targets, WeightPrior(H, design.n_columns, precision))

    def _start(self, used: Places, near: State | None) -> Array | None:
        """The last weights of the columns that are in, 0 for others."""
        if near is None:
            return None
        assert isinstance(near, LaplaceState)
        before = np.flatnonzero(np.isfinite(near.h))
        W = np.zeros((len(near.h), self.n_outputs))
        W[before] = near.fit.weights.W[: len(before)]
        return np.vstack([W[used], near.fit.weights.W[len(before) :]])


def _own_blocks(fit: LaplaceFit, m: int) -> Array:
    """Covariances of the J weights of each column, (m, J, J)."""
    return np.einsum("mjmk->mjk", fit.covariance[:m, :, :m, :])


def _worth(W: Array, T: Array, H: Array) -> Array:
    """What the evidence loses without each column, were the curvature to stay, (m,).

    0.5 * (log det(h T) + w^T T^-1 w), for weights w of a column with posterior covariance T.
    """
    F = eigen.semidefinite_factors(T)
    size = np.sum(F * F, axis=1)
    along = np.einsum("mji,mj->mi", F, W) / size
    return 0.5 * np.sum(np.log(H[:, None] * size) + along * along, axis=1)
