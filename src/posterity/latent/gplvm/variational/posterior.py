"""The posterior of latent points and of the function from them to the outputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from posterity import kernels, linalg, optimize
from posterity.arrays import Array
from posterity.inference.posterior import LatentMarginals
from posterity.latent.gplvm import inducing_outputs, locating
from posterity.latent.gplvm.variational import bound, expectations
from posterity.latent.gplvm.variational.bound import ObservedOutputs
from posterity.latent.gplvm.variational.statistics import NormalPoints, Weighting

_STEP = 1e-3  # of a dimension's deviation
_ROWS = 64  # at a time: only the diagonal of a block counts


def compute_relevances(kernel: kernels.Kernel, m: Array, S: Array) -> Array:
    """The variation of f along each dimension, (Q,), in units of the largest.

    The mean square of the slope that the kernel expects of f at the points, E (df/dx_q)^2, times
    the variance of their means: for an RBF, the variance in units of its squared length scale. A
    dimension that the data do not speak of has means at zero, whatever its length scale.

    Parameters
    ----------
    kernel : Kernel
    m, S : array (N, Q)
        Means and variances of the latent points.

    Examples
    --------
    >>> m = np.array([[-1.0, -1.0], [1.0, 1.0]])
    >>> compute_relevances(kernels.RBF([1.0, 10.0]), m, 0.01 * np.ones((2, 2))).round(3)
    array([1.  , 0.01])
    """
    spread = np.var(m, axis=0)
    deviations = np.sqrt(spread + np.mean(S, axis=0))
    slopes = [_mean_square_slope(kernel, m, q, _STEP * h) for q, h in enumerate(deviations)]
    varied = np.array(slopes) * spread
    largest = float(np.max(varied))
    return varied / largest if largest > 0.0 else np.zeros_like(varied)


def _mean_square_slope(kernel: kernels.Kernel, X: Array, q: int, h: float) -> float:
    """E (f(x + h) - f(x))^2 / h^2 along column q, averaged over rows; zero where none varies."""
    if h == 0.0:
        return 0.0
    shift, total = np.zeros(X.shape[1]), 0.0
    shift[q] = h
    for i in range(0, len(X), _ROWS):
        x = X[i : i + _ROWS]
        y = x + shift
        # With both sides given, what each row has for itself alone (White) does not count.
        total += np.trace(kernel(x, x)) + np.trace(kernel(y, y)) - 2.0 * np.trace(kernel(x, y))
    return max(float(total), 0.0) / (len(X) * h * h)


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


_VALUES = 1 << 20  # of psi2, one matrix a row, at a time


def condition_variational(
    Y: Array,
    m: Array,
    S: Array,
    kernel: kernels.Kernel,
    noise_variance: float,
    Z: Array,
    prior_own: Array,
    optimum: optimize.Optimum,
    ends: Array | None = None,
) -> VariationalPosterior:
    """The posterior given the latent points' means and variances; ``optimum`` found them."""
    observed = ObservedOutputs.from_outputs(Y)
    with linalg.limit_threads(len(Z)):
        averages = expectations.compute_statistics(kernel, NormalPoints(m, S, Z, observed.weights))
        L = bound.factor_kernel(kernel, Z)
        L_inverse = linalg.solve_lower(L, np.eye(len(Z)))
        shares = bound.compute_shares(observed, noise_variance, averages, L_inverse)
        projector = L_inverse @ averages.psi1.T / noise_variance
        parts = []
        for share in shares:
            columns = share.group.columns
            projected = projector @ np.nan_to_num(Y[:, columns], nan=0.0)
            v = linalg.solve_cholesky(share.L_B, projected)
            parts.append(inducing_outputs.Part(columns, share.L_B, v))
    decoder = inducing_outputs.InducingDecoder(
        kernel, noise_variance, Z, L, tuple(parts), Y.shape[1]
    )
    best = -optimum.value
    heights = np.array([best]) if ends is None else ends
    return VariationalPosterior(m, S, prior_own, best, optimum, heights, decoder)


@dataclass(frozen=True)
class VariationalPosterior:
    """Latent points as independent normals, and f given u, averaged over the posterior of u.

    It decodes sure points as any decoder does, and uncertain ones by :meth:`decode`.
    """

    m: Array  # (N, Q)
    S: Array  # (N, Q)
    prior_own: Array  # what was learned of the prior of the latent points
    log_bound: float
    optimum: optimize.Optimum
    ends: Array  # the bound that the first iterations from each start reached
    decoder: inducing_outputs.InducingDecoder

    @property
    def kernel(self) -> kernels.Kernel:
        """As it was learned."""
        return self.decoder.kernel

    @property
    def noise_variance(self) -> float:
        """Variance of an output about the function."""
        return self.decoder.noise_variance

    @property
    def Z(self) -> Array:
        """Inducing points, (M, Q)."""
        return self.decoder.Z

    def latent(self, X: Array) -> LatentMarginals:
        """Return the distributions of the D noise-free functions at sure points X (n, Q)."""
        return self.decoder.latent(X)

    def log_density(self, X: Array, Y: Array) -> tuple[Array, Array]:
        """Log density (n,) of the outputs of each row that are not NaN, and its gradient."""
        return self.decoder.log_density(X, Y)

    def decode(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Mean and variance (n, D) of the noise-free function at normal points.  [TL Sec 4]

        Parameters
        ----------
        mean, variance : array (n, Q)
            Of the points, coordinates independent.
        """
        size = max(1, _VALUES // len(self.Z) ** 2)
        parts = [
            self._decode_block(mean[i : i + size], variance[i : i + size])
            for i in range(0, max(1, len(mean)), size)
        ]
        means, variances = zip(*parts, strict=True)
        return np.concatenate(means), np.concatenate(variances)

    def locate(self, Y: Array, *, n_starts: int = 3, max_iter: int = 200) -> locating.Located:
        """Normals for rows of outputs, NaN where one is missing, under a standard normal prior.

        What is known of the function stays. The log density of a row is its bound.
        """
        return locate(self._carried_process, Y, self.m, self.S, n_starts, max_iter)

    def _decode_block(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """The same of a few rows."""
        f, squares, prior = moments(self._carried_process, mean, variance)
        return f, linalg.nonnegative(squares - f * f, prior + f * f)

    @cached_property
    def _carried_process(self) -> CarriedProcess:
        """The distribution of f given u, in terms of the kernel between a point and Z."""
        L_inverse = linalg.solve_lower(self.decoder.L, np.eye(len(self.Z)))
        alpha = np.empty((len(self.Z), self.decoder.n_outputs))
        group_of = np.empty(self.decoder.n_outputs, dtype=np.intp)
        gains = []
        for g, part in enumerate(self.decoder.parts):
            alpha[:, part.columns], group_of[part.columns] = L_inverse.T @ part.m, g
            less = np.eye(len(self.Z)) - linalg.inverse_from_cholesky(part.L_B)
            gains.append(L_inverse.T @ less @ L_inverse)
        P = np.stack(gains)
        return CarriedProcess(
            self.kernel,
            self.noise_variance,
            self.Z,
            alpha,
            0.5 * (P + P.transpose(0, 2, 1)),
            group_of,
        )
