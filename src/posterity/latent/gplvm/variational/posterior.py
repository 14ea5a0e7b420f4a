"""The posterior of latent points and of the function from them to the outputs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from posterity import kernels, linalg, optimize
from posterity.arrays import Array
from posterity.inference.posterior import LatentMarginals
from posterity.latent.gplvm import inducing_outputs, locating
from posterity.latent.gplvm.variational import bound, expectations, placing
from posterity.latent.gplvm.variational.observed import ObservedOutputs
from posterity.latent.gplvm.variational.statistics import NormalPoints

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
        return placing.locate(self._carried_process, Y, self.m, self.S, n_starts, max_iter)

    def _decode_block(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """The same of a few rows."""
        f, squares, prior = placing.moments(self._carried_process, mean, variance)
        return f, linalg.nonnegative(squares - f * f, prior + f * f)

    @cached_property
    def _carried_process(self) -> placing.CarriedProcess:
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
        return placing.CarriedProcess(
            self.kernel,
            self.noise_variance,
            self.Z,
            alpha,
            0.5 * (P + P.transpose(0, 2, 1)),
            group_of,
        )
