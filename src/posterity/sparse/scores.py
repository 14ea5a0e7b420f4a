"""What columns offer to Laplace's approximation of a sparse model, at its mode.

Each latent value has weights of its own, each with a precision. At the mode minus the Hessian of
the log likelihood is B, its gradient is d, and the weights in use have covariance Sigma. A column z
of latent value k that is out has sparsity and quality

    S = z^T B_kk z - z^T B_k Z Sigma Z^T B_k z,    Q = z^T d_k.  [TF 2003]

B moves with the mode. With c_n = -1/2 (dB_n / da_n) Var(a_n) and C = z^T c - z^T B Z Sigma Z^T c
the derivative of the evidence in 1 / h, at zero, is exactly 1/2 (Q^2 - S) + Q C.

Where a likelihood is not log-concave, B are weights that are positive in any case: a model with
negative ones need not have a maximum. Steps planned on them are good ones, not the best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import designs, linalg, priors
from posterity.arrays import Array
from posterity.designs.candidates import CandidateBlock
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.problem import weighted_gram
from posterity.inference.weights.targets import RowTargets
from posterity.sparse import sequential
from posterity.sparse.problem import Places, SparseModel, SparseProblem
from posterity.sparse.sequential import CURVED, DEPENDENT, Moments

Used = NDArray[np.bool_]


def gains(S: Array, Q: Array, prior: priors.Sparse, m: int) -> Array:
    """What columns of sparsities S (b,) and qualities Q (b, 2) would gain beside m precisions."""
    return sequential.gains(CURVED, S, Q, np.ones(2), 1.0, prior, m)


def best_places(found: Array, n: int, tol: float) -> Places:
    """Places of the n largest gains that exceed the tolerance, the largest first."""
    order = np.argsort(-found, axis=None, kind="stable")[:n]
    return order[found.reshape(-1)[order] > tol]


def rank_columns(block: CandidateBlock, slope: Array, curvature: Array) -> Array:
    """Squared qualities by sparsities, as if no column were in use, (b,): cheap to have.

    From slopes (N, J) of the rows, and the curvature of all J latent values together, (N,).
    """
    Q2 = np.sum(block.project(slope) ** 2, axis=1)
    D = block.squares(curvature)
    return np.divide(Q2, D, out=np.zeros_like(Q2), where=block.varies & (D > 0.0))


def highest_ranks(rank: Array, free: Used, n: int) -> Places:
    """Places of the n highest ranks of columns that are free."""
    kept = np.where(free, rank, -1.0)
    most = np.argsort(-kept, kind="stable")[:n]
    return most[kept[most] > 0.0]


@dataclass(frozen=True)
class RowSlopes:
    """The rows at the mode."""

    d: Array  # (n, J)
    B: Array  # (n, J, J)
    c: Array  # (n, J)

    @classmethod
    def from_rows(cls, fit: LaplaceFit, t: RowTargets, Z: Array) -> RowSlopes:
        """Evaluate rows of these targets, whose columns in use, ones included, are Z."""
        A = t.latents(Z @ fit.weights.W)
        B = t.curvature(A, surely_positive=not t.is_concave)
        return cls(t.slope(A), B, -0.5 * t.curvature_pullback(A, fit.spread(Z)))


@dataclass(frozen=True)
class UsedColumns:
    """The columns in use, as others see them."""

    L: Array  # (P, P), L L^T = prior precision + Z^T B Z, of the packed weights
    moved: Array  # (P,): H^-1 Z^T c

    @classmethod
    def from_moments(cls, A: Array, c: Array, fit: LaplaceFit) -> UsedColumns:
        """Factorise Z^T B Z (P, P) and the prior, and solve for Z^T c (P,)."""
        if not len(A):
            return cls(A, c)
        L = linalg.cholesky(fit.problem.prior.add_precision(A.copy()), max_jitter=0.0)
        return cls(L, linalg.solve_cholesky(L, c))

    def scores(self, square: Array, G: Array, Q: Array, c: Array) -> tuple[Array, Array]:
        """S, and Q beside C, from z^T B z (b,), z^T B Z (b, P), z^T d (b,) and z^T c (b,).

        S is zero where the columns in use replace a column.
        """
        T = linalg.solve_lower(self.L, np.ascontiguousarray(G.T))
        S = square - np.einsum("mb,mb->b", T, T)
        left = S / np.where(square > 0.0, square, 1.0)
        return np.where(left > DEPENDENT, S, 0.0), np.column_stack([Q, c - G @ self.moved])


@dataclass(frozen=True)
class Scorer:
    """Sparsity and qualities of any column beside those in use, for rows in memory."""

    Z: Array  # (N, m), in use, the ones included
    used: Used  # (m, J), of which latent values
    rows: RowSlopes
    beside: UsedColumns
    weights: Array  # (m, J), at the mode

    @classmethod
    def from_fit(cls, fit: LaplaceFit) -> Scorer:
        """Evaluate all rows at the mode of a fit."""
        p = fit.problem
        Z = p.design.rows(0, p.design.n_rows)
        rows, mask = RowSlopes.from_rows(fit, p.targets, Z), p.prior.mask
        A = weighted_gram(designs.Dense(Z), rows.B, mask)
        beside = UsedColumns.from_moments(A, p.prior.pack(Z.T @ rows.c), fit)
        used = np.ones(p.shape, dtype=np.bool_) if mask is None else mask
        return cls(Z, used, rows, beside, fit.weights.W)

    def rank(self, block: CandidateBlock) -> Array:
        """Squared qualities by sparsities, as if no column were in use, (b, J): cheap to have."""
        Q = block.project(self.rows.d)
        D = np.column_stack([block.squares(b) for b in np.einsum("njj->jn", self.rows.B)])
        return np.divide(Q * Q, D, out=np.zeros_like(Q), where=block.varies[:, None] & (D > 0.0))

    def scores(self, block: CandidateBlock, k: int = 0) -> tuple[Array, Array]:
        """S (b,), zero where others replace a column, and Q beside C (b, 2), in latent value k."""
        i, j = np.nonzero(self.used)
        seen = self.rows.B[:, k, j] * self.Z[:, i]
        P = block.project(np.column_stack([seen, self.rows.d[:, k], self.rows.c[:, k]]))
        square = block.squares(np.ascontiguousarray(self.rows.B[:, k, k]))
        S, Q = self.beside.scores(square, P[:, :-2], P[:, -2], P[:, -1])
        return np.where(block.varies, S, 0.0), Q

    def shortlist(
        self, model: SparseModel, block: CandidateBlock, among: Places, outputs: Places
    ) -> ShortList:
        """The columns in use, and those of a block at these positions, in these latent values."""
        m, J = len(model.places), self.used.shape[1]
        short = among[np.sort(np.unique(among, return_index=True)[1])]
        new = short[~np.isin(block.places[short], model.places)]
        places = np.append(model.places, block.places[new])
        Z = np.hstack([self.Z[:, :m], block.select_columns(new), self.Z[:, m:]])
        used = np.insert(self.used, [m] * len(new), np.zeros(J, dtype=np.bool_), axis=0)
        start = np.insert(self.weights, [m] * len(new), np.zeros(J), axis=0)
        h = np.full((len(places), J), np.inf)
        h[:m] = model.precision.reshape(m, J)
        row = {int(place): i for i, place in enumerate(places)}
        at = np.array([row[int(place)] for place in block.places[among]], dtype=np.intp)
        used[at, outputs] = True
        A = weighted_gram(designs.Dense(Z), self.rows.B, None if used.all() else used)
        d, c = (Z.T @ self.rows.d)[used], (Z.T @ self.rows.c)[used]

        def design(columns: Places) -> designs.Design:
            return designs.Dense(Z[:, columns])

        return ShortList.from_moments(model, places, used, h, start, A, d, c, design)


@dataclass(frozen=True)
class ShortList:
    """Columns in use and columns that may join, among which steps are taken; the ones are last."""

    places: Places  # (w,)
    used: Used  # (w or w + 1, J): the weights among which steps choose, and offsets
    h: Array  # (P,): precisions of these, infinite for out
    start: Array  # (w or w + 1, J): weights so far
    moments: Moments  # of the P weights
    model: SparseModel  # that is in use
    design: Callable[[Places], designs.Design]  # of some of the w or w + 1

    @classmethod
    def from_moments(
        cls,
        model: SparseModel,
        places: Places,
        used: Used,
        h: Array,
        start: Array,
        A: Array,
        d: Array,
        c: Array,
        design: Callable[[Places], designs.Design],
    ) -> ShortList:
        """Moments about the working targets a + d / B, so that with B held the mode is here."""
        w = len(h)
        fixed = np.zeros(used.shape, dtype=np.bool_)
        fixed[w:] = True
        offsets = model.fit.problem.targets.offset_precision
        every = np.vstack([h, np.tile(np.diagonal(offsets), (len(used) - w, 1))])
        B = np.column_stack([A @ start[used] + d, c])
        moments = Moments.from_products(A, B, kind=CURVED, fixed=fixed[used])
        return cls(places, used, every[used], start, moments, model, design)

    def model_at(self, h: Array, problem: SparseProblem, least: float = 0.0) -> SparseModel:
        """The model at precisions h (P,) that are at least ``least``, sought from the last mode."""
        w, shape = len(self.places), self.used.shape
        precision = np.full(shape, np.inf)
        precision[self.used] = h
        kept = np.flatnonzero(np.any(np.isfinite(precision), axis=1))
        own = np.maximum(precision[kept[kept < w]], least)
        shared = self.model.precision.ndim == 1
        return SparseModel.from_columns(
            self.places[kept[kept < w]],
            own[:, 0] if shared else own,
            self.design(kept),
            self.model.fit.problem.targets,
            problem.prior,
            self.start[kept],
        )


def shortlist_design(
    design: designs.Standardized, model: SparseModel, problem: SparseProblem, n: int
) -> ShortList:
    """The columns in use, and the n best of all columns of a design, in one pass over its rows.

    For one latent value.
    """
    fit, M, ones = model.fit, len(design.center), design.ones
    used = np.append(model.places, ones)

    def terms(part: designs.Design, t: RowTargets) -> list[Array]:
        r = RowSlopes.from_rows(fit, t, part.rows(0, part.n_rows)[:, used])
        return [part.gram(r.B[:, 0, 0]), part.rmatvec(r.d[:, 0]), part.rmatvec(r.c[:, 0])]

    A, d, c = fit.problem.targets.sum_over_parts(design, terms)
    beside = UsedColumns.from_moments(A[np.ix_(used, used)], c[used], fit)
    S, Q = beside.scores(np.diagonal(A), A[:, used], d, c)
    S[used] = 0.0
    m = len(model.places)
    new = best_places(gains(S, Q, problem.prior, m), n, problem.tol)
    i = np.concatenate([model.places, new, ones])

    def chosen(columns: Places) -> designs.Design:
        kept = i[columns]
        return design.select_columns(np.append(kept[kept < M], ones))

    h = np.append(model.precision, np.full(len(new), np.inf))[:, None]
    start = np.insert(fit.weights.W, [m] * len(new), np.zeros(1), axis=0)
    everything = np.ones((len(i), 1), dtype=np.bool_)
    moments = A[np.ix_(i, i)], d[i], c[i]
    return ShortList.from_moments(
        model, np.append(model.places, new), everything, h, start, *moments, chosen
    )
