"""What columns offer to a softmax model in which all classes share them, at its mode.

A column has J weights, one for each contrast of the classes. At the mode minus the Hessian of the
log likelihood of a row is h_n (J, J), its gradient d_n, and c_n is what moves with the curvature.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import designs, linalg, optimize, priors
from posterity.arrays import Array
from posterity.designs.candidates import Block
from posterity.inference.laplace import LaplaceFit
from posterity.inference.sparse_bayes import blocks
from posterity.inference.sparse_bayes.blocks import BlockMoments
from posterity.inference.weight_prior import WeightPrior
from posterity.inference.weight_problem import Passes, WeightProblem, weighted_gram
from posterity.inference.weight_targets import RowTargets

_COLUMNS_AT_ONCE = 128
_APPROACH = 60  # gradients
_NEAR = 3e-5  # slope, in units of the posterior's standard deviations
_DEPENDENT = 1e-11  # of its square: what is left of a column that others can replace


@dataclass(frozen=True)
class SharedModel:
    """The columns in use, the precision that the weights of each share, and the model they make."""

    places: NDArray[np.intp]  # (m,)
    precision: Array  # (m,)
    fit: LaplaceFit
    value: float  # the objective

    @classmethod
    def of(
        cls,
        places: NDArray[np.intp],
        precision: Array,
        Z: Array,
        targets: RowTargets,
        prior: priors.Sparse,
        start: Array | None = None,
        A: Array | None = None,
    ) -> SharedModel:
        """Of these columns, followed in Z by ones where there is an offset.

        The mode is sought from ``start``, where the Hessian of minus the log likelihood is like A.
        """
        offset = targets.offset_precision if Z.shape[1] > len(places) else None
        given = WeightPrior(precision, Z.shape[1], offset)
        problem = WeightProblem(designs.Dense(Z), targets, given)
        near = start if start is None or A is None else _approached(problem, A, start)
        fit = LaplaceFit.of(problem, near)
        value = fit.log_evidence + prior.total(precision)
        return cls(places, precision, fit, value)


def _approached(problem: WeightProblem, A: Array, start: Array) -> Array:
    """Weights near the mode, by gradients alone: Hessians of J weights a column are dear."""
    x0 = start.reshape(-1)
    if not len(x0):
        return start
    L = linalg.cholesky(problem.prior.add_to(A), max_jitter=0.0)
    passes = Passes(problem, hessian=False, surely_positive=False)

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

    def quick(self, block: Block) -> Array:
        """A rank, (b,): squared qualities by sparsities, as if no column were in use."""
        Q2 = np.sum(block.project(self.slope) ** 2, axis=1)
        D = block.squares(np.einsum("njj->n", self.h))
        return np.divide(Q2, D, out=np.zeros_like(Q2), where=block.varies & (D > 0.0))

    def exact(self, Z: Array) -> tuple[Array, Array]:
        """S (b, J, J), and Q beside C (b, J, 2), of standardised columns Z (N, b).  [TF 2003]"""
        b, J = Z.shape[1], self.h.shape[1]
        S = ((Z * Z).T @ self.h.reshape(-1, J * J)).reshape(b, J, J)
        Q, C = Z.T @ self.slope, Z.T @ self.c
        least = _DEPENDENT * np.einsum("bjj->b", S)
        if self.Z.shape[1]:
            G = self._products(Z)
            T = linalg.solve_lower(self.fit.L, np.ascontiguousarray(G.T))
            R = T.T.reshape(b, J, -1)
            S -= np.matmul(R, R.transpose(0, 2, 1))
            C -= (G @ self._moved).reshape(b, J)
        S[np.einsum("bjj->b", S) <= least] = 0.0
        return S, np.stack([Q, C], axis=2)

    def _products(self, Z: Array) -> Array:
        """Z^T h (columns in use), (b J, m J)."""
        (b, J), m = (Z.shape[1], self.h.shape[1]), self.Z.shape[1]
        G = np.empty((b, J, m, J))
        for j in range(J):
            for k in range(j + 1):
                G[:, j, :, k] = Z.T @ (self.h[:, j, k, None] * self.Z)
                G[:, k, :, j] = G[:, j, :, k]
        return G.reshape(b * J, m * J)

    def gains(self, block: Block, within: NDArray[np.intp], prior: priors.Sparse) -> Array:
        """What columns of a block, by their positions, would gain, (k,)."""
        gains = np.zeros(len(within))
        for i in range(0, len(within), _COLUMNS_AT_ONCE):
            some = slice(i, i + _COLUMNS_AT_ONCE)
            s, q = blocks.axes(*self.exact(block.part(within[some])))
            left = np.sum(s, axis=1) > 0.0
            u = blocks.curved(q[left])
            gains[some][left] = blocks.best_precisions(s[left], u, prior)[1]
        return np.maximum(gains - prior.price(self.fit.problem.prior.n_weights), 0.0)


@dataclass(frozen=True)
class SharedWork:
    """Columns in use and columns on the shortlist, among which steps are taken."""

    places: NDArray[np.intp]  # (w,)
    h: Array  # (w,), infinite where a column is out
    Z: Array  # (N, w or w + 1)
    W: Array  # (w or w + 1, J): weights so far
    A: Array  # (w or w + 1, J, w or w + 1, J): the Hessian of minus the log likelihood
    moments: BlockMoments  # of the w columns; the offset is in for good
    targets: RowTargets

    @classmethod
    def of(
        cls,
        model: SharedModel,
        scores: SharedScores,
        block: Block,
        short: NDArray[np.intp],
    ) -> SharedWork:
        """With the columns of these positions in a block."""
        p, m, n = model.fit.problem, len(model.places), len(short)
        Z = np.hstack([scores.Z[:, :m], block.part(short), scores.Z[:, m:]])
        W = np.insert(model.fit.weights.W, [m] * n, np.zeros(n)[:, None], axis=0)
        w, J = W.shape
        H = weighted_gram(designs.Dense(Z), scores.h)
        b = (H @ W.reshape(-1)).reshape(w, J) + Z.T @ scores.slope
        A = H.reshape(w, J, w, J)
        moments = BlockMoments(A, np.stack([b, Z.T @ scores.c], axis=2))
        if p.prior.offset_precision is not None:
            moments = moments.without_last(p.prior.offset_precision)
        h = np.append(model.precision, np.full(n, np.inf))
        places = np.append(model.places, block.places[short])
        return cls(places, h, Z, W, A, moments, p.targets)

    def model(self, h: Array, prior: priors.Sparse) -> SharedModel:
        """The columns of finite precision, at precisions h."""
        kept, w = np.isfinite(h), len(h)
        columns = np.append(np.flatnonzero(kept), np.arange(w, self.Z.shape[1]))
        J = np.arange(self.W.shape[1])
        n = len(columns) * len(J)
        return SharedModel.of(
            self.places[kept],
            h[kept],
            self.Z[:, columns],
            self.targets,
            prior,
            self.W[columns],
            self.A[np.ix_(columns, J, columns, J)].reshape(n, n),
        )
