"""The evidence of chosen columns as their precisions and the parameters of their kernel move.

Columns are standardised, so that a kernel's parameter acts on their shape alone: a factor of the
whole kernel, which no precision could be told from, has no slope at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from posterity import arrays, designs, kernels, linalg, priors
from posterity.arrays import Array, to_numpy
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.prior import WeightPrior
from posterity.inference.weights.problem import WeightProblem
from posterity.inference.weights.targets import RowTargets
from posterity.sparse.normal_columns import NormalTargets
from posterity.sparse.sequential import LEAST_NOISE

_EPS = float(np.finfo(np.float64).eps)

Slopes: TypeAlias = tuple[float, Array, Array]
"""A log evidence L, dL/dlog h (m,) and dL/dZ (N, m)."""

Evidence: TypeAlias = Callable[[Array, Array], Slopes]
"""Of standardised columns Z (N, m) with prior precisions h (m,), in units of the noise."""


@dataclass(frozen=True)
class StandardizedKernelColumns:
    """Columns of zero mean, where they are centred, and of unit mean square."""

    Z: Array  # (N, m)
    center: Array  # (m,)
    scale: Array  # (m,)
    share: Array  # (N,), of each row in a mean
    centred: bool

    @classmethod
    def from_raw(
        cls, K: Array, weights: Array | None, *, centred: bool
    ) -> StandardizedKernelColumns:
        """Standardise raw columns."""
        w = np.ones(len(K)) if weights is None else weights
        share = w / np.sum(w)
        center = share @ K if centred else np.zeros(K.shape[1])
        Z = K - center
        scale = np.sqrt(share @ (Z * Z))
        Z /= np.where(scale > 0.0, scale, 1.0)
        return cls(Z, center, scale, share, centred)

    @property
    def vary(self) -> bool:
        """Whether more than rounding is left of every column."""
        least = 8.0 * np.sqrt(len(self.Z)) * _EPS * np.abs(self.center)
        return bool(np.all(self.scale > least))

    def pullback(self, G: Array) -> Array:
        """dL/dK, given G = dL/dZ."""
        along = np.einsum("nm,nm->m", G, self.Z)
        R = G - (self.share[:, None] * self.Z) * along
        if self.centred:
            R -= self.share[:, None] * np.sum(G, axis=0)
        R /= self.scale
        return R


def normal_evidence(targets: NormalTargets, *, learned: bool) -> Evidence:
    """Evidence of K outputs in normal noise, which is the unit of the targets or learned."""
    n, K = targets.n, len(targets.E)
    w = targets.row_weights()
    least = LEAST_NOISE * targets.E if learned else np.full(K, -np.inf)

    def evidence(Z: Array, h: Array) -> Slopes:
        WZ = w[:, None] * Z
        L = linalg.cholesky(Z.T @ WZ + np.diag(h), max_jitter=0.0)
        Sigma, B = linalg.inverse_from_cholesky(L), Z.T @ targets.WY
        mu = Sigma @ B
        left = targets.E - np.sum(B * mu, axis=0)
        E = np.maximum(left, least)
        sigma2 = E / n if learned else np.ones(K)
        mu_told = np.where(left < least, 0.0, mu / sigma2)  # rounding has no slope
        determinant = linalg.log_determinant(L) - float(np.sum(np.log(h)))
        misfit = float(np.sum(n * np.log(2.0 * np.pi * sigma2) + E / sigma2))
        in_h = 0.5 * (K * (1.0 - h * np.diagonal(Sigma)) - h * np.sum(mu * mu_told, axis=1))
        in_Z = (targets.WY - WZ @ mu) @ mu_told.T - K * (WZ @ Sigma)
        units = n * float(np.sum(np.log(targets.unit)))
        return -units - 0.5 * (K * determinant + misfit), in_h, in_Z

    return evidence


def laplace_evidence(targets: RowTargets, *, offset: bool) -> Evidence:
    """Evidence of any likelihood by Laplace's approximation, each mode sought from the last."""
    modes: list[Array | None] = [None]
    ones = np.ones((targets.n_rows, int(offset)))

    def evidence(Z: Array, h: Array) -> Slopes:
        A = np.hstack([Z / np.sqrt(h), ones])  # columns whose weights have unit precision
        prior = WeightPrior(1.0, A.shape[1], targets.offset_precision if offset else None)
        fit = LaplaceFit.from_problem(WeightProblem(designs.Dense(A), targets, prior), modes[0])
        modes[0] = fit.weights.W
        in_Z = fit.design_gradient(A)[:, : Z.shape[1]] / np.sqrt(h)
        return fit.log_evidence, -0.5 * np.einsum("nm,nm->m", in_Z, Z), in_Z

    return evidence


@dataclass(frozen=True)
class KernelObjective:
    """Minus J and its gradient in x: the log precisions, then the searched log parameters."""

    evidence: Evidence
    kernel: kernels.Kernel
    moving: NDArray[np.bool_]  # (P,), which of the kernel's parameters are searched
    rows: Any
    centres: Any  # those of the chosen columns
    weights: Array | None
    centred: bool
    prior: priors.Sparse

    def decode(self, x: Array) -> tuple[Array, kernels.Kernel]:
        """Precisions and kernel at x."""
        m = len(x) - int(np.sum(self.moving))
        theta = self.kernel.theta
        theta[self.moving] = x[m:]
        return np.exp(x[:m]), self.kernel.with_theta(theta)

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Infinite where columns no longer vary, or depend on each other beyond rounding."""
        h, kernel = self.decode(x)
        tangent = kernel.tangent(self.rows, self.centres)
        columns = StandardizedKernelColumns.from_raw(
            to_numpy(tangent.value), self.weights, centred=self.centred
        )
        if not columns.vary:
            return np.inf, np.zeros_like(x)
        try:
            value, in_h, in_Z = self.evidence(columns.Z, h)
        except linalg.NotPositiveDefiniteError:
            return np.inf, np.zeros_like(x)
        G = arrays.like(tangent.value, columns.pullback(in_Z))
        in_theta = tangent.parameters(G)[self.moving]
        in_h = in_h + self.prior.penalty_slope(h)
        return -value - float(np.sum(self.prior.penalty(h))), -np.append(in_h, in_theta)
