"""Approximation of a Gaussian process of many rows by few of them.

What the rows have in common with a query is what the few have in common with it, carried over by
the kernel, wherever these say enough of the others. Nothing is fitted again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from posterity import kernels, linalg, page_forms
from posterity.arrays import Array
from posterity.inference.posterior import LatentMarginals
from posterity.linalg import eigen
from posterity.page_forms import Form
from posterity.process import kernel_blocks
from posterity.process.inducing import selection

if TYPE_CHECKING:
    from posterity.process.exact import ProcessPosterior
    from posterity.process.latent.site_posterior import SitePosterior

    ExactPosterior: TypeAlias = ProcessPosterior | SitePosterior

_JITTER = 1e-8  # of the mean diagonal: half the digits

MOST_PAGE_ROWS = 400
"""Largest number of rows whose covariances are embedded in a page."""

PAGE_ROWS = 288
"""Number of rows that approximate a larger process in a page."""

_TOLERANCE = 0.03  # of a standard deviation, which is not visible
_CHECKED = 1000


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
        kept = eigen.semidefinite_factors(
            np.eye(len(L)) - posterior.reduction_matrix(np.ascontiguousarray(A.T))
        )
        U = linalg.HouseholderQR.factorize(kept.T).R
        weights, shift = posterior.mean_weights()
        return cls(kernel, Z, L, U, A @ weights, shift)

    def latent(self, X: Array) -> LatentMarginals:
        """Return the distributions of the function at each row of X."""
        a = linalg.solve_lower(self.L, kernel_blocks.fill_between(self.kernel, self.Z, X))
        left = np.maximum(self.kernel.diag(X) - np.sum(a**2, axis=0), 0.0)
        mean, variance = self.shift + a.T @ self.m, left + np.sum((self.U @ a) ** 2, axis=0)
        return LatentMarginals(mean[:, None], variance[:, None])

    def page_form(self) -> Form:
        """Return the form from which a page computes mean and variance of the function."""
        return {
            **self.kernel.form_columns(self.Z),
            "kind": "process",
            "lower": page_forms.flatten_triangle(self.L),
            "mean": {"of": "projections", "weights": self.m, "shift": self.shift},
            "second": {"upper": page_forms.flatten_triangle(self.U.T)},
        }


def form_exact_process(posterior: ExactPosterior, noise_variance: float) -> Form:
    """Return the form of a process, by few of its rows if it has many and the error is small."""
    n = kernels.rows.count_rows(posterior.X)
    if n <= MOST_PAGE_ROWS or not isinstance(posterior.X, np.ndarray):
        return posterior.form_all_rows()
    few = CondensedPosterior.from_posterior(posterior, PAGE_ROWS)
    error = _measure_difference(posterior, few, noise_variance)
    if error > _TOLERANCE:
        raise page_forms.NoFormError(f"The covariances of {n:,} rows do not fit into a page.")
    note = (
        f"This panel approximates the model by {len(few.Z)} of its {n:,} rows; predictions "
        f"differ by at most {max(100.0 * error, 0.1):.1f} % of a standard deviation."
    )
    return {**few.page_form(), "note": note}


def _measure_difference(
    posterior: ExactPosterior, condensed: CondensedPosterior, noise_variance: float
) -> float:
    """Return the largest difference of means and standard deviations, in standard deviations."""
    X = _draw_probes(np.asarray(posterior.X))
    exact, few = posterior.latent(X), condensed.latent(X)
    s = np.sqrt(exact.variance + noise_variance)
    apart = np.sqrt(few.variance + noise_variance) - s
    return float(np.max(np.maximum(np.abs(few.mean - exact.mean), np.abs(apart)) / s))


def _draw_probes(X: Array) -> Array:
    """Draw rows, and rows in which one column has the value of another row."""
    rng = np.random.default_rng(0)
    rows = X[rng.integers(len(X), size=_CHECKED)]
    mixed, column = rows.copy(), rng.integers(X.shape[1], size=_CHECKED)
    mixed[np.arange(_CHECKED), column] = X[rng.integers(len(X), size=_CHECKED), column]
    return np.concatenate([rows, mixed])
