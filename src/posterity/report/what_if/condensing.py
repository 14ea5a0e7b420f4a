"""When few rows of a process stand for all in a page: how far they do is measured, not assumed."""

from __future__ import annotations

import numpy as np

from posterity import kernels
from posterity.arrays import Array
from posterity.inference.process import Condensed, Exact
from posterity.report.what_if.packing import NoFormError

MOST_ROWS = 400
"""Rows whose covariances a page carries beside all else."""

TELLING = 288
"""Rows that tell of all others where those are more."""

_TOLERANCE = 0.03  # of a standard deviation: less than a person sees
_CHECKED = 1000


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


def _error(posterior: Exact, condensed: Condensed, noise_variance: float) -> float:
    """The largest difference of means and of deviations, in deviations, where a panel goes."""
    X = _probes(np.asarray(posterior.X))
    exact, few = posterior.latent(X), condensed.latent(X)
    s = np.sqrt(exact.variance + noise_variance)
    apart = np.sqrt(few.variance + noise_variance) - s
    return float(np.max(np.maximum(np.abs(few.mean - exact.mean), np.abs(apart)) / s))


def _probes(X: Array) -> Array:
    """Rows, and rows of which one column was taken from another."""
    rng = np.random.default_rng(0)
    rows = X[rng.integers(len(X), size=_CHECKED)]
    mixed, column = rows.copy(), rng.integers(X.shape[1], size=_CHECKED)
    mixed[np.arange(_CHECKED), column] = X[rng.integers(len(X), size=_CHECKED), column]
    return np.concatenate([rows, mixed])
