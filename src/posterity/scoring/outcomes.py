"""Check that outcomes match predictions, and average scores over rows."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import distributions, validation
from posterity.arrays import Array


def marginals_of(dist: distributions.Distribution) -> distributions.Univariate:
    """Return the marginal predictions of single rows."""
    if isinstance(dist, distributions.MultivariateNormal):
        return dist.marginals()
    if isinstance(dist, distributions.Univariate):
        return dist
    raise TypeError(f"Predictions must be univariate distributions, not {type(dist).__name__}.")


def check_outcomes(shape: tuple[int, ...], y: ArrayLike) -> Array:
    """Check that outcomes have exactly this shape; broadcasting would mix rows."""
    outcomes = np.asarray(y)
    if outcomes.dtype.kind not in "biuf":
        raise TypeError(f"y must be numeric (classes as codes from 0), not {outcomes.dtype}.")
    if outcomes.shape != shape:
        raise ValueError(f"y has shape {outcomes.shape}, but the predictions have {shape}.")
    if np.any(np.isnan(outcomes)):
        raise ValueError("y contains NaN; remove rows without an outcome.")
    return outcomes.astype(np.float64)


def check_codes(p: Array, y: ArrayLike) -> NDArray[Any]:
    """Check that there is one class code for each row of class probabilities."""
    k = np.asarray(y)
    if k.shape != p.shape[:-1] or not np.all(np.isin(k, np.arange(p.shape[-1]))):
        raise ValueError(
            f"y must have {p.shape[0]} class codes from 0 to {p.shape[-1] - 1}, one per row."
        )
    return k


def weighted_mean(values: Any, sample_weight: ArrayLike | None) -> float:
    """Return the weighted mean over rows, after averaging all other axes."""
    rows = np.atleast_1d(values)
    per_row = np.mean(rows.reshape(len(rows), -1), axis=1)
    weights = validation.check_sample_weight(sample_weight, len(per_row))
    return float(np.average(per_row, weights=weights))
