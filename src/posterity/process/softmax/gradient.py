"""How the evidence of C coupled latent functions moves with their kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import blas

from posterity import kernels
from posterity.arrays import Array
from posterity.linalg import blocked
from posterity.process import kernel_blocks
from posterity.process.softmax.factors import ClassFactors, cut_columns, each_times
from posterity.process.softmax.modes import LatentDensity, Point


def gradient(
    latents: LatentDensity, point: Point, factors: ClassFactors, kernel: kernels.Kernel, X: Any
) -> Array:
    """Return the slope of the log evidence in ``kernel.theta``; the factors are overwritten.

    The mode moves too: z is what a change of it does to the evidence, pulled back to the kernel
    matrix.  [GPML Sec5.5.1]
    """
    t = latents.targets
    variances = compute_variances(factors, np.diagonal(latents.K)[:, None] + t.offset_variance)
    whitened = WhitenedFactors.solve_in_place(factors)
    S = whitened.row_covariances(variances)
    pulled = latents.likelihood.curvature_pullback(t.y, t.shift + point.f, S)
    s = -0.5 * t.weights[:, None] * pulled
    z = s - whitened.times(latents.times(s))
    R = whitened.sum_residuals()
    bz = point.b + z

    def weights(i: slice, j: slice) -> Array:
        """Twice dL/dK, the sum over classes of b b^T + b z^T + z b^T - (K + W^-1)^-1."""
        G = bz[i] @ bz[j].T - z[i] @ z[j].T - R[j, i].T
        return kernel_blocks.symmetric(G) if i == j else G

    return 0.5 * kernel_blocks.pullback(R, kernel, X, weights)


@dataclass(frozen=True)
class WhitenedFactors:
    """F_c = L^-1 E_c, so that E_c M^-1 E_d is F_c^T F_d, in the memory of E_c."""

    factors: ClassFactors

    @classmethod
    def solve_in_place(cls, factors: ClassFactors) -> WhitenedFactors:
        """Solve in place."""
        for c in range(len(factors.D)):
            E = factors.memory.of_class(c)  # becomes E L^-T, the transpose of F
            blas.dtrsm(1.0, factors.L, E, side=1, lower=1, trans_a=1, overwrite_b=1)
        return cls(factors)

    @property
    def F(self) -> Array:
        """(C, N, N)."""
        return self.factors.memory.classes

    def row_covariances(self, variances: Array) -> Array:
        """Posterior covariance of the latent values of each row, (N, C, C), as curvature sees it.

        It is diag_c(K_c - K_c E_c K_c) + (F_c K_c)^T (F_d K_d) with F_c K_c = L^-1 - F_c D_c^-1.
        What is added to all classes alike, such as L^-1, moves no probability and is left out.
        ``variances`` (N, C) is the first diagonal.
        """
        n, C = variances.shape
        S = np.empty((n, C, C))
        for j in cut_columns(n):
            fill_gram(S[j], [F[:, j] / D[j] for F, D in zip(self.F, self.factors.D, strict=True)])
        S[:, range(C), range(C)] += variances
        return S

    def times(self, X: Array) -> Array:
        """(K + W^-1)^-1 X, as that of the factors."""
        FX = each_times(self.F, X)
        EX = blas.dtrmm(1.0, self.factors.L, FX, lower=1)
        common = np.broadcast_to(np.sum(FX, axis=1, keepdims=True), X.shape)
        return EX - each_times(np.swapaxes(self.F, 1, 2), common)

    def sum_residuals(self) -> Array:
        """The sum over classes of E_c - E_c M^-1 E_c, above the diagonal, in place of L."""
        R, n = self.factors.memory.total, len(self.factors.diagonal)
        blocked.write_diagonal(R, self.factors.diagonal)
        blas.dsyrk(-1.0, self.F.reshape(-1, n).T, beta=1.0, c=R, overwrite_c=1)
        return R


def fill_gram(S: Array, parts: list[Array]) -> None:
    """S (n, C, C) of the inner products of columns of the C parts (N, n)."""
    for c, A in enumerate(parts):
        for d, B in enumerate(parts[: c + 1]):
            S[:, c, d] = S[:, d, c] = np.einsum("kj,kj->j", A, B)


def compute_variances(factors: ClassFactors, prior: Array) -> Array:
    """Diagonals of (K_c^-1 + D_c)^-1, (N, C): exact where D is large, at most the prior's."""
    E = np.stack([np.diagonal(E_c) for E_c in factors.memory.classes])
    D = factors.D
    return np.clip((1.0 - E / D) / D, 0.0, prior.T).T
