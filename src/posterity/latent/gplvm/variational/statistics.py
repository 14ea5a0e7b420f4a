"""Averages of the kernel over uncertain latent points, which the bound needs, and their adjoint.

Letters of [TL]: psi1 = E k(x_n, z_m), psi2 = sum_n w_n E k(z_m, x_n) k(x_n, z_m') and
psi0 = sum_n w_n E k(x_n, x_n), where row n is normal with mean m_n and variances S_n. Several
weightings w are answered at once: where values are missing, each pattern of rows is one.
"""

from __future__ import annotations

from dataclasses import dataclass

from posterity.arrays import Array


@dataclass(frozen=True)
class NormalPoints:
    """Latent points of which means and variances are known, and the points that stand for them."""

    m: Array  # (N, Q)
    S: Array  # (N, Q)
    Z: Array  # (M, Q)
    weights: Array  # (G, N)
    n_jobs: int = 1  # threads over blocks of rows; the numbers do not depend on it


@dataclass(frozen=True)
class KernelStatistics:
    """Averages of the kernel over uncertain latent points."""

    psi0: Array  # (G,)
    psi1: Array  # (N, M)
    psi2: Array  # (G, M, M)


@dataclass(frozen=True)
class Weighting:
    """The coefficients of a linear function of the averages: their adjoints, dL/dpsi."""

    psi0: Array  # (G,)
    psi1: Array  # (N, M)
    psi2: Array  # (G, M, M), symmetric


@dataclass(frozen=True)
class StatisticSlopes:
    """A linear function of the averages, row by row, and the gradients of its sum."""

    value: Array  # (N,)
    m: Array  # (N, Q)
    S: Array  # (N, Q)
    Z: Array  # (M, Q)
    theta: Array  # (P,) the log parameters of the kernel
