"""Approximate a Gaussian process by few of its rows, if the measured error is small enough."""

from __future__ import annotations

import numpy as np

from posterity import kernels
from posterity.arrays import Array
from posterity.process import CondensedPosterior, ExactPosterior
from posterity.report.what_if.packing import NoFormError

MOST_ROWS = 400
"""Largest number of rows whose covariances are embedded in a page."""

TELLING = 288
"""Number of rows that approximate a larger process."""

_TOLERANCE = 0.03  # of a standard deviation, which is not visible
_CHECKED = 1000


def condense_process(
    posterior: ExactPosterior, noise_variance: float
) -> tuple[ExactPosterior | CondensedPosterior, str]:
    """Return the process, or an approximation by some of its rows and a sentence that says so."""
    n = kernels.rows.count_rows(posterior.X)
    if n <= MOST_ROWS or not isinstance(posterior.X, np.ndarray):
        return posterior, ""
    condensed = CondensedPosterior.from_posterior(posterior, TELLING)
    error = _largest_difference(posterior, condensed, noise_variance)
    if error > _TOLERANCE:
        raise NoFormError(f"The covariances of {n:,} rows do not fit into a page.")
    return condensed, (
        f"This panel approximates the model by {len(condensed.Z)} of its {n:,} rows; predictions "
        f"differ by at most {max(100.0 * error, 0.1):.1f} % of a standard deviation."
    )


def _largest_difference(
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
