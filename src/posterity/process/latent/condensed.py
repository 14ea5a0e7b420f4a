"""A Gaussian process of many rows, told through few of them.

What the rows have in common with a query is what the few have in common with it, carried over by
the kernel, wherever these say enough of the others. Nothing is fitted again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posterity import kernels, linalg
from posterity.arrays import Array
from posterity.inference.posterior import LatentMarginals
from posterity.linalg import eigen
from posterity.process import exact, kernel_blocks
from posterity.process.inducing import selection
from posterity.process.latent import site_posterior

_JITTER = 1e-8  # of the mean diagonal: half the digits

ExactPosterior = exact.ProcessPosterior | site_posterior.SitePosterior


@dataclass(frozen=True)
class CondensedPosterior:
    """Mean m.a and variance k(x, x) - |a|^2 + |U a|^2 of the function, with a = L^-1 k(Z, x).

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import GaussianProcessRegressor, kernels
    >>> X = np.linspace(0.0, 6.0, 200)[:, None]
    >>> model = GaussianProcessRegressor(kernels.RBF(1.0).fixed(), 0.01).fit(X, np.sin(X[:, 0]))
    >>> few = CondensedPosterior.from_posterior(model.posterior_, 12)
    >>> query = np.array([[1.5]])
    >>> [round(float(f.latent(query).mean[0, 0]), 2) for f in (few, model.posterior_)]
    [0.99, 0.99]
    """

    kernel: kernels.Kernel
    Z: Array  # (M, D)
    L: Array  # (M, M), lower
    U: Array  # (M, M), upper
    m: Array  # (M,)
    shift: float

    @classmethod
    def from_posterior(cls, posterior: ExactPosterior, n_rows: int) -> CondensedPosterior:
        """Approximate by at most this many rows, chosen to explain most of the others."""
        X, kernel = np.asarray(posterior.X), posterior.kernel
        Z = X[np.sort(selection.select_greedily(kernel, X, n_rows))]
        K = kernel_blocks.fill_between(
            kernel, Z, Z.copy()
        )  # as rows apart: what is theirs alone is left out
        K[np.diag_indices(len(K))] *= 1.0 + _JITTER
        L = linalg.cholesky(K)
        A = linalg.solve_lower(L, kernel_blocks.fill_between(kernel, Z, X))
        kept = eigen.semidefinite_factors(np.eye(len(L)) - _variance_reduction(posterior, A))
        U = linalg.HouseholderQR.factorize(kept.T).R
        weights, shift = _mean_weights(posterior)
        return cls(kernel, Z, L, U, A @ weights, shift)

    def latent(self, X: Array) -> LatentMarginals:
        """Return the distributions of the function at each row of X."""
        a = linalg.solve_lower(self.L, kernel_blocks.fill_between(self.kernel, self.Z, X))
        left = np.maximum(self.kernel.diag(X) - np.sum(a**2, axis=0), 0.0)
        mean, variance = self.shift + a.T @ self.m, left + np.sum((self.U @ a) ** 2, axis=0)
        return LatentMarginals(mean[:, None], variance[:, None])


def _variance_reduction(posterior: ExactPosterior, A: Array) -> Array:
    """How much of each direction's variance the rows take away, (M, M)."""
    if isinstance(posterior, exact.ProcessPosterior):
        V = linalg.solve_lower(posterior.L, np.ascontiguousarray(A.T))
        return V.T @ V
    return posterior.sites.reduction_matrix(np.ascontiguousarray(A.T))


def _mean_weights(posterior: ExactPosterior) -> tuple[Array, float]:
    """Return the weights of the rows' covariances in the mean, and the constant added to it."""
    if isinstance(posterior, exact.ProcessPosterior):
        return np.asarray(posterior.a[:, 0]), 0.0
    return posterior.alpha, float(posterior.shift)
