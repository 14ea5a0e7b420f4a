"""Numbers as bytes: edges cut each column into at most 255 pieces, and a code counts those below.

A threshold searched over codes is one of the edges, and ``x <= edges[c]`` holds for exactly the
numbers whose code is at most c. So a tree grown from codes sends the numbers themselves the same
way, to the last bit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array
from posterity.trees.families import family

N_EDGES = 255
"""Edges of a column. The last is always +inf, so that code 255 is free to mean NaN."""

_MOST_ROWS = 10_000  # shares of all rows are then right to 0.02, but for one draw in a thousand
_COLUMNS_AT_ONCE, _ROWS_AT_ONCE = 64, 64  # what a cache holds


def find_edges(X: Array, weights: Array | None = None) -> Array:
    """The thresholds worth distinguishing, by column.

    These lie half-way between neighbouring values where a column has at most 255 of them. Where
    it has more they are quantiles, except that a value which many rows share stands alone. Of
    more than 10,000 rows, 10,000 are looked at, always the same ones, and the extremes of all.

    Parameters
    ----------
    X : array (N, D)
        Numbers less than +inf; NaN where one is missing.
    weights : array (N,), optional
        How often each row counts.

    Returns
    -------
    array (D, 255)
        Increasing, and then +inf: a column of one value has +inf alone.

    Examples
    --------
    >>> import numpy as np
    >>> find_edges(np.array([[1.0, 7.0], [4.0, 7.0], [2.0, np.nan]]))[:, :3]
    array([[1.5, 3. , inf],
           [inf, inf, inf]])
    """
    present, w = family.drop_weightless_rows(X, weights)
    rows, ends = sample_rows(present)
    counts = None if w is None else _count_sampled_rows(w, rows, len(ends))
    found = np.full((X.shape[1], N_EDGES), np.inf)
    for first in range(0, X.shape[1], _COLUMNS_AT_ONCE):
        block = slice(first, first + _COLUMNS_AT_ONCE)
        values, masses = _sort_columns(
            np.concatenate([present[rows, block], ends[:, block]]), counts
        )
        _write_edges(values, masses, np.sum(~np.isnan(values), axis=1), found[block])
    return found


def count_edges(edges: Array) -> NDArray[np.int64]:
    """Number of edges of each column before the first +inf, (D,)."""
    return np.sum(edges < np.inf, axis=1)


def encode(X: Array, edges: Array, n_edges: NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
    """Number of edges of its column below each number; 255 where it is NaN.

    Whoever asks for few rows at a time passes ``n_edges``, which :func:`count_edges` counts.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0], [4.0], [2.0], [np.nan]])
    >>> encode(X, find_edges(X)).ravel()
    array([  0,   2,   1, 255], dtype=uint8)
    """
    codes = np.empty(X.shape, dtype=np.uint8)
    counts = count_edges(edges) if n_edges is None else n_edges
    _encode(X, edges, counts, np.empty(_ROWS_AT_ONCE), np.empty(_ROWS_AT_ONCE, np.int64), codes)
    return codes


def sample_rows(X: Array) -> tuple[slice | NDArray[np.int64], Array]:
    """The rows from which edges are taken, and the extremes of all where these are not all."""
    if len(X) <= _MOST_ROWS:
        return slice(None), np.empty((0, X.shape[1]))
    some = np.random.default_rng(0).choice(len(X), _MOST_ROWS, replace=False, shuffle=False)
    return np.sort(some), np.stack([np.fmin.reduce(X), np.fmax.reduce(X)])  # NaN left out


def _count_sampled_rows(
    weights: Array, rows: slice | NDArray[np.int64], n_ends: int
) -> Array | None:
    """Weights of the rows that are looked at, and of the extremes; None where all are equal."""
    if weights.min() == weights.max():
        return None
    return np.concatenate([weights[rows], np.full(n_ends, weights.mean())])


def _sort_columns(rows: Array, counts: Array | None) -> tuple[Array, Array]:
    """By column the values from the least on, NaN last, and how often they count; both (d, n)."""
    values = rows.T.copy()
    if counts is None:
        values.sort(axis=1)  # many times faster than to ask for the order
        return values, np.ones(values.shape)
    order = np.argsort(values, axis=1)
    return np.take_along_axis(values, order, axis=1), counts[order]


@compilation.compile_at_first_call
def _write_edges(values: Array, masses: Array, n_present: NDArray[np.int64], found: Array) -> None:
    """Write the edges of sorted values (d, n) into rows of +inf."""
    for d in range(len(values)):
        _write_column_edges(values[d, : n_present[d]], masses[d, : n_present[d]], found[d])


@compilation.compile_for_callers
def _write_column_edges(values: Array, masses: Array, found: Array) -> None:
    """An edge wherever a piece is full, or beside a value that many rows share.

    With B pieces, h values that more than 2 / B of the rows share, and l other rows, pieces of
    l / (B - 2 h) others are never too many: at most h unfilled ones end at a shared value.
    """
    total = 0.0
    for mass in masses:  # np.sum takes longer to compile
        total += mass
    shared = 2.0 * total / N_EDGES
    n_distinct, n_shared, others = _count_values(values, masses, shared)
    full = 0.0 if n_distinct <= N_EDGES else others / (N_EDGES - 2 * n_shared)
    n_edges, begin, mass, filled, was_shared = 0, 0, 0.0, 0.0, False
    for i in range(1, len(values) + 1):
        mass += masses[i - 1]
        if i < len(values) and values[i] == values[i - 1]:
            continue
        is_shared = mass > shared
        is_due = begin > 0 and (is_shared or was_shared or filled >= full)
        if is_due and n_edges < N_EDGES - 1:  # rounded masses can fill one piece more
            found[n_edges] = _midpoint(values[begin - 1], values[begin])
            n_edges, filled = n_edges + 1, 0.0
        filled += mass
        begin, mass, was_shared = i, 0.0, is_shared


@compilation.compile_for_callers
def _count_values(values: Array, masses: Array, shared: float) -> tuple[int, int, float]:
    """Numbers of different values, of those that many rows share, and of rows with others."""
    n_distinct, n_shared, others, mass = 0, 0, 0.0, 0.0
    for i in range(1, len(values) + 1):
        mass += masses[i - 1]
        if i < len(values) and values[i] == values[i - 1]:
            continue
        n_distinct += 1
        if mass > shared:
            n_shared += 1
        else:
            others += mass
        mass = 0.0
    return n_distinct, n_shared, others


@compilation.compile_for_callers
def _midpoint(low: float, high: float) -> float:
    """Half-way, or the lower one where rounding would give the upper; never an overflow."""
    middle = 0.5 * low + 0.5 * high
    return middle if low <= middle < high else low


@compilation.compile_at_first_call
def _encode(
    X: Array,
    edges: Array,
    n_edges: NDArray[np.int64],
    xs: Array,
    below: NDArray[np.int64],
    codes: NDArray[np.uint8],
) -> None:
    """Column by column, in blocks of rows that stay in the cache."""
    for first in range(0, X.shape[0], _ROWS_AT_ONCE):
        n = min(_ROWS_AT_ONCE, X.shape[0] - first)
        for d in range(X.shape[1]):
            for i in range(n):
                xs[i], below[i] = X[first + i, d], 0
            _count_below(xs[:n], edges[d], n_edges[d], below)
            for i in range(n):
                codes[first + i, d] = below[i] if xs[i] == xs[i] else N_EDGES


@compilation.compile_for_callers
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
