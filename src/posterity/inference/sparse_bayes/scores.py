"""What columns offer to Laplace's approximation of a sparse model, at its mode.

There minus the Hessian of the log likelihood is B, its gradient is d, and the weights in use have
covariance Sigma. A column z that is out has sparsity and quality

    S = z^T B z - z^T B Z Sigma Z^T B z,    Q = z^T d.  [TF 2003]

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
from posterity.designs.candidates import Block
from posterity.inference.sparse_bayes import sequential
from posterity.inference.sparse_bayes.sequential import CURVED, DEPENDENT, Moments
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.targets import RowTargets

Places = NDArray[np.intp]

SHORTLIST = 20  # columns that steps may add at a time


@dataclass(frozen=True)
class Offer:
    """What is worth a step: how much it must gain, under which prior."""

    prior: priors.Sparse
    tol: float

    def best(self, S: Array, Q: Array, m: int) -> Places:
        """The columns that gain most, by position, of sparsities S (b,) and qualities Q (b, 2).

        They join m others.
        """
        gains = sequential.gains(CURVED, S, Q, np.ones(2), 1.0, self.prior, m)
        first = np.argsort(-gains, kind="stable")[:SHORTLIST]
        return first[gains[first] > self.tol]


@dataclass(frozen=True)
class Working:
    """Columns among which steps are taken: those in use, then others; the ones are the last."""

    places: Places  # (w,)
    moments: Moments  # of w columns, and of the ones where there is an offset
    design: Callable[[Places], designs.Design]  # of some of the w, by position, and the ones


@dataclass(frozen=True)
class RowSlopes:
    """The rows at the mode."""

    d: Array  # (n,)
    b: Array  # (n,)
    c: Array  # (n,)

    @classmethod
    def of(cls, fit: LaplaceFit, t: RowTargets, Z: Array) -> RowSlopes:
        """Of rows of these targets, whose columns in use, ones included, are Z."""
        A = t.latents(Z @ fit.weights.W)
        d = t.slope(A)[:, 0]
        b = t.curvature(A, surely_positive=not t.is_concave)[:, 0, 0]
        c = -0.5 * t.curvature_pullback(A, fit.spread(Z))[:, 0]
        return cls(d, b, c)


@dataclass(frozen=True)
class Scorer:
    """Sparsity and qualities of any column beside those in use, for rows in memory."""

    Z: Array  # (N, m), in use, the ones included
    fit: LaplaceFit
    rows: RowSlopes

    @classmethod
    def of(cls, fit: LaplaceFit) -> Scorer:
        """At the mode."""
        design = fit.problem.design
        Z = design.rows(0, design.n_rows)
        return cls(Z, fit, RowSlopes.of(fit, fit.problem.targets, Z))

    def scores(self, block: Block) -> tuple[Array, Array]:
        """S (b,), zero where others replace a column, and Q beside C (b, 2)."""
        r, Z, m = self.rows, self.Z, self.Z.shape[1]
        BZ = r.b[:, None] * Z
        P = block.project(np.column_stack([BZ, r.d, r.c]))
        beside = _Beside(Z.T @ BZ, Z.T @ r.c, self.fit)
        S, Q = beside.scores(block.squares(r.b), P[:, :m], P[:, m], P[:, m + 1])
        return np.where(block.varies, S, 0.0), Q

    def working(self, block: Block, places: Places, offer: Offer) -> Working:
        """The columns in use, and the best of a block."""
        S, Q = self.scores(block)
        S[np.isin(block.places, places)] = 0.0
        m = len(places)
        short = offer.best(S, Q, m)
        Z = np.hstack([self.Z[:, :m], block.part(short), self.Z[:, m:]])
        root = np.sqrt(self.rows.b)[:, None] * Z
        moments = _moments(root.T @ root, Z.T @ self.rows.d, Z.T @ self.rows.c, self.fit)

        def design(within: Places) -> designs.Design:
            return designs.Dense(Z[:, np.append(within, np.arange(m + len(short), Z.shape[1]))])

        return Working(np.append(places, block.places[short]), moments, design)


@dataclass(frozen=True)
class _Beside:
    """The columns in use, as others see them."""

    A: Array  # (m, m): Z^T B Z
    c: Array  # (m,): Z^T c
    fit: LaplaceFit

    def scores(self, square: Array, G: Array, Q: Array, c: Array) -> tuple[Array, Array]:
        """S, and Q beside C, from z^T B z (b,), z^T B Z (b, m), z^T d (b,) and z^T c (b,)."""
        L = self._factor()
        T = linalg.solve_lower(L, np.ascontiguousarray(G.T))
        S = square - np.einsum("mb,mb->b", T, T)
        C = c - G @ linalg.solve_cholesky(L, self.c)
        left = S / np.where(square > 0.0, square, 1.0)
        return np.where(left > DEPENDENT, S, 0.0), np.column_stack([Q, C])

    def _factor(self) -> Array:
        """Of the inverse of Sigma."""
        if not len(self.A):
            return self.A
        return linalg.cholesky(self.fit.problem.prior.add_to(self.A.copy()), max_jitter=0.0)


def _moments(A: Array, d: Array, c: Array, fit: LaplaceFit) -> Moments:
    """About the working targets a + d / B, so that with B held the mode is where it is."""
    prior, W = fit.problem.prior, fit.weights.W[:, 0]
    fixed = np.zeros(len(A), dtype=np.bool_)
    n = prior.n_weights
    used = np.append(np.arange(n), np.arange(len(A) - len(W) + n, len(A)))
    fixed[used[n:]] = True
    return Moments.of(A, np.column_stack([A[:, used] @ W + d, c]), kind=CURVED, fixed=fixed)


def working_design(
    design: designs.Standardized, fit: LaplaceFit, places: Places, offer: Offer
) -> Working:
    """The columns in use, and the best of all columns of a design, in one pass over its rows."""
    M = design.n_columns - design.offset
    ones = np.arange(M, design.n_columns)
    used = np.append(places, ones)

    def terms(part: designs.Design, t: RowTargets) -> list[Array]:
        r = RowSlopes.of(fit, t, part.rows(0, part.n_rows)[:, used])
        return [part.gram(r.b), part.rmatvec(r.d), part.rmatvec(r.c)]

    A, d, c = fit.problem.targets.total(design, terms)
    beside = _Beside(A[np.ix_(used, used)], c[used], fit)
    S, Q = beside.scores(np.diagonal(A), A[:, used], d, c)
    S[used] = 0.0
    among = np.append(places, offer.best(S, Q, len(places)))
    i = np.append(among, ones)

    def chosen(within: Places) -> designs.Design:
        return selected(design, among[within])

    return Working(among, _moments(A[np.ix_(i, i)], d[i], c[i], fit), chosen)


def selected(design: designs.Standardized, places: Places) -> designs.Standardized:
    """Some of the columns, standardised as they are, and the ones."""
    return designs.Standardized(
        designs.Selected(design.design, places),
        design.center[places],
        design.scale[places],
        design.offset,
        design.exact,
    )
