"""Normals for the latent points of new rows, each by the best bound of its own.

A row's bound is E log p(y | x) - KL(q(x) | standard normal) with what is known of the function kept
as it is. E f_d^2 = psi0 + <psi2, alpha_d alpha_d^T - P_d>, so the bound is linear in the averages
of the row, and the adjoint of those is all that it takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import kernels, optimize
from posterity.arrays import Array
from posterity.latent.gplvm import locating
from posterity.latent.gplvm.variational import expectations
from posterity.latent.gplvm.variational.statistics import NormalPoints, Weighting

_LOG_2PI = math.log(2.0 * math.pi)
_LEAST_GAIN = 1e-5  # nats: the mean is then found to half a hundredth of its deviation
_FEW = 64  # rows at a time
_LOG_S_UNIT = 1.4


@dataclass(frozen=True)
class CarriedProcess:
    """f_d = k(x, Z) alpha_d on average, its variance k(x, x) - k(x, Z) P_d k(Z, x)."""

    kernel: kernels.Kernel
    noise_variance: float
    Z: Array  # (M, Q)
    alpha: Array  # (M, D)
    P: Array  # (G, M, M), symmetric
    group_of: NDArray[np.intp]  # (D,), which P is an output's


def moments(carried: CarriedProcess, m: Array, S: Array) -> tuple[Array, Array, Array]:
    """E f and E f^2 (n, D), and E k(x, x) (n, 1), at normal points."""
    averages = expectations.compute_statistics(
        carried.kernel, NormalPoints(m, S, carried.Z, np.eye(len(m)))
    )
    mean = averages.psi1 @ carried.alpha
    prior = averages.psi0[:, None]
    unseen = prior - np.einsum("nab,gab->ng", averages.psi2, carried.P, optimize=True)
    known = np.sum((averages.psi2 @ carried.alpha) * carried.alpha, axis=1)
    return mean, known + unseen[:, carried.group_of], prior


def locate(
    carried: CarriedProcess, Y: Array, m: Array, S: Array, n_starts: int, max_iter: int
) -> locating.Located:
    """The best normal of each row, from those training rows (m, S) that explain it best."""
    k = min(n_starts, len(m))
    f, squares, _ = _concatenate_blocks(lambda i: moments(carried, m[i], S[i]), len(m))
    apart = 0.5 * np.sum(S + m * m - 1.0 - np.log(S), axis=1)
    seen, whole = ~np.isnan(Y), np.nan_to_num(Y, nan=0.0)
    fits = (whole @ f.T - 0.5 * seen @ squares.T) / carried.noise_variance - apart
    starts = np.argpartition(-fits, k - 1, axis=1)[:, :k]  # (n, k)

    def locate_block(i: slice) -> tuple[Array, ...]:
        return _PlacedRows(carried, Y[i]).locate(m[starts[i]], S[starts[i]], max_iter)

    mean, variance, value, converged = _concatenate_blocks(locate_block, len(Y))
    covariance = np.zeros((*mean.shape, mean.shape[1]))
    covariance[:, np.arange(mean.shape[1]), np.arange(mean.shape[1])] = variance
    return locating.Located(mean, covariance, value, converged.astype(bool))


class _PlacedRows:
    """A few rows of outputs."""

    def __init__(self, carried: CarriedProcess, Y: Array) -> None:
        seen, s2 = ~np.isnan(Y), carried.noise_variance
        whole = np.nan_to_num(Y, nan=0.0)
        patterns, which = np.unique(seen, axis=0, return_inverse=True)
        self.carried, self.unseen = carried, ~np.any(seen, axis=1)
        self.weights = (which == np.arange(len(patterns))[:, None]).astype(np.float64)  # (R, n)
        self.psi0 = -0.5 * np.sum(patterns, axis=1) / s2
        self.psi1 = whole @ carried.alpha.T / s2
        self.psi2 = np.stack([_second_slope(carried, columns) for columns in patterns])
        noise = np.sum(seen, axis=1) * (_LOG_2PI + math.log(s2))
        self.constant = -0.5 * (noise + np.sum(whole**2, axis=1) / s2)

    def bounds(self, m: Array, S: Array, rows: NDArray[np.intp]) -> tuple[Array, Array, Array]:
        """The bound of each of these rows, and its gradients in m and S."""
        points = NormalPoints(m, S, self.carried.Z, self.weights[:, rows])
        given = Weighting(self.psi0, self.psi1[rows], self.psi2)
        f = expectations.pull_back(self.carried.kernel, points, given)
        apart = 0.5 * np.sum(S + m * m - 1.0 - np.log(S), axis=1)
        return self.constant[rows] + f.value - apart, f.m - m, f.S - 0.5 + 0.5 / S

    def locate(self, m0: Array, S0: Array, max_iter: int) -> tuple[Array, ...]:
        """Means, variances, bounds, and whether found, each row from k starts (n, k, Q)."""
        n, k, n_columns = m0.shape
        alone = self.unseen[:, None, None]
        m_start = np.where(alone, 0.0, m0).reshape(n * k, n_columns)
        S_start = np.where(alone, 1.0, S0).reshape(n * k, n_columns)
        unit = np.sqrt(S_start)

        def point_at(x: Array, which: NDArray[np.intp]) -> tuple[Array, Array]:
            m = m_start[which] + unit[which] * x[:, :n_columns]
            # Beyond these a variance is absurd, and its exponential may overflow.
            step = np.clip(_LOG_S_UNIT * x[:, n_columns:], -30.0, 30.0)
            return m, S_start[which] * np.exp(step)

        def negative(x: Array, which: NDArray[np.intp]) -> tuple[Array, Array]:
            m, S = point_at(x, which)
            value, dm, dS = self.bounds(m, S, which // k)
            return -value, -np.hstack([unit[which] * dm, _LOG_S_UNIT * S * dS])

        origin = np.zeros((n * k, 2 * n_columns))
        ends = optimize.minimise_many(negative, origin, max_iter=max_iter, least_gain=_LEAST_GAIN)
        best = np.arange(n) * k + np.argmin(ends.value.reshape(n, k), axis=1)
        mean, variance = point_at(ends.x[best], best)
        return mean, variance, -ends.value[best], ends.converged[best]


def _second_slope(carried: CarriedProcess, columns: NDArray[np.bool_]) -> Array:
    """-1/2 sum_d (alpha_d alpha_d^T - P_d) / s2 over the outputs that are there, (M, M)."""
    alpha = carried.alpha[:, columns]
    counts = np.bincount(carried.group_of[columns], minlength=len(carried.P))
    total = alpha @ alpha.T - np.einsum("g,gab->ab", counts, carried.P)
    return -0.5 * total / carried.noise_variance


def _concatenate_blocks(f: Callable[[slice], tuple[Array, ...]], n: int) -> tuple[Array, ...]:
    """The arrays that a function of a few rows returns, put together."""
    blocks = [f(slice(i, i + _FEW)) for i in range(0, max(1, n), _FEW)]
    return tuple(np.concatenate(column) for column in zip(*blocks, strict=True))
