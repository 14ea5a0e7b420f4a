"""The evidence of outputs whose inputs are unknown, bounded from below.  [TL Sec 3.1]

Inputs are independent normals with means m and variances S. The function is known through its
values u at M inducing points Z, and the best posterior of u for these m and S is put in its place:
the bound is [TI 9] with averages in place of kernels, less what m and S diverge from their prior.

Letters: s2 noise variance, L L^T = K_uu + jitter, A = L^-1 psi2 L^-T / s2, B = I + A = L_B L_B^T,
v = B^-1 L^-1 psi1^T Y / s2, the posterior mean of L^-1 u, alpha = L^-T v.

psi2 is a sum of averages and no product of two factors, so rounding reaches A through L^-1 on both
sides: N eps / jitter, in units of the noise. The jitter is therefore larger than that of
:mod:`posterity.process.inducing.bound`; u is f(Z) under so much noise, and the bound
stays a bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from posterity import kernels, linalg
from posterity.arrays import Array
from posterity.latent.gplvm import outputs
from posterity.latent.gplvm.variational import expectations
from posterity.latent.gplvm.variational.statistics import KernelStatistics, NormalPoints, Weighting


@dataclass(frozen=True)
class OutputGroup:
    """Columns that have a value in the same rows, as far as they matter to the bound: by Y Y^T."""

    columns: NDArray[np.intp]
    Y: Array  # (N, K), Y Y^T that of the columns, zero in rows that they miss; K <= N
    n_values: int
    squares: float  # sum of all squared outputs

    @property
    def n_outputs(self) -> int:
        """The number of columns."""
        return len(self.columns)


@dataclass(frozen=True)
class ObservedOutputs:
    """All outputs, grouped by the rows in which columns have values.

    Examples
    --------
    >>> Y = np.array([[1.0, 2.0, 3.0], [4.0, np.nan, 5.0]])
    >>> seen = ObservedOutputs.from_outputs(Y)
    >>> seen.weights, [group.columns.tolist() for group in seen.groups]
    (array([[1., 0.], [1., 1.]]), [[1], [0, 2]])
    """

    weights: Array  # (G, N), 1 for rows that a group has, 0 for those it misses
    groups: tuple[OutputGroup, ...]

    @property
    def n_values(self) -> int:
        """The number of outputs, all rows and columns together."""
        return sum(group.n_values for group in self.groups)

    @classmethod
    def from_outputs(cls, Y: Array) -> ObservedOutputs:
        """From outputs (N, D), NaN where one is missing."""
        together = outputs.group_columns(Y)
        weights = np.zeros((len(together), len(Y)))
        for w, group in zip(weights, together, strict=True):
            w[group.rows] = 1.0
        return cls(weights, tuple(_among_all(group, len(Y)) for group in together))


def _among_all(group: outputs.ObservedGroup, n_rows: int) -> OutputGroup:
    Y = np.zeros((n_rows, group.Y.shape[1]))
    Y[group.rows] = group.Y
    factor = linalg.triangular_factor(Y.T).T  # square where there are more columns than rows
    return OutputGroup(group.columns, factor, group.Y.size, float(np.sum(Y * Y)))


_LOG_2PI = math.log(2.0 * math.pi)
_JITTER = 1e-6  # of the mean diagonal: part of the model


@dataclass(frozen=True)
class OutputSlopes:
    """The bound before the divergence, and its gradients."""

    value: float
    m: Array  # (N, Q)
    S: Array  # (N, Q)
    Z: Array  # (M, Q)
    theta: Array  # (P,)
    log_noise: float


@dataclass(frozen=True)
class OutputShare:
    """The contribution of one group of columns to the posterior of u."""

    group: OutputGroup
    s2: float
    psi0: float
    A: Array  # (M, M)
    projected: Array  # (M, K)  L^-1 psi1^T Y / s2

    @cached_property
    def L_B(self) -> Array:
        """The lower factor of B, (M, M)."""
        return linalg.cholesky(self.A + np.eye(len(self.A)), max_jitter=0.0)

    @cached_property
    def v(self) -> Array:
        """B^-1 times the projected outputs, (M, K)."""
        return linalg.solve_cholesky(self.L_B, self.projected)

    @cached_property
    def B_inverse(self) -> Array:
        """The inverse of B, (M, M)."""
        return linalg.inverse_from_cholesky(self.L_B)

    @property
    def residual_variance(self) -> float:
        """The variance of f that u does not carry, in units of the noise, over all rows."""
        return self.psi0 / self.s2 - float(np.trace(self.A))

    @cached_property
    def explained_squares(self) -> float:
        """The part of the squares, in units of the noise, that u accounts for."""
        return float(np.sum(self.projected * self.v))

    def log_bound(self) -> float:
        """The bound of all columns of the group.  [TL Sec 3.1]"""
        g = self.group
        each = linalg.log_determinant(self.L_B) + self.residual_variance
        noise = g.n_values * (_LOG_2PI + math.log(self.s2))
        return -0.5 * (noise + g.n_outputs * each + g.squares / self.s2 - self.explained_squares)

    def noise_slope(self) -> float:
        """The derivative in log s2."""
        g = self.group
        decided = len(self.A) - float(np.trace(self.B_inverse))
        data = g.squares / self.s2 - self.explained_squares - float(np.sum(self.v**2))
        return 0.5 * (g.n_outputs * (self.residual_variance + decided) - g.n_values + data)


def compute_bound(
    observed: ObservedOutputs, kernel: kernels.Kernel, s2: float, points: NormalPoints
) -> OutputSlopes:
    """The bound given m, S and Z, and its gradients in everything.

    Raises ``linalg.NotPositiveDefiniteError`` where rounding leaves B no factor.
    """
    averages = expectations.compute_statistics(kernel, points)
    L_inverse = linalg.solve_lower(factor_kernel(kernel, points.Z), np.eye(len(points.Z)))
    shares = compute_shares(observed, s2, averages, L_inverse)
    given = _adjoint(shares, L_inverse, s2)
    found = expectations.pull_back(kernel, points, given)
    G = _adjoint_of_points(shares, L_inverse)
    tangent = kernel.tangent(points.Z)
    return OutputSlopes(
        sum(share.log_bound() for share in shares),
        found.m,
        found.S,
        found.Z + 2.0 * tangent.inputs(G),
        found.theta + tangent.parameters(G),
        sum(share.noise_slope() for share in shares),
    )


def factor_kernel(kernel: kernels.Kernel, Z: Array) -> Array:
    """The lower factor L of k(Z, Z)."""
    K = kernel(Z)
    return linalg.cholesky(K + _JITTER * np.mean(np.diagonal(K)) * np.eye(len(K)), max_jitter=0.0)


def compute_shares(
    observed: ObservedOutputs, s2: float, averages: KernelStatistics, L_inverse: Array
) -> list[OutputShare]:
    """The share of each group of columns in the bound."""
    A = L_inverse @ averages.psi2 @ L_inverse.T / s2
    symmetric = 0.5 * (A + A.transpose(0, 2, 1))
    projector = L_inverse @ averages.psi1.T / s2
    return [
        OutputShare(group, s2, float(psi0), a, projector @ group.Y)
        for group, psi0, a in zip(observed.groups, averages.psi0, symmetric, strict=True)
    ]


def _adjoint(shares: list[OutputShare], L_inverse: Array, s2: float) -> Weighting:
    """The gradient dL/dpsi in the averages of the kernel.

    psi0: -D / (2 s2); psi1: Y alpha^T / s2; psi2: (D L^-T (I - B^-1) L^-1 - alpha alpha^T) / (2 s2)
    """
    psi0 = np.array([-0.5 * share.group.n_outputs / s2 for share in shares])
    inner = [s.group.n_outputs * (np.eye(len(s.A)) - s.B_inverse) - s.v @ s.v.T for s in shares]
    psi2 = 0.5 * L_inverse.T @ np.stack(inner) @ L_inverse / s2
    through = sum(share.group.Y @ share.v.T for share in shares)
    return Weighting(psi0, through @ L_inverse / s2, 0.5 * (psi2 + psi2.transpose(0, 2, 1)))


def _adjoint_of_points(shares: list[OutputShare], L_inverse: Array) -> Array:
    """dL/dK_uu = -1/2 L^-T (D A B^-1 A + v v^T) L^-1, the jitter's part added to the diagonal."""
    inner = np.zeros_like(L_inverse)
    for share in shares:
        W = linalg.solve_lower(share.L_B, share.A)
        inner += share.group.n_outputs * (W.T @ W) + share.v @ share.v.T
    G = -0.5 * L_inverse.T @ inner @ L_inverse
    return 0.5 * (G + G.T) + _JITTER * np.mean(np.diagonal(G)) * np.eye(len(G))
