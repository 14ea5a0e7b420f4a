"""Positions of features on the axis of a column, from weighted data.

A row of weight w counts as w rows; rows of weight zero are ignored.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity.arrays import Array
from posterity.row_groups import RowGroups


def find_distinct(x: Array, weights: Array | None) -> tuple[Array, Array]:
    """Return the distinct values (or rows) of x, sorted, and their weights."""
    if weights is not None:
        x, weights = x[weights > 0.0], weights[weights > 0.0]
    groups = RowGroups.of_equal(x)
    return x[groups.first], groups.count(weights)


def compute_quantiles(x: Array, weights: Array | None, n: int) -> Array:
    """Return the distinct values of x at the quantile levels (k - 1/2)/n."""
    values, counts = find_distinct(x, weights)
    below = np.cumsum(counts)
    levels = (2.0 * np.arange(n) + 1.0) * below[-1] / (2.0 * n)
    return np.unique(values[np.searchsorted(below, levels)])


def compute_cuts(x: Array, weights: Array | None, n: int) -> Array:
    """Return midpoints between neighbouring values of x at the levels k/(n + 1).

    Every cut splits the data, except that a constant column is cut at its value.
    """
    values, counts = find_distinct(x, weights)
    if len(values) == 1:
        return values
    below = np.cumsum(counts)
    levels = np.arange(1.0, n + 1.0) * below[-1] / (n + 1.0)
    i = np.unique(np.searchsorted(below[:-2], levels))
    middle = values[i] / 2.0 + values[i + 1] / 2.0
    return np.where(middle > values[i], middle, values[i + 1])


def check_places(places: ArrayLike, name: str, n_columns: int) -> list[Array]:
    """Check given places: (K,) for all columns, or (K, D) one column each."""
    table = check_finite_table(places, name)
    if table.ndim == 1:
        table = np.repeat(table[:, None], n_columns, axis=1)
    if table.shape[1] != n_columns:
        raise ValueError(
            f"{name} has {table.shape[1]} columns but X has {n_columns}; pass a one-dimensional "
            "array, or one column of places for each column of X."
        )
    for d, column in enumerate(table.T):
        if len(np.unique(column)) < len(column):
            raise ValueError(
                f"{name} contains a place twice for column {d}; all places must differ."
            )
    return list(table.T)


def check_finite_table(places: ArrayLike, name: str) -> Array:
    """Check that given numbers are a finite array of one or two axes."""
    try:
        table = np.asarray(places, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name}={places!r} is neither a known option nor an array of numbers."
        ) from error
    if table.ndim not in (1, 2) or table.size == 0 or not np.isfinite(table).all():
        raise ValueError(
            f"{name} must be a non-empty array of finite numbers with one or two axes."
        )
    return table


def compute_spread(x: Array, weights: Array | None) -> float:
    """Return the standard deviation of a column; for constants the magnitude, or one."""
    values, counts = find_distinct(x, weights)
    low, half_range = values[0] / 2.0, values[-1] / 2.0 - values[0] / 2.0
    if half_range == 0.0:
        return abs(float(values[0])) or 1.0
    u = (values / 2.0 - low) / half_range
    mean = np.average(u, weights=counts)
    return float(half_range * (2.0 * np.sqrt(np.average((u - mean) ** 2, weights=counts))))


def compute_spacing(places: Array, x: Array, weights: Array | None) -> float:
    """Return the mean distance between neighbouring places; for one, the spread of x."""
    if len(places) == 1:
        return compute_spread(x, weights)
    half_range = places.max() / 2.0 - places.min() / 2.0
    return float(half_range / ((len(places) - 1) / 2.0))


def flatten_places(places: list[Array]) -> tuple[NDArray[np.intp], Array]:
    """Return the column of each place, and the places, as two arrays."""
    columns = np.repeat(np.arange(len(places)), [len(column) for column in places])
    return columns, np.concatenate(places)


def format_places(columns: NDArray[np.intp], places: Array) -> list[str]:
    """Format places with the fewest digits that keep them distinct in each column."""
    for digits in (6, 9, 12, 17):
        words = [f"{place + 0.0:.{digits}g}" for place in places]
        if len(set(zip(columns.tolist(), words, strict=True))) == len(words):
            break
    return words
