"""Outputs of which some are missing: which columns can be treated together, and their density."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array

_LOG_2PI = math.log(2.0 * math.pi)


@dataclass(frozen=True)
class ObservedGroup:
    """Columns that have values in the same rows, and these."""

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    Y: Array  # (len(rows), len(columns)), with nothing missing


def group_columns(Y: Array) -> tuple[ObservedGroup, ...]:
    """The columns of Y (N, D), those that miss the same rows together; NaN is missing.

    Raises
    ------
    ValueError
        Where a column has no value at all.

    Examples
    --------
    >>> found = group_columns(np.array([[1.0, 2.0, 3.0], [np.nan, 4.0, 5.0]]))
    >>> [(group.rows.tolist(), group.columns.tolist()) for group in found]
    [([0], [0]), ([0, 1], [1, 2])]
    """
    seen = ~np.isnan(Y)
    _refuse_empty(np.flatnonzero(~seen.any(axis=0)))
    patterns, which = np.unique(seen, axis=1, return_inverse=True)
    pairs = ((np.flatnonzero(p), np.flatnonzero(which == k)) for k, p in enumerate(patterns.T))
    return tuple(ObservedGroup(i, j, Y[np.ix_(i, j)]) for i, j in pairs)


def log_normal(Y: Array, mean: Array, s: Array) -> tuple[Array, Array, Array]:
    """sum_d log N(y_nd | mean_nd, s_n), (n,), over those not missing; its slopes in mean and s.

    Examples
    --------
    >>> Y, mean = np.array([[1.0, np.nan]]), np.zeros((1, 2))
    >>> value, d_mean, ds = log_normal(Y, mean, np.array([2.0]))
    >>> value.round(4), d_mean, ds
    (array([-1.5155]), array([[0.5, 0. ]]), array([-0.125]))
    """
    seen = ~np.isnan(Y)
    R = np.where(seen, Y - mean, 0.0)
    n_seen, squares = np.sum(seen, axis=1), np.sum(R * R, axis=1)
    value = -0.5 * (n_seen * (_LOG_2PI + np.log(s)) + squares / s)
    return value, R / s[:, None], 0.5 * (squares / s - n_seen) / s


def _refuse_empty(columns: NDArray[np.intp]) -> None:
    if not len(columns):
        return
    if len(columns) == 1:
        raise ValueError(f"column {columns[0]} of the outputs has no value at all; leave it out.")
    named = ", ".join(str(column) for column in columns[:5])
    more = f" and {len(columns) - 5} more" if len(columns) > 5 else ""
    raise ValueError(f"columns {named}{more} of the outputs have no value at all; leave them out.")
