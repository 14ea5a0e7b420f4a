"""The normal nearest to the posterior where each class has columns of its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from posterity import linalg
from posterity.arrays import Array
from posterity.inference.sparse_bayes.pair_fit import PairFit, PairNormal, PairProblem, spans_of
from posterity.inference.weights import variational_climb
from posterity.inference.weights.variational_climb import MAX_STEPS, TOLERANCE


@dataclass(frozen=True)
class NearestPairs(PairNormal):
    """Weights of all pairs, nearest to the posterior in the sense of Kullback and Leibler."""

    log_evidence: float  # log p(y) to Laplace's approximation, as where the search began
    bound: float  # never above log p(y), to the error of averages over latent values
    converged: bool


def nearest(
    laplace: PairFit, *, tol: float = TOLERANCE, max_steps: int = MAX_STEPS
) -> PairFit | NearestPairs:
    """The nearest normal; Laplace's itself where rows are many for each weight."""
    p = laplace.problem
    start = variational_climb.Start(
        p.packed(laplace.coef),
        laplace.L,
        laplace.lean(),
        p.targets.total_weight,
        laplace.log_evidence,
    )
    end = variational_climb.climb(start, partial(_asked, p), tol=tol, max_steps=max_steps)
    if end is None:
        return laplace
    W = p.unpacked(end.mean)
    return NearestPairs(p, W, end.L, laplace.log_evidence, end.bound, end.converged)


def _asked(p: PairProblem, x: Array, L: Array) -> variational_climb.Answer:
    """One pass over the rows."""
    normal, h = PairNormal(p, p.unpacked(x), L), p.packed(p.precision)
    f = normal.latent(p.Z)
    log_p, d1, curvature = p.likelihood.expected(p.targets.y, f.mean, f.covariance)
    value = p.targets.summed(log_p)
    slope = p.packed(p.Z.T @ (p.row_weights * d1)) - h * x
    H = _gram(p.parts, p.row_weights[:, :, None] * curvature)
    H[np.diag_indices_from(H)] += h
    log_ratio = float(np.sum(np.log(h))) - linalg.log_determinant(L)
    spread = float(np.sum(h * (x * x + np.diagonal(normal.covariance))))
    return variational_climb.Answer(value - 0.5 * (spread - len(x) - log_ratio), slope, H)


def _gram(parts: list[Array], h: Array) -> Array:
    """The sum over rows of the curvatures h (N, C, C) in the weights of each class's columns."""
    spans = spans_of([Z.shape[1] for Z in parts])
    H = np.empty((spans[-1].stop, spans[-1].stop))
    for c, (span, Z) in enumerate(zip(spans, parts, strict=True)):
        for d in range(c + 1):
            H[span, spans[d]] = Z.T @ (h[:, c, d, None] * parts[d])
            H[spans[d], span] = H[span, spans[d]].T
    return H
