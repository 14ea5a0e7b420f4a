"""What columns offer to a softmax model in which all classes share them, at its mode.

A column has J weights, one for each contrast of the classes. At the mode minus the Hessian of the
log likelihood of a row is h_n (J, J), its gradient d_n, and c_n is what moves with the curvature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from posterity import designs, linalg, optimize, priors
from posterity.arrays import Array
from posterity.designs.candidates import CandidateBlock
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.problem import (
    PosteriorObjective,
    WeightProblem,
    weighted_gram,
    weighted_products,
)
from posterity.inference.weights.targets import RowTargets
from posterity.sparse import blocks
from posterity.sparse.blocks import BlockMoments
from posterity.sparse.problem import Places, SparseModel, SparseProblem, weight_problem
from posterity.sparse.scores import rank_columns

_COLUMNS_AT_ONCE = 128
_APPROACH = 60  # gradients
_EXPENSIVE = 1e7  # operations of a Hessian
_NEAR = 3e-5  # slope, in units of the posterior's standard deviations
_DEPENDENT = 1e-11  # of its square: what is left of a column that others can replace


def _is_expensive(problem: WeightProblem) -> bool:
    """Whether gradients alone are much cheaper than Hessians, where both need a pass."""
    M, J = problem.shape
    return problem.design.in_memory and problem.design.n_rows * float(M * J) ** 2 > _EXPENSIVE


def _approach_mode(problem: WeightProblem, A: Array, start: Array) -> Array:
    """Weights near the mode, by gradients alone: Hessians of J weights a column are expensive."""
    x0 = start.reshape(-1)
    if not len(x0):
        return start
    L = linalg.cholesky(problem.prior.add_precision(A), max_jitter=0.0)
    passes = PosteriorObjective(problem, hessian=False, surely_positive=False)

    def loss(v: Array) -> tuple[float, Array]:
        value, g = passes.value_and_gradient(x0 + linalg.solve_lower_transposed(L, v))
        return value, linalg.solve_lower(L, g)

    best = optimize.minimise_lbfgs(
        loss, np.zeros(len(x0)), max_iter=_APPROACH, tol=_NEAR, announce=False
    )
    return (x0 + linalg.solve_lower_transposed(L, best.x)).reshape(start.shape)


class SharedScores:
    """Sparsity and qualities of any column beside those in use."""

    def __init__(self, fit: LaplaceFit) -> None:
        t, design = fit.problem.targets, fit.problem.design
        self.fit, self.Z = fit, design.rows(0, design.n_rows)
        A = t.latents(self.Z @ fit.weights.W)
        self.slope, self.h = t.slope(A), t.curvature(A)
        self.c = -0.5 * t.curvature_pullback(A, fit.spread(self.Z))
        moved = (self.Z.T @ self.c).reshape(-1)
        self._moved = linalg.solve_cholesky(fit.L, moved) if len(moved) else moved

    def rank(self, block: CandidateBlock) -> Array:
        """Squared qualities by sparsities, as if no column were in use, (b,): cheap to have."""
        return rank_columns(block, self.slope, np.einsum("njj->n", self.h))

    def exact(self, Z: Array) -> tuple[Array, Array]:
        """S (b, J, J), and Q beside C (b, J, 2), of standardised columns Z (N, b).  [TF 2003]"""
        b, J = Z.shape[1], self.h.shape[1]
        squares = ((Z * Z).T @ self.h.reshape(-1, J * J)).reshape(b, J, J)
        S, C = condition_on_used(squares, Z.T @ self.c, self._products(Z), self.fit, self._moved)
        return S, np.stack([Z.T @ self.slope, C], axis=2)

    def _products(self, Z: Array) -> Array:
        """Z^T h (columns in use), (b J, m J)."""
        (b, J), m = (Z.shape[1], self.h.shape[1]), self.Z.shape[1]
        return weighted_products(Z, self.h, self.Z).reshape(b * J, m * J)

    def gains(self, block: CandidateBlock, within: Places, prior: priors.Sparse) -> Array:
        """What columns of a block, by their positions, would gain, (k,)."""
        gains = np.zeros(len(within))
        for i in range(0, len(within), _COLUMNS_AT_ONCE):
            some = slice(i, i + _COLUMNS_AT_ONCE)
            gains[some] = gross_gains(*self.exact(block.select_columns(within[some])), prior)
        return np.maximum(gains - prior.price(self.fit.problem.prior.n_weights), 0.0)

    def shortlist(self, model: SparseModel, block: CandidateBlock, short: Places) -> SharedWork:
        """The columns in use, and those of these positions in a block."""
        m = len(model.places)
        Z = np.hstack([self.Z[:, :m], block.select_columns(short), self.Z[:, m:]])
        H = weighted_gram(designs.Dense(Z), self.h)

        def design(columns: Places) -> designs.Design:
            return designs.Dense(Z[:, columns])

        places = block.places[short]
        return SharedWork.from_moments(model, places, H, Z.T @ self.slope, Z.T @ self.c, design)


def gross_gains(S: Array, Q: Array, prior: priors.Sparse) -> Array:
    """Gains (b,), before a price, of columns of sparsities S (b, J, J), qualities Q (b, J, 2)."""
    s, q = blocks.rotate_to_axes(S, Q)
    left = np.sum(s, axis=1) > 0.0
    gains = np.zeros(len(s))
    gains[left] = blocks.best_precisions(s[left], blocks.add_curvature_move(q[left]), prior)[1]
    return gains


def condition_on_used(
    S: Array, C: Array, G: Array, fit: LaplaceFit, moved: Array
) -> tuple[Array, Array]:
    """S (b, J, J) and C (b, J) of columns that see G (b J, m J) of those in use.  [TF 2003]"""
    b, J = C.shape
    least = _DEPENDENT * np.einsum("bjj->b", S)
    if G.shape[1]:
        T = linalg.solve_lower(fit.L, np.ascontiguousarray(G.T))
        R = T.T.reshape(b, J, G.shape[1])
        S = S - np.matmul(R, R.transpose(0, 2, 1))
        C = C - (G @ moved).reshape(b, J)
    S[np.einsum("bjj->b", S) <= least] = 0.0
    return S, C


@dataclass(frozen=True)
class SharedWork:
    """Columns in use and columns on the shortlist, among which steps are taken."""

    places: Places  # (w,)
    h: Array  # (w,), infinite where a column is out
    W: Array  # (w or w + 1, J): weights so far
    A: Array  # (w or w + 1, J, w or w + 1, J): the Hessian of minus the log likelihood
    moments: BlockMoments  # of the w columns; the offset is in for good
    targets: RowTargets
    design: Callable[[Places], designs.Design]  # of some of the w or w + 1

    @classmethod
    def from_moments(
        cls,
        model: SparseModel,
        places: Places,
        H: Array,
        slope: Array,
        c: Array,
        design: Callable[[Places], designs.Design],
    ) -> SharedWork:
        """Gather columns in use and those at these places on the shortlist.

        From the Hessian H (w J, w J) and from the sums over rows, (w, J), of all columns times
        slopes and times c.
        """
        p, m, n = model.fit.problem, len(model.places), len(places)
        W = np.insert(model.fit.weights.W, [m] * n, np.zeros(n)[:, None], axis=0)
        w, J = W.shape
        b = (H @ W.reshape(-1)).reshape(w, J) + slope
        A = H.reshape(w, J, w, J)
        moments = BlockMoments(A, np.stack([b, c], axis=2))
        if p.prior.offset_precision is not None:
            moments = moments.without_last(p.prior.offset_precision)
        h = np.append(model.precision, np.full(n, np.inf))
        return cls(np.append(model.places, places), h, W, A, moments, p.targets, design)

    def model_at(self, h: Array, problem: SparseProblem) -> SparseModel:
        """The columns of finite precision, at precisions h.

        The mode is sought from the last, where the Hessian of minus the log likelihood is like A.
        """
        kept, w = np.isfinite(h), len(h)
        columns = np.append(np.flatnonzero(kept), np.arange(w, len(self.W)))
        J = np.arange(self.W.shape[1])
        n = len(columns) * len(J)
        design, start = self.design(columns), self.W[columns]
        weights = weight_problem(h[kept], design, self.targets)
        if _is_expensive(weights):
            A = self.A[np.ix_(columns, J, columns, J)].reshape(n, n)
            start = _approach_mode(weights, A, start)
        return SparseModel.from_columns(
            self.places[kept], h[kept], design, self.targets, problem.prior, start
        )


@dataclass(frozen=True)
class AllColumns:
    """All columns of a design, as the one block that there is."""

    places: Places

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Nothing is known against any: one that does not vary has nothing to offer."""
        return np.ones(len(self.places), dtype=np.bool_)

    def blocks(self) -> Iterator[AllColumns]:
        """Yield all columns, which are one block."""
        yield self


