"""Outputs of a process at latent points: their density, and the process given them.

Columns that miss the same rows share a covariance, which is that of the rows they have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import kernels, linalg
from posterity.arrays import Array
from posterity.inference.posterior import LatentMarginals
from posterity.latent.gplvm import curvature, observed
from posterity.latent.gplvm.density import ProcessDensity
from posterity.process.exact import Observations, ProcessPosterior

_QUERY_VALUES = 1 << 20  # covariances of queries with rows held at a time: 8 MiB, several times


class ExactOutputs:
    """sum_d log N(y_d | 0, K_X + noise), of the outputs that are there.  [LAW]

    Its own numbers are the log parameters of the kernel, and the log noise variance where that is
    learned. The memory it works in is kept, so that two threads need two of these.

    Parameters
    ----------
    Y : array (N, D)
        About zero; NaN where an output is missing.
    kernel : Kernel
        Where to start.
    kernel_bounds : array (P, 2)
        Of its log parameters.
    noise_variance : float
        Where to start, or given.
    noise_bounds : (float, float), or None
        None: given, not learned.

    Examples
    --------
    >>> X = np.linspace(-2.0, 2.0, 20)[:, None]
    >>> kernel, bounds = kernels.RBF(1.0).search_start(X)
    >>> term = ExactOutputs(np.sin(X), kernel, bounds, 0.1, (1e-6, 1e2))
    >>> value, dX, own = term(X, term.start)
    >>> round(value, 2), dX.shape, own.shape
    (-4.38, (20, 1), (2,))
    """

    def __init__(
        self,
        Y: Array,
        kernel: kernels.Kernel,
        kernel_bounds: Array,
        noise_variance: float,
        noise_bounds: tuple[float, float] | None,
    ) -> None:
        self.Y, self.kernel, self.kernel_bounds = Y, kernel, kernel_bounds
        self.noise_variance, self.noise_bounds = noise_variance, noise_bounds
        self._groups = observed.group_columns(Y)
        # The density depends on Y Y^T alone: of many columns, a factor with N of them does.
        self._factors = [linalg.triangular_factor(group.Y.T).T for group in self._groups]
        self._density = ProcessDensity(len(Y))

    @property
    def start(self) -> Array:
        """Its own numbers to start from, (P,)."""
        return np.concatenate(
            [self.kernel.theta, np.log(self._only_if_learned([self.noise_variance]))]
        )

    @property
    def limits(self) -> Array:
        """Between which its numbers stay, (P, 2)."""
        noise = np.log(self._only_if_learned([self.noise_bounds])).reshape(-1, 2)
        return np.vstack([self.kernel_bounds, noise])

    @property
    def names(self) -> list[str]:
        """Names of its parameters."""
        return self.kernel.names + self._only_if_learned(["noise_variance"])

    def read_parameters(self, own: Array) -> tuple[kernels.Kernel, float]:
        """Kernel and noise variance at its own numbers."""
        P = len(self.kernel.theta)
        noise = self.noise_variance if self.noise_bounds is None else float(np.exp(own[P]))
        return self.kernel.with_theta(own[:P]), noise

    def __call__(self, X: Array, own: Array) -> tuple[float, Array, Array]:
        """The log density, all constants included, and its gradients in X and in ``own``.

        Raises ``linalg.NotPositiveDefiniteError`` where a covariance is not, to rounding.
        """
        kernel, noise = self.read_parameters(own)
        value, dX, d_theta, d_noise = 0.0, np.zeros_like(X), np.zeros(len(kernel.theta)), 0.0
        for group, factor in zip(self._groups, self._factors, strict=True):
            n_outputs = len(group.columns)
            part = self._density(X[group.rows], factor, kernel, noise, n_outputs=n_outputs)
            value += part.value
            dX[group.rows] += part.X
            d_theta += part.theta
            d_noise += part.log_noise
        return value, dX, np.concatenate([d_theta, self._only_if_learned([d_noise])])

    def add_curvature(self, H: Array, X: Array, own: Array) -> None:
        """As Gauss and Newton take it."""
        kernel, noise = self.read_parameters(own)
        for group, factor in zip(self._groups, self._factors, strict=True):
            Y = curvature.principal_outputs(factor)
            curvature.PointCurvature.from_outputs(X[group.rows], Y, kernel, noise).add_to(
                H, group.rows
            )

    def decoder(self, X: Array, own: Array) -> ExactDecoder:
        """The process given the outputs at latent points X."""
        kernel, noise = self.read_parameters(own)
        parts = tuple(
            (
                g.columns,
                ProcessPosterior.condition(
                    kernel, noise, X[g.rows], Observations.from_targets(g.Y)
                ),
            )
            for g in self._groups
        )
        return ExactDecoder(kernel, noise, parts, self.Y.shape[1])

    def _only_if_learned(self, of_noise: list[Any]) -> list[Any]:
        """The entries of the noise variance where that is learned; none where it is given."""
        return of_noise if self.noise_bounds is not None else []


@dataclass(frozen=True)
class ExactDecoder:
    """A process given its values at latent points; outputs that missed other rows know less."""

    kernel: kernels.Kernel
    noise_variance: float
    parts: tuple[tuple[NDArray[np.intp], ProcessPosterior], ...]  # columns, and what they share
    n_outputs: int

    def latent(self, X: Array) -> LatentMarginals:
        """Return the distributions of the D noise-free functions at points X (n, Q)."""
        mean, variance = np.empty((2, len(X), self.n_outputs))
        for columns, posterior in self.parts:
            with linalg.limit_threads(len(posterior.L)):
                f = posterior.latent(X)
            mean[:, columns], variance[:, columns] = f.mean, f.variance
        return LatentMarginals(mean, variance)

    def log_density(self, X: Array, Y: Array) -> tuple[Array, Array]:
        """Log density (n,) of the outputs of each row that are not NaN, and its gradient."""
        value, gradient = np.zeros(len(X)), np.zeros_like(X)
        for columns, posterior in self.parts:
            size = max(1, _QUERY_VALUES // len(posterior.L))
            with linalg.limit_threads(len(posterior.L)):
                for start in range(0, len(X), size):
                    i = slice(start, start + size)
                    density, slope = _log_density(posterior, X[i], Y[i][:, columns])
                    value[i] += density
                    gradient[i] += slope
        return value, gradient


def _log_density(posterior: ProcessPosterior, X: Array, Y: Array) -> tuple[Array, Array]:
    """Log density of each row under one posterior, and its gradient by mean and variance."""
    kernel, L, a = posterior.kernel, posterior.L, posterior.a
    tangent = kernel.tangent(X, posterior.X)
    k = tangent.value  # (n, N)
    V = linalg.solve_lower(L, k.T)
    s = posterior.variance_given(X, V) + posterior.noise_variance
    value, d_mean, ds = observed.log_normal(Y, k @ a, s)
    G = d_mean @ a.T
    G -= (2.0 * ds)[:, None] * linalg.solve_lower_transposed(L, V).T
    return value, tangent.inputs(G) + kernel.diag_pullback_inputs(X, ds)
