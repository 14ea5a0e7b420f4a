"""What pairs of a column and a class offer to a sparse softmax model, at its mode.

There minus the Hessian of the log likelihood of a row is diag(u) - u u^T. Pairs are seen as columns
of one problem of N C rows: the one of column z and class k is z in the rows of class k, and zero in
all others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import linalg, priors
from posterity.arrays import Array
from posterity.designs.candidates import Block
from posterity.inference.sparse_bayes.pair_fit import PairFit, PairProblem, pair_gram
from posterity.inference.sparse_bayes.sequential import CURVED, DEPENDENT, Moments


@dataclass(frozen=True)
class PairModel:
    """Columns in use by some class, and the model they make."""

    places: NDArray[np.intp]  # (m,)
    fit: PairFit
    value: float  # the objective

    @classmethod
    def of(
        cls,
        places: NDArray[np.intp],
        problem: PairProblem,
        prior: priors.Sparse,
        start: Array | None = None,
    ) -> PairModel:
        """Of these columns, followed in the problem by ones where there is an offset."""
        fit = PairFit.of(problem, start)
        m = len(places)
        h = np.where(problem.used[:m], problem.precision[:m], np.inf)
        return cls(places, fit, fit.log_evidence + prior.total(h))


class PairScores:
    """Sparsity and qualities of any column in any class, beside the pairs in use."""

    def __init__(self, fit: PairFit) -> None:
        p = fit.problem
        t = p.targets
        self.fit, self.weights = fit, p.row_weights
        f = fit.latent(p.Z)
        A, S = f.mean, f.covariance
        self.u = p.likelihood.curvature(t.y, A)
        self.slope = self.weights * p.likelihood.d1(t.y, A)
        self.c = -0.5 * self.weights * p.likelihood.curvature_pullback(t.y, A, S)
        self._moved = linalg.solve_cholesky(fit.L, p.packed(p.Z.T @ self.c))
        self._Z = np.hstack(p.parts)
        self._class = np.repeat(np.arange(p.used.shape[1]), p.used.sum(axis=0))

    def quick(self, block: Block) -> Array:
        """A rank, (b, C): squared qualities by sparsities, as if no pair were in use."""
        Q = block.project(self.slope)
        b = self.weights * self.u * (1.0 - self.u)
        D = np.column_stack([block.squares(column) for column in b.T])
        return np.divide(Q * Q, D, out=np.zeros_like(Q), where=block.varies[:, None] & (D > 0.0))

    def exact(self, block: Block, k: int) -> tuple[Array, Array]:
        """S (b,), and Q beside C (b, 2), of the columns of a block in class k.  [TF 2003]"""
        P, u = len(self._class), self.u[:, k, None]
        curvature = self.weights * u * ((self._class == k) - self.u[:, self._class])
        told = [curvature * self._Z, self.slope[:, k], self.c[:, k]]
        projected = block.project(np.column_stack(told))
        G = projected[:, :P]
        T = linalg.solve_lower(self.fit.L, np.ascontiguousarray(G.T))
        square = block.squares((self.weights * u * (1.0 - u))[:, 0])
        S = square - np.einsum("pb,pb->b", T, T)
        left = block.varies & (DEPENDENT * square < S)
        projected[:, -1] -= G @ self._moved
        return np.where(left, S, 0.0), projected[:, P:]


@dataclass(frozen=True)
class PairWork:
    """Pairs in use and pairs on the shortlist, among which steps are taken."""

    places: NDArray[np.intp]  # (w,)
    problem: PairProblem  # of all of them, precisions infinite where a pair is out
    start: Array  # (w or w + 1, C): weights so far
    moments: Moments

    @classmethod
    def of(
        cls,
        model: PairModel,
        scores: PairScores,
        block: Block,
        rows: NDArray[np.intp],
        classes: NDArray[np.intp],
    ) -> PairWork:
        """With the pairs on the shortlist: a column of the block and a class each."""
        p, m = model.fit.problem, len(model.places)
        short = np.unique(rows)
        new = np.flatnonzero(~np.isin(block.places[short], model.places))
        places = np.append(model.places, block.places[short[new]])
        Z = np.hstack([p.Z[:, :m], block.part(short[new]), p.Z[:, m:]])
        row = {int(place): i for i, place in enumerate(places)}
        at = np.array([row[int(place)] for place in block.places[rows]], dtype=np.intp)
        n = len(new)
        used = np.insert(p.used, [m] * n, np.zeros(n, dtype=np.bool_)[:, None], axis=0)
        precision = np.insert(p.precision, [m] * n, np.full(n, np.inf)[:, None], axis=0)
        start = np.insert(model.fit.coef, [m] * n, np.zeros(n)[:, None], axis=0)
        used[at, classes], precision[at, classes] = True, np.inf
        work = PairProblem(Z, used, precision, p.targets)
        A = pair_gram(work.parts, scores.u, scores.weights)
        b = A @ work.packed(start) + work.packed(Z.T @ scores.slope)
        B = np.column_stack([b, work.packed(Z.T @ scores.c)])
        offset = np.zeros(used.shape)
        offset[len(places) :] = 1.0
        moments = Moments.of(A, B, kind=CURVED, fixed=work.packed(offset) > 0.0)
        return cls(places, work, start, moments)

    @property
    def h(self) -> Array:
        """Precisions of all pairs, class after class."""
        return self.problem.packed(self.problem.precision)

    def model(self, h: Array, prior: priors.Sparse) -> PairModel:
        """The pairs of finite precision, at precisions h."""
        p, w = self.problem, len(self.places)
        precision = p.unpacked(h)
        used = p.used & np.isfinite(precision)
        kept = np.any(used, axis=1)
        problem = PairProblem(p.Z[:, kept], used[kept], precision[kept], p.targets)
        return PairModel.of(self.places[kept[:w]], problem, prior, self.start[kept])
