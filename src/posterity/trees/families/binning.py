"""Numbers as bytes: edges cut each column into at most 255 pieces, and a code counts those below.

A threshold searched over codes is one of the edges, and ``x <= edges[c]`` holds for exactly the
numbers whose code is at most c. So a tree grown from codes sends the numbers themselves the same
way, to the last bit.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array

N_EDGES = 255
"""Edges of a column. The last is always +inf, so that code 255 is free to mean NaN."""

_MOST_ROWS = 10_000  # shares of all rows are then right to 0.02, but for one draw in a thousand
_COLUMNS_AT_ONCE, _ROWS_AT_ONCE = 64, 64  # what a cache holds


def edges(X: Array) -> Array:
    """The thresholds worth telling apart, by column.

    These lie half-way between neighbouring values where a column has at most 255 of them. Where
    it has more they are quantiles, except that a value which many rows share stands alone. Of
    more than 10,000 rows, 10,000 are looked at, always the same ones, and the extremes of all.
    Every row counts once, whatever weight it has in training.

    Parameters
    ----------
    X : array (N, D)
        Finite numbers; NaN where one is missing.

    Returns
    -------
    array (D, 255)
        Increasing, and then +inf: a column of one value has +inf alone.

    Examples
    --------
    >>> import numpy as np
    >>> edges(np.array([[1.0, 7.0], [4.0, 7.0], [2.0, np.nan]]))[:, :3]
    array([[1.5, 3. , inf],
           [inf, inf, inf]])
    """
    rows, ends = _looked_at(X)
    found = np.full((X.shape[1], N_EDGES), np.inf)
    for first in range(0, X.shape[1], _COLUMNS_AT_ONCE):
        block = slice(first, first + _COLUMNS_AT_ONCE)
        values = np.concatenate([X[rows, block], ends[:, block]]).T.copy()
        values.sort(axis=1)  # NaN last
        _cut(values, np.sum(~np.isnan(values), axis=1), found[block])
    return found


def encode(X: Array, edges: Array) -> NDArray[np.uint8]:
    """How many edges of its column each number exceeds; 255 where it is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0], [4.0], [2.0], [np.nan]])
    >>> encode(X, edges(X)).ravel()
    array([  0,   2,   1, 255], dtype=uint8)
    """
    codes = np.empty(X.shape, dtype=np.uint8)
    _encode(X, edges, np.isfinite(edges).sum(axis=1), codes)
    return codes


def _looked_at(X: Array) -> tuple[slice | NDArray[np.int64], Array]:
    """The rows from which edges are taken, and the extremes of all where these are not all."""
    if len(X) <= _MOST_ROWS:
        return slice(None), np.empty((0, X.shape[1]))
    some = np.random.default_rng(0).choice(len(X), _MOST_ROWS, replace=False, shuffle=False)
    return np.sort(some), np.stack([np.fmin.reduce(X), np.fmax.reduce(X)])  # NaN left out


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _cut(values: Array, n_present: NDArray[np.int64], found: Array) -> None:
    """Write the edges of sorted values (d, n) into rows of +inf."""
    for d in range(len(values)):
        _cut_one(values[d, : n_present[d]], found[d])


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _cut_one(values: Array, found: Array) -> None:
    """An edge wherever a piece is full, or beside a value that many rows share.

    With B pieces, h values that more than 2 / B of the rows share, and l other rows, pieces of
    l / (B - 2 h) others are never too many: at most h unfilled ones end at a shared value.
    """
    n_distinct, n_shared, n_other = _runs(values)
    shared = 2.0 * len(values) / N_EDGES
    full = 0.0 if n_distinct <= N_EDGES else n_other / (N_EDGES - 2 * n_shared)
    n_edges, begin, filled, was_shared = 0, 0, 0, False
    for i in range(1, len(values) + 1):
        if i < len(values) and values[i] == values[i - 1]:
            continue
        is_shared = i - begin > shared
        if begin > 0 and (is_shared or was_shared or filled >= full):
            found[n_edges] = _between(values[begin - 1], values[begin])
            n_edges, filled = n_edges + 1, 0
        filled += i - begin
        begin, was_shared = i, is_shared


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _runs(values: Array) -> tuple[int, int, int]:
    """How many values differ, how many of them many rows share, and how many rows have others."""
    n_distinct, n_shared, n_other, begin = 0, 0, 0, 0
    for i in range(1, len(values) + 1):
        if i < len(values) and values[i] == values[i - 1]:
            continue
        n_distinct += 1
        if i - begin > 2.0 * len(values) / N_EDGES:
            n_shared += 1
        else:
            n_other += i - begin
        begin = i
    return n_distinct, n_shared, n_other


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _between(low: float, high: float) -> float:
    """Half-way, or the lower one where rounding would give the upper; never an overflow."""
    middle = 0.5 * low + 0.5 * high
    return middle if low <= middle < high else low


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _encode(X: Array, edges: Array, n_edges: NDArray[np.int64], codes: NDArray[np.uint8]) -> None:
    """Column by column, in blocks of rows that stay in the cache."""
    xs, below = np.empty(_ROWS_AT_ONCE), np.empty(_ROWS_AT_ONCE, dtype=np.int64)
    for first in range(0, X.shape[0], _ROWS_AT_ONCE):
        n = min(_ROWS_AT_ONCE, X.shape[0] - first)
        for d in range(X.shape[1]):
            for i in range(n):
                xs[i], below[i] = X[first + i, d], 0
            _count_below(xs[:n], edges[d], n_edges[d], below)
            for i in range(n):
                codes[first + i, d] = below[i] if xs[i] == xs[i] else N_EDGES


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _count_below(xs: Array, edges: Array, n_edges: int, below: NDArray[np.int64]) -> None:
    """Binary searches side by side, so that none waits for what another reads."""
    step = 1
    while 2 * step <= n_edges:
        step *= 2
    while step > 0:
        for i in range(len(xs)):
            at = np.uint64(below[i] + step - 1)  # signed, it would be asked for its sign each time
            below[i] += step * (edges[at] < xs[i])
        step >>= 1