@dataclass(frozen=True)
class DesignScores:
    """The sums over rows at the mode, of P columns: all, and ones where there is an offset."""

    columns: designs.Standardized
    fit: LaplaceFit
    used: Places  # (m,) or (m + 1,): columns in use, the ones included
    H: Array  # (P, J, P, J)
    slope: Array  # (P, J)
    c: Array  # (P, J)

    @classmethod
    def from_pass(cls, columns: designs.Standardized, model: SparseModel) -> DesignScores:
        """Sum over the rows in one pass."""
        fit, W = model.fit, model.fit.weights.W
        ones = np.arange(columns.n_columns - columns.offset, columns.n_columns)
        used = np.append(model.places, ones)

        def terms(part: designs.Design, t: RowTargets) -> list[Array]:
            Z = part.rows(0, part.n_rows)[:, used]
            A = t.latents(Z @ W)
            c = -0.5 * t.curvature_pullback(A, fit.spread(Z))
            gram = weighted_gram(part, t.curvature(A))
            return [gram, part.rmatvec(t.slope(A)), part.rmatvec(c)]

        H, slope, c = fit.problem.targets.sum_over_parts(columns, terms)
        P, J = slope.shape
        return cls(columns, fit, used, H.reshape(P, J, P, J), slope, c)

    @cached_property
    def _moved(self) -> Array:
        moved = self.c[self.used].reshape(-1)
        return linalg.solve_cholesky(self.fit.L, moved) if len(moved) else moved

    def rank(self, block: AllColumns) -> Array:
        """Squared qualities by sparsities, as if no column were in use, (b,): cheap to have."""
        i = block.places
        Q2 = np.sum(self.slope[i] ** 2, axis=1)
        D = np.einsum("ijij->i", self.H)[i]
        return np.divide(Q2, D, out=np.zeros_like(Q2), where=D > 0.0)

    def gains(self, block: AllColumns, within: Places, prior: priors.Sparse) -> Array:
        """What columns, by their positions, would gain, (k,)."""
        i, J = block.places[within], self.slope.shape[1]
        squares = np.einsum("ijik->ijk", self.H[i][:, :, i, :])
        G = self.H[i][:, :, self.used, :].reshape(len(i) * J, len(self.used) * J)
        S, C = condition_on_used(squares.copy(), self.c[i], G, self.fit, self._moved)
        gross = gross_gains(S, np.stack([self.slope[i], C], axis=2), prior)
        return np.maximum(gross - prior.price(self.fit.problem.prior.n_weights), 0.0)

    def shortlist(self, model: SparseModel, block: AllColumns, short: Places) -> SharedWork:
        """The columns in use, and those of these positions."""
        m, J = len(model.places), self.slope.shape[1]
        places = block.places[short]
        i = np.concatenate([self.used[:m], places, self.used[m:]])
        H = self.H[i][:, :, i, :].reshape(len(i) * J, len(i) * J)

        def design(among: Places) -> designs.Design:
            kept = i[among]
            inner = kept[kept < len(self.columns.center)]
            return self.columns.select_columns(np.append(inner, self.columns.ones))

        return SharedWork.from_moments(model, places, H, self.slope[i], self.c[i], design)
