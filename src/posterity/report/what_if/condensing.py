"""A Gaussian process of many rows, told through few of them.

What the rows have in common with a query is what the few have in common with it, carried over by
the kernel, wherever these say enough of the others. How far that holds is measured, not assumed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from posterity import kernels, linalg
from posterity.arrays import Array
from posterity.inference import blocks, inducing_selection, process, site_posterior
from posterity.linalg import eigen
from posterity.report.what_if.packing import NoFormError

MOST_ROWS = 400
"""Rows whose covariances a page carries beside all else."""

TELLING = 288
"""Rows that tell of all others where those are more."""

_TOLERANCE = 0.03  # of a standard deviation: less than a person sees
_JITTER = 1e-8  # of the mean diagonal: half the digits
_CHECKED = 1000

Exact = process.ProcessPosterior | site_posterior.SitePosterior


@dataclass(frozen=True)
class Condensed:
    """Mean m.a and variance k(x, x) - |a|^2 + |U a|^2 of the function, with a = L^-1 k(Z, x)."""

    kernel: kernels.Kernel
    Z: Array  # (M, D)
    L: Array  # (M, M), lower
    U: Array  # (M, M), upper
    m: Array  # (M,)
    shift: float

    @classmethod
    def of(cls, posterior: Exact, n_rows: int) -> Condensed:
        """Through so many of the rows, chosen so that they tell most of the others."""
        X, kernel = np.asarray(posterior.X), posterior.kernel
        Z = X[np.sort(inducing_selection.select_greedily(kernel, X, n_rows))]
        K = blocks.between(kernel, Z, Z.copy())  # as rows apart: what is theirs alone is left out
        K[np.diag_indices(len(K))] *= 1.0 + _JITTER
        L = linalg.cholesky(K)
        A = linalg.solve_lower(L, blocks.between(kernel, Z, X))
        kept = eigen.semidefinite_factors(np.eye(len(L)) - _told(posterior, A))
        U = linalg.HouseholderQR.of(kept.T).R
        weights, shift = _weights(posterior)
        return cls(kernel, Z, L, U, A @ weights, shift)

    def latent(self, X: Array) -> tuple[Array, Array]:
        """Mean and variance of the function, (n,) each."""
        a = linalg.solve_lower(self.L, blocks.between(self.kernel, self.Z, X))
        left = np.maximum(self.kernel.diag(X) - np.sum(a**2, axis=0), 0.0)
        return self.shift + a.T @ self.m, left + np.sum((self.U @ a) ** 2, axis=0)


def small(posterior: Exact, noise_variance: float) -> tuple[Exact | Condensed, str]:
    """The process itself, or the same through some of its rows, and a sentence that says so."""
    n = kernels.rows.count(posterior.X)
    if n <= MOST_ROWS or not isinstance(posterior.X, np.ndarray):
        return posterior, ""
    condensed = Condensed.of(posterior, TELLING)
    error = _error(posterior, condensed, noise_variance)
    if error > _TOLERANCE:
        raise NoFormError(f"The covariances of {n:,} rows are more than a page should carry.")
    return condensed, (
        f"Here {len(condensed.Z)} of the {n:,} rows tell of all others: what is said differs from "
        f"what the model says by at most {max(100.0 * error, 0.1):.1f} % of a deviation."
    )


def _told(posterior: Exact, A: Array) -> Array:
    """How much of each direction's variance the rows take away, (M, M)."""
    if isinstance(posterior, process.ProcessPosterior):
        V = linalg.solve_lower(posterior.L, np.ascontiguousarray(A.T))
        return V.T @ V
    return posterior.sites.reduction_matrix(np.ascontiguousarray(A.T))


def _weights(posterior: Any) -> tuple[Array, float]:
    """Of the covariances with the rows, in the mean, and what is added."""
    if isinstance(posterior, process.ProcessPosterior):
        return np.asarray(posterior.a[:, 0]), 0.0
    return posterior.alpha, float(posterior.shift)


def _error(posterior: Exact, condensed: Condensed, noise_variance: float) -> float:
    """The largest difference of means and of deviations, in deviations, where a panel goes."""
    X = _probes(np.asarray(posterior.X))
    mean, variance = (np.asarray(part).reshape(len(X)) for part in posterior.latent(X))
    m, v = condensed.latent(X)
    s = np.sqrt(variance + noise_variance)
    apart = np.sqrt(v + noise_variance) - s
    return float(np.max(np.maximum(np.abs(m - mean), np.abs(apart)) / s))


def _probes(X: Array) -> Array:
    """Rows, and rows of which one column was taken from another."""
    rng = np.random.default_rng(0)
    rows = X[rng.integers(len(X), size=_CHECKED)]
    mixed, column = rows.copy(), rng.integers(X.shape[1], size=_CHECKED)
    mixed[np.arange(_CHECKED), column] = X[rng.integers(len(X), size=_CHECKED), column]
    return np.concatenate([rows, mixed])
