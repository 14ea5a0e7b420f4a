"""Gaussian process regression with normal noise: the evidence, its gradient, the posterior.

Everything happens in the memory of one N x N matrix: it is filled with K + noise, factorised,
inverted, and weighed against the kernel's blocks, which are computed again as they are needed.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import array_api_compat
import numpy as np

from posterity import arrays, callers, kernels, linalg, page_forms
from posterity.arrays import Array, DeviceArray, namespace
from posterity.inference.observations import Observations
from posterity.inference.posterior import LatentJoint, LatentMarginals
from posterity.page_forms import Form
from posterity.process import kernel_blocks
from posterity.process.latent import condensed
from posterity.process.prior import ProcessPrior, share_covariance, share_variance

__all__ = ["Evidence", "Observations", "ProcessPosterior"]

_ROUND_OFF = 1e10 * float(np.finfo(np.float64).eps)  # of a variance, in units of its tolerance
_VISIBLE = 1e-3  # of the size of the targets, by which a function without noise may miss one
_QUERY_VALUES = 1 << 22  # cross-covariances held at a time while predicting: 32 MiB
_DEVICE_VALUES = 1 << 27  # on a device, which large products keep busy: 1 GiB


class Evidence:
    """log p(Y) = sum_k log N(y_k | 0, K + noise), with its gradient, as a function.

    The memory of the matrix is kept from one call to the next.

    Parameters
    ----------
    X : array (N, D), or a sequence of N objects
        The rows.
    observations : Observations
    jitter : float, default=0
        Share of the mean diagonal of K that is added to the noise variance, as part of the model.
    """

    def __init__(self, X: Any, observations: Observations, jitter: float = 0.0) -> None:
        self.X, self.observations, self.jitter = X, observations, jitter
        self._memory: DeviceArray | None = None

    def __call__(self, kernel: kernels.Kernel, noise_variance: float) -> tuple[float, Array]:
        """The log evidence and its gradient in [kernel.theta, log noise_variance].

        Raises ``linalg.NotPositiveDefiniteError`` where the covariance is not, to rounding.
        """
        y = self.observations
        total = noise_variance + jitter_variance(kernel, self.X, self.jitter)
        noise = total * y.spread
        K = self._matrix()
        kernel_blocks.fill(K, kernel, self.X, noise)
        L = linalg.cholesky_in_place(K)
        U = linalg.solve_lower(L, y.Y)
        a = linalg.solve_lower_transposed(L, U)
        value = log_density(L, U) + y.log_apart(total)[0]
        P = linalg.inverse_in_place(L)  # lower triangle of (K + noise)^-1
        slope = _noise_slope(P, a, noise) + y.log_apart(total)[1]
        theta = 0.5 * kernel_blocks.pullback(P, kernel, self.X, lambda i, j: _weights(P, a, i, j))
        if self.jitter:
            theta = theta + self._jitter_gradient(kernel, slope / total)
            slope *= noise_variance / total
        return value, np.append(theta, slope)

    def _jitter_gradient(self, kernel: kernels.Kernel, slope: float) -> Array:
        """The part of the gradient in theta that comes through the mean diagonal of K."""
        diagonal = kernel.diag(self.X)
        share = self.jitter * slope / self.observations.n_rows
        return kernel.diag_pullback(self.X, share + 0.0 * diagonal)

    def _matrix(self) -> DeviceArray:
        if self._memory is None:
            self._memory = allocate(self.observations)
        return self._memory


def _noise_slope(P: DeviceArray, a: DeviceArray, noise: DeviceArray) -> float:
    """The trace of dL/dK times the noise."""
    xp = namespace(P)
    per_row = xp.sum(a * a, axis=1) - a.shape[1] * xp.linalg.diagonal(P)
    return 0.5 * float(xp.sum(per_row * noise))


def _weights(P: DeviceArray, a: DeviceArray, i: slice, j: slice) -> DeviceArray:
    """Twice dL/dK, a a^T - K^-1 for each output, at one block.  [GPML 5.9]"""
    G = a[i, ...] @ a[j, ...].T
    G -= a.shape[1] * P[i, j] if a.shape[1] > 1 else P[i, j]
    return kernel_blocks.symmetric(G) if i == j else G


def log_density(L: DeviceArray, U: DeviceArray) -> float:
    """sum_k log N(y_k | 0, L L^T) with U = L^-1 Y.  [GPML 2.30]"""
    n, outputs = U.shape
    quadratic = float(namespace(U).sum(U * U))
    constant = 0.5 * n * math.log(2.0 * math.pi)
    return -0.5 * quadratic - outputs * (0.5 * linalg.log_determinant(L) + constant)


def jitter_variance(kernel: kernels.Kernel, X: Any, jitter: float) -> float:
    """Variance that jitter adds to every row: a share of the mean prior variance."""
    return jitter * float(namespace(d := kernel.diag(X)).mean(d)) if jitter else 0.0


def allocate(observations: Observations) -> DeviceArray:
    """Memory for an N x N matrix where the targets lie; a sentence where there is not enough."""
    check_room(observations)
    Y, n = observations.Y, observations.n_rows
    if array_api_compat.is_numpy_array(Y):
        return np.empty((n, n), order="F")  # in which LAPACK's inverse loses the fewest digits
    return namespace(Y).empty((n, n), dtype=Y.dtype, device=array_api_compat.device(Y))


def check_room(observations: Observations) -> None:
    """Refuse rows whose covariances do not fit beside them, before anything is computed."""
    Y, n = observations.Y, observations.n_rows
    needed, free = 8 * n * n, arrays.free_memory(Y)
    if free is not None and needed > free:
        raise MemoryError(
            f"the covariance of {n:,} rows takes {needed / 2**30:.1f} GiB and {free / 2**30:.1f} "
            "GiB are free; use inducing points (inducing_points=512), which never form it, or "
            "fewer rows"
        )


@dataclass(frozen=True)
class ProcessPosterior:
    """The function at any rows, given noisy values at N rows; K outputs share all but the mean."""

    kernel: kernels.Kernel
    X: Any  # (N, D) rows, or N objects
    noise_variance: float
    observations: Observations
    L: DeviceArray  # (N, N), L L^T = K + noise
    U: DeviceArray  # (N, K), L^-1 Y
    a: DeviceArray  # (N, K), (K + noise)^-1 Y

    @classmethod
    def condition(
        cls, kernel: kernels.Kernel, noise_variance: float, X: Any, observations: Observations
    ) -> ProcessPosterior:
        """Factorise once.  [P8 8.24]

        Warns with ``linalg.JitterWarning`` where the covariance is not positive definite to
        rounding, and raises ``linalg.NotPositiveDefiniteError`` where it is not at all.
        """
        K = allocate(observations)
        with linalg.limit_threads(observations.n_rows):
            # Jitter, where it is needed, needs what stood below the diagonal again: kept above.
            kernel_blocks.fill(K, kernel, X, noise_variance * observations.spread, above_too=True)
            L = linalg.cholesky(K, overwrite=True)
            return cls._with_factor(kernel, noise_variance, X, observations, L)

    @classmethod
    def interpolate(
        cls, kernel: kernels.Kernel, X: Any, observations: Observations, jitter: float
    ) -> ProcessPosterior:
        """Condition without noise but for jitter, a share of the mean prior variance.

        Warns with ``linalg.JitterWarning`` where the function then misses a target visibly.
        """
        posterior = cls.condition(kernel, jitter_variance(kernel, X, jitter), X, observations)
        posterior._check_targets_are_met()
        return posterior

    @classmethod
    def _with_factor(
        cls,
        kernel: kernels.Kernel,
        noise_variance: float,
        X: Any,
        observations: Observations,
        L: DeviceArray,
    ) -> ProcessPosterior:
        U = linalg.solve_lower(L, observations.Y)
        a = linalg.solve_lower_transposed(L, U)
        return cls(kernel, X, noise_variance, observations, L, U, a)

    def _check_targets_are_met(self) -> None:
        """Warn where noise makes the function miss a target by more than can be overlooked."""
        missed = self.noise_variance * np.abs(arrays.to_numpy(self.a))
        size = np.sqrt(np.mean(arrays.to_numpy(self.observations.Y) ** 2, axis=0))
        share = missed / np.where(size > 0.0, size, 1.0)
        row, output = np.unravel_index(np.argmax(share), missed.shape)
        if share[row, output] > _VISIBLE:
            callers.warn_caller(
                "The covariance of the rows is singular to rounding, and with "
                f"{self.noise_variance:.1e} added to variances the function misses the target of "
                f"row {row} by {missed[row, output]:.2g}. Rows that are nearly equal are the usual "
                "cause: remove them, or let noise_variance be learned.",
                linalg.JitterWarning,
            )

    @property
    def log_evidence(self) -> float:
        """log p(Y), all constants included."""
        return log_density(self.L, self.U) + self.observations.log_apart(self.noise_variance)[0]

    def mean(self, X: Any) -> DeviceArray:
        """Return the mean of the functions at the rows of X, (n, K).  [P8 8.24]"""

        def predict(x: Any) -> DeviceArray:
            return kernel_blocks.fill_between(self.kernel, x, self.X) @ self.a

        answers = kernel_blocks.map_pieces(predict, self.kernel, X, self._rows_at_once(X))
        return namespace(self.a).concat(answers)

    def latent(self, X: Any) -> LatentMarginals:
        """Return the distributions of the K functions, without noise.  [P8 8.24]"""
        xp = namespace(self.a)

        def predict(x: Any) -> tuple[DeviceArray, DeviceArray]:
            k = kernel_blocks.fill_between(self.kernel, self.X, x)  # (N, n)
            return k.T @ self.a, self.variance_given(x, linalg.solve_lower(self.L, k))

        answers = kernel_blocks.map_pieces(predict, self.kernel, X, self._rows_at_once(X))
        means, variances = zip(*answers, strict=True)
        return share_variance(xp.concat(means), xp.concat(variances))

    def variance_given(self, X: Any, V: DeviceArray) -> DeviceArray:
        """Return the variance of the function at the rows of X, (n,), from V = L^-1 k(rows, X)."""
        prior = self.kernel.diag(X)
        return linalg.nonnegative(prior - namespace(V).sum(V * V, axis=0), prior * self._loss)

    def joint(self, X: Any) -> LatentJoint:
        """Return the distribution of each function over all rows of X.  [P8 8.24]"""
        k = kernel_blocks.fill_between(self.kernel, self.X, X)
        V = linalg.solve_lower(self.L, k)
        return share_covariance(k.T @ self.a, self.kernel(X) - V.T @ V)

    def before_rows(self) -> ProcessPrior:
        """Return the process before it saw its rows."""
        return ProcessPrior(self.kernel, np.zeros(self.a.shape[1]), np.zeros(self.a.shape[1]))

    def leave_one_out(self) -> LatentMarginals:
        """Return the distributions of each target given all others, noise included.  [GPML 5.12]

        Of a row that counts w times, one repetition is left out.
        """
        xp, y = namespace(self.L), self.observations
        P = linalg.inverse_in_place(xp.asarray(self.L, copy=True))
        precision = xp.linalg.diagonal(P)
        if y.weights is None:
            return share_variance(y.Y - self.a / precision[:, None], 1.0 / precision)
        noise, w = self.noise_variance * y.spread, arrays.like(self.L, y.weights)
        f = arrays.like(self.L, np.minimum(1.0, 1.0 / y.weights))  # the share that is left out
        rest = (1.0 - f) + f * noise * precision
        variance = noise * (1.0 - noise * precision) / rest + noise * w
        return share_variance(y.Y - noise[:, None] * self.a / rest[:, None], variance)

    def condition_further(self, X: Any, observations: Observations) -> ProcessPosterior:
        """The posterior given these rows too, all rows and targets now being those passed.

        The first N of them are those known already; the rest cost N^2 operations each.
        """
        n = self.observations.n_rows
        new = kernels.rows.slice_rows(X, n, kernels.rows.count_rows(X))
        noise = self.noise_variance * observations.spread[n:]
        L = linalg.append_rows(
            self.L, self.kernel(new, self.X), kernel_blocks.with_diagonal(self.kernel(new), noise)
        )
        return self._with_factor(self.kernel, self.noise_variance, X, observations, L)

    def page_form(self, noise_variance: float) -> Form:
        """Return the form from which a page computes mean and variance of the function.

        A process of many rows is approximated by few, with an error that is small beside the noise.
        """
        return condensed.form_exact_process(self, noise_variance)

    def form_all_rows(self) -> Form:
        """Return the form with the covariances of all rows."""
        weights, shift = self.mean_weights()
        return {
            **self.kernel.form_columns(self.X),
            "kind": "process",
            "lower": page_forms.flatten_triangle(self.L),
            "mean": {"of": "covariances", "weights": weights, "shift": shift},
        }

    def mean_weights(self) -> tuple[Array, float]:
        """Return the weights of the rows' covariances in the mean, and the constant added to it."""
        return np.asarray(self.a[:, 0]), 0.0

    def reduction_matrix(self, k: Array) -> Array:
        """Return the covariance (M, M) that the rows take away, given covariances k (N, M)."""
        V = linalg.solve_lower(self.L, k)
        return V.T @ V

    @functools.cached_property
    def _loss(self) -> float:
        """The factor by which a nearly singular covariance enlarges the round-off of variances."""
        xp = namespace(self.L)
        pivots = xp.linalg.diagonal(self.L)
        ratio = float(xp.max(pivots)) / float(xp.min(pivots))
        return max(1.0, _ROUND_OFF * self.observations.n_rows * ratio**2)

    def _rows_at_once(self, X: Any) -> int:
        """Count the queries whose covariances with the rows fit in a small memory."""
        values = _QUERY_VALUES if array_api_compat.is_numpy_array(self.L) else _DEVICE_VALUES
        few = values // max(1, self.observations.n_rows)
        return max(1, few if self.kernel.takes_vectors else kernels.rows.count_rows(X))
