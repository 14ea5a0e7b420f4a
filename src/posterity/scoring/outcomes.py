"""Outcomes beside predictions: one for each, or a sentence that says what does not fit."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from posterity import distributions, validation
from posterity.arrays import Array


def rows_of(dist: distributions.Distribution) -> distributions.Univariate:
    """The predictions one by one."""
    if isinstance(dist, distributions.MultivariateNormal):
        return dist.marginals()
    if isinstance(dist, distributions.Univariate):
        return dist
    raise TypeError(f"Predictions must be distributions of one number each, not {dist!r}.")


def matching(shape: tuple[int, ...], y: ArrayLike) -> Array:
    """Outcomes of exactly this shape: broadcasting would score every row against every other."""
    outcomes = np.asarray(y)
    if outcomes.dtype.kind not in "biuf":
        raise TypeError(f"y must be numbers (classes are numbered from 0), not {outcomes.dtype}.")
    if outcomes.shape != shape:
        raise ValueError(f"y has shape {outcomes.shape}, but the predictions have {shape}.")
    if np.any(np.isnan(outcomes)):
        raise ValueError("y contains NaN; score only rows whose outcome is known.")
    return outcomes.astype(np.float64)


def weighted_mean(values: Any, sample_weight: ArrayLike | None) -> float:
    """Weighted mean over the rows of the mean over everything else."""
    rows = np.atleast_1d(values)
    per_row = np.mean(rows.reshape(len(rows), -1), axis=1)
    weights = validation.check_sample_weight(sample_weight, len(per_row))
    return float(np.average(per_row, weights=weights))
