"""The objectives of the textbook's alternation: normal noise, and any likelihood by Laplace.

In normal noise it is seen from moments of columns and outputs alone. Learned noise is at its best
for any precisions, and so for those of the end: there it is what [P8 8.39] would have it be. The
curvature of a likelihood moves with the mode, which [P9 9.43] leaves out; here it is in, so that a
fixed point is a stationary point of the evidence.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import designs, linalg, priors
from posterity.arrays import Array
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.problem import WeightProblem
from posterity.inference.weights.targets import RowTargets
from posterity.linalg import eigen
from posterity.sparse.problem import Places, weight_problem

_DEPENDENT = 1e-11  # of its square: what is left of a column that others can replace
_EPS = float(np.finfo(np.float64).eps)
_LEAST_NOISE = 1e-12  # of the sum of squares: below it there is rounding only
_LEAST_PRECISION = 1e-13  # of a column's square
_NORMAL_ROUNDING = 1e-14  # of the log density of one observation
_LAPLACE_ROUNDING = 1e-10  # of the log density of one row, at a mode found by iteration


@dataclass(frozen=True)
class PrecisionState:
    """The objective at some precisions, and where its stationary points are to be looked for."""

    h: Array  # (M,), infinite where a column is out
    value: float
    step: Array  # (M,), in log h, to where the fixed point asks; 0 where a column is out
    told: Array  # (M,), from 0 to 1: how much of a weight's information is the data's
    worth: Array  # (M,), what the objective loses, or so, without a column; infinite for one out


class PrecisionObjective(abc.ABC):
    """An objective in the precisions of M columns."""

    prior: priors.Sparse

    @property
    @abc.abstractmethod
    def n_outputs(self) -> int:
        """How many weights share a precision."""

    @property
    @abc.abstractmethod
    def rounding_error(self) -> float:
        """A difference of the objective that means nothing."""

    @abc.abstractmethod
    def even_precisions(self) -> Array:
        """All columns in with one precision, of the right size; infinite for columns of no use."""

    @abc.abstractmethod
    def evaluate_at(self, h: Array, near: PrecisionState | None) -> PrecisionState:
        """The objective at h; ``near`` is a state at precisions not far away."""

    @abc.abstractmethod
    def offers_of_excluded(self, state: PrecisionState) -> tuple[Array, Array]:
        """s (M,) and u (M,) of the columns that are out, s = 0 for one that others replace.

        The evidence's derivative in 1 / h, at zero, is half of ``u - n_outputs * s``.
        """


@dataclass(frozen=True)
class NormalState(PrecisionState):
    """With the posterior of the weights in use."""

    L: Array  # (m, m), L L^T = H + Z^T W Z
    mu: Array  # (m, K)
    noise: Array  # (K,)


@dataclass(frozen=True)
class NormalObjective(PrecisionObjective):
    """Moments of M columns and K outputs; precisions are in units of the noise."""

    A: Array  # (M, M): Z^T W Z
    B: Array  # (M, K): Z^T W Y
    E: Array  # (K,): Y^T W Y
    n: float  # rows, less one for an offset
    noise: Array | None  # (K,), where it is known
    prior: priors.Sparse

    @classmethod
    def from_columns(
        cls,
        Z: Array,
        Y: Array,
        weights: Array | None,
        *,
        centred: bool,
        noise_variance: Array | None,
        prior: priors.Sparse,
    ) -> NormalObjective:
        """From standardised columns.

        In learned noise an output that does not vary says nothing of any column: it is left out, as
        are all of them where the rows count as one or less, and an offset takes that one.
        """
        w = np.ones(len(Y)) if weights is None else weights
        total = float(np.sum(w))
        center = w @ Y / total if centred else np.zeros(Y.shape[1])
        n = total - float(centred)
        spread = np.sqrt(w @ (Y - center) ** 2 / total)
        if noise_variance is None:
            told = (spread > 8.0 * _EPS * np.sqrt(len(Y)) * np.abs(center)) & (n > 0.0)
            Y, center = Y[:, told], center[told]
        R = Y - center
        WR, WZ = w[:, None] * R, Z if weights is None else w[:, None] * Z
        E = np.einsum("nk,nk->k", R, WR)
        return cls(Z.T @ WZ, Z.T @ WR, E, n, noise_variance, prior)

    @property
    def n_outputs(self) -> int:
        """K."""
        return self.B.shape[1]

    @property
    def rounding_error(self) -> float:
        """Of a sum over all observations."""
        return _NORMAL_ROUNDING * self.n * self.n_outputs

    def even_precisions(self) -> Array:
        """Columns that together are as large as the noise."""
        use = find_distinct(self.A)
        return np.where(use, max(1.0, float(np.sum(use))), np.inf)

    def evaluate_at(self, h: Array, near: PrecisionState | None) -> NormalState:
        floor = _LEAST_PRECISION * np.diagonal(self.A)
        precision = np.maximum(h, floor)
        used = np.flatnonzero(np.isfinite(precision))
        H, B, K = precision[used], self.B[used], self.n_outputs
        L = linalg.cholesky(self.A[np.ix_(used, used)] + np.diag(H), max_jitter=0.0)
        mu = linalg.solve_cholesky(L, B)  # [P8 8.37]
        E = np.maximum(self.E - np.sum(B * mu, axis=0), _LEAST_NOISE * self.E)
        noise = E / self.n if self.noise is None else self.noise
        sigma = np.diagonal(linalg.inverse_from_cholesky(L))
        told, mu2 = 1.0 - H * sigma, np.sum(mu * mu / noise, axis=1)
        value = self._log_evidence(linalg.log_determinant(L) - float(np.sum(np.log(H))), E)
        penalty = self.prior.penalty(H)
        step = np.log(update_precisions(self.prior, K * told, mu2) / H)  # [P8 8.36]
        worth = 0.5 * (K * np.log(H * sigma) + self._explained_by_columns(mu, sigma, E)) + penalty
        worth -= self.prior.price(len(used) - 1)
        return NormalState(
            precision,
            value + self.prior.log_density_of_choice(H),
            spread_over_columns(len(h), used, step, 0.0),
            spread_over_columns(len(h), used, told, 0.0),
            spread_over_columns(len(h), used, worth, np.inf),
            L,
            mu,
            noise,
        )

    def offers_of_excluded(self, state: PrecisionState) -> tuple[Array, Array]:
        assert isinstance(state, NormalState)
        used = np.flatnonzero(np.isfinite(state.h))
        T = linalg.solve_lower(state.L, self.A[used])
        square = np.diagonal(self.A)
        S = square - np.einsum("mw,mw->w", T, T)
        Q = self.B - self.A[:, used] @ state.mu
        return remaining_sparsity(S, square, state.h), np.sum(Q * Q / state.noise, axis=1)

    def _log_evidence(self, log_det: float, E: Array) -> float:
        """log p(Y), with E = Y^T W Y - Y^T W Z mu; learned noise is at its best, E / n."""
        noise = E / self.n if self.noise is None else self.noise
        rows = float(np.sum(self.n * np.log(2.0 * np.pi * noise) + E / noise))
        return -0.5 * (self.n_outputs * log_det + rows)

    def _explained_by_columns(self, mu: Array, sigma: Array, E: Array) -> Array:
        """Twice what the rows lose of their log density when a column goes, (m,)."""
        more = mu * mu / sigma[:, None]  # of E
        if self.noise is None:
            return self.n * np.sum(np.log1p(more / E), axis=1)
        return np.sum(more / self.noise, axis=1)


@dataclass(frozen=True)
class LaplaceState(PrecisionState):
    """With the mode of the weights in use."""

    fit: LaplaceFit


@dataclass(frozen=True)
class LaplaceObjective(PrecisionObjective):
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
    def rounding_error(self) -> float:
        """Of a sum over all rows."""
        return _LAPLACE_ROUNDING * self.targets.total_weight

    def even_precisions(self) -> Array:
        """Columns that together move latent values by what is typical of them."""
        use = find_distinct(self.Z.T @ self.Z)
        size = max(1.0, float(np.sum(use))) / self.targets.typical_variance
        return np.where(use, size, np.inf)

    def evaluate_at(self, h: Array, near: PrecisionState | None) -> LaplaceState:
        used = np.flatnonzero(np.isfinite(h))
        H, J = h[used], self.n_outputs
        problem = self._weight_problem(used, H)
        fit = LaplaceFit.from_problem(problem, self._starting_weights(used, near))
        W, T = fit.weights.W[: len(used)], _own_blocks(fit, len(used))
        told = J - H * np.einsum("mjj->m", T)
        w2 = np.sum(W * W, axis=1)
        # What the mode, as it moves, makes of the curvature: the rest of the exact gradient.
        curved = told - H * w2 - 2.0 * np.sum(fit.precision_gradient(), axis=1)
        up = np.maximum(told, 0.0) + np.maximum(-curved, 0.0)
        down = w2 + (np.maximum(curved, 0.0) + np.maximum(-told, 0.0)) / H
        step = np.log(update_precisions(self.prior, up, down) / H)  # [P9 9.43]
        penalty = self.prior.penalty(H)
        worth = _column_worths(W, T, H) + penalty - self.prior.price(len(used) - 1)
        return LaplaceState(
            h,
            fit.log_evidence + self.prior.log_density_of_choice(H),
            spread_over_columns(len(h), used, step, 0.0),
            spread_over_columns(len(h), used, told / J, 0.0),
            spread_over_columns(len(h), used, worth, np.inf),
            fit,
        )

    def offers_of_excluded(self, state: PrecisionState) -> tuple[Array, Array]:
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
        s = remaining_sparsity(S, square, state.h)
        return s / J, np.sum(Q * Q + 2.0 * Q * C, axis=1)

    def _weight_problem(self, used: Places, H: Array) -> WeightProblem:
        ones = np.ones((len(self.Z), int(self.offset)))
        design = designs.Dense(np.hstack([self.Z[:, used], ones]))
        return weight_problem(H, design, self.targets)

    def _starting_weights(self, used: Places, near: PrecisionState | None) -> Array | None:
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


def _column_worths(W: Array, T: Array, H: Array) -> Array:
    """What the evidence loses without each column, were the curvature to stay, (m,).

    0.5 * (log det(h T) + w^T T^-1 w), for weights w of a column with posterior covariance T.
    """
    F = eigen.semidefinite_factors(T)
    size = np.sum(F * F, axis=1)
    along = np.einsum("mji,mj->mi", F, W) / size
    return 0.5 * np.sum(np.log(H[:, None] * size) + along * along, axis=1)


def find_distinct(A: Array) -> NDArray[np.bool_]:
    """Which columns, of products A = Z^T W Z, are neither zero nor the same as an earlier one."""
    size = np.sqrt(np.diagonal(A))
    found = size > 0.0
    for j in np.flatnonzero(found):
        if found[j]:
            same = A[j, j + 1 :] ** 2 >= (1.0 - _DEPENDENT) * (size[j] * size[j + 1 :]) ** 2
            found[j + 1 :] &= ~same
    return found


def remaining_sparsity(S: Array, square: Array, h: Array) -> Array:
    """The sparsities S of columns that are out, 0 for those that are in or that others replace."""
    replaced = _DEPENDENT * square >= S
    return np.where(np.isfinite(h) | replaced, 0.0, S)


def spread_over_columns(n_columns: int, used: Places, values: Array, otherwise: float) -> Array:
    """Values of the columns in use, and one for all others, (M,)."""
    every = np.full(n_columns, otherwise)
    every[used] = values
    return every


def update_precisions(prior: priors.Sparse, g: ArrayLike, mu2: ArrayLike) -> Array:
    """The next precisions of the textbook's alternation.  [P8 8.36]

    Parameters
    ----------
    prior : Sparse
    g : array-like
        1 - h Sigma_mm: how well the data determine each weight, from 0 to 1. Where several
        outputs share a precision, the sum over them.
    mu2 : array-like
        Squares of the posterior means in units of the noise, summed likewise.
    """
    nu = prior.degrees_of_freedom
    below = np.asarray(mu2, dtype=np.float64) + nu
    new = np.full(np.broadcast_shapes(np.shape(g), below.shape), np.inf)
    return np.divide(np.asarray(g) + nu, below, out=new, where=below > 0.0)
