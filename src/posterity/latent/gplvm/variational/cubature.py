"""Averages of any kernel over normal inputs, by 2 Q points a row.  [AH]

x_n is taken at m_n +- sqrt(Q S_nq) along each column q, all equally likely. That is exact where
what is averaged is a polynomial of third degree in x, and right to second order in S for every
smooth kernel. Each row's psi2 is an average of outer products, so no covariance turns negative.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from posterity import kernels
from posterity.arrays import Array
from posterity.latent.gplvm.variational.statistics import (
    KernelStatistics,
    NormalPoints,
    StatisticSlopes,
    Weighting,
)


def compute_statistics(kernel: kernels.Kernel, points: NormalPoints) -> KernelStatistics:
    """psi0, psi1, psi2."""
    w, n_points = points.weights, len(points.Z)
    psi0, psi1 = np.zeros(len(w)), np.zeros((len(points.m), n_points))
    psi2 = np.zeros((len(w), n_points, n_points))
    for X, _ in _places(points):
        K = kernel(X, points.Z)
        psi0 += w @ kernel.diag(X)
        psi1 += K
        psi2 += _grams(K, w)
    n = _n_places(points)
    return KernelStatistics(psi0 / n, psi1 / n, psi2 / n)


def pull_back(kernel: kernels.Kernel, points: NormalPoints, given: Weighting) -> StatisticSlopes:
    """The adjoint of :func:`compute_statistics`."""
    n, g = _n_places(points), given.psi0 @ points.weights / _n_places(points)
    value, Z, theta = np.zeros(len(points.m)), np.zeros_like(points.Z), np.zeros(len(kernel.theta))
    m, S = np.zeros_like(points.m), np.zeros_like(points.S)
    for X, shift in _places(points):
        tangent = kernel.tangent(X, points.Z)
        K = tangent.value
        half = _sum_weighted_products(K, points.weights, given.psi2) / n
        V = given.psi1 / n
        G = V + 2.0 * half
        value += g * kernel.diag(X) + np.sum(K * (V + half), axis=1)
        theta += tangent.parameters(G) + kernel.diag_pullback(X, g)
        Z += kernel.tangent(points.Z, X).inputs(G.T)
        moved = tangent.inputs(G) + kernel.diag_pullback_inputs(X, g)
        m += moved
        S += moved * shift / (2.0 * points.S)
    return StatisticSlopes(value, m, S, Z, theta)


def _n_places(points: NormalPoints) -> int:
    return 2 * points.m.shape[1]


def _places(points: NormalPoints) -> Iterator[tuple[Array, Array]]:
    """The rows at each of the places, and how far that is from their means."""
    n_columns = points.m.shape[1]
    for q in range(n_columns):
        for sign in (-1.0, 1.0):
            shift = np.zeros_like(points.m)
            shift[:, q] = sign * math.sqrt(n_columns) * np.sqrt(points.S[:, q])
            yield points.m + shift, shift


def _grams(K: Array, weights: Array) -> Array:
    """K^T diag(w) K for each w, (G, M, M)."""
    return np.stack([(K * w[:, None]).T @ K for w in weights])


def _sum_weighted_products(K: Array, weights: Array, H: Array) -> Array:
    """sum_g w_g K H_g, (N, M)."""
    return sum((w[:, None] * (K @ h) for w, h in zip(weights, H, strict=True)), np.zeros_like(K))
