"""An order of columns that their values say, so that draws do not go by where a column stands.

Columns are distinguished by what rows have in them, and rows by what they have in all columns: both
are refined in turn, as nodes of a graph are by the test of Weisfeiler and Lehman. All sums are of
whole numbers, which no order of rows or columns changes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from posterity import validation
from posterity.arrays import Array
from posterity.row_groups import RowGroups
from posterity.trees.families import binning

_COLUMNS_AT_ONCE = 64  # what a cache holds
_ODD = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
_PARTS = 2.0**40  # of all rows, that shares are rounded to: sums of whole numbers have no order


def order_columns(X: Array, edges: Array, weights: Array | None = None) -> NDArray[np.int32]:
    """The columns (D,) in an order that does not depend on their places, units or the rows' order.

    It is that of hashed codes. Columns that only their places distinguish, equal ones among them,
    keep these. Of more than 10,000 rows, the 10,000 of :func:`binning.find_edges` are looked at.

    Parameters
    ----------
    X : array (N, D)
        Rows that count; NaN where a number is missing.
    edges : array (D, 255)
        From :func:`binning.find_edges`.
    weights : array (N,), optional
        How often each row counts.

    Examples
    --------
    >>> X = np.array([[3.0, 1.0], [1.0, 2.0], [2.0, 9.0]])
    >>> order_columns(X, binning.find_edges(X))
    array([1, 0], dtype=int32)
    >>> order_columns(X[:, ::-1], binning.find_edges(X[:, ::-1]))
    array([0, 1], dtype=int32)
    """
    rows, _ = binning.sample_rows(X)
    codes = binning.encode(np.ascontiguousarray(X[rows]), edges)
    # Equal rows are one, and count by their share: neither repeated rows nor units of weights show.
    groups = RowGroups.of_equal(_describe_rows(codes, np.arange(len(edges), dtype=np.uint64)))
    counts = groups.count(None if weights is None else weights[rows])
    codes, times = codes[groups.first], np.rint(counts / np.sum(counts) * _PARTS).astype(np.uint64)
    keys, n_known = np.zeros(len(edges), dtype=np.uint64), 0
    while n_known < (n_found := len(np.unique(keys))) and (n_found < len(keys) or not n_known):
        keys, n_known = _describe_columns(codes, times, _describe_rows(codes, keys)), n_found
    last = np.maximum(binning.count_edges(edges) - 1, 0)
    ends = edges[:, 0], edges[np.arange(len(edges)), last]  # of equal codes in other units
    return np.lexsort((*ends, keys)).astype(np.int32)


def check_order(order: NDArray[np.int32] | None, n_columns: int) -> None:
    """Raise ValueError unless this is None or has each column once."""
    if order is not None:
        validation.require_array(order, "order", np.int32, (n_columns,))
        is_whole = np.array_equal(np.sort(order), np.arange(n_columns))
        validation.require(is_whole, "order does not have each column once.")


def _describe_rows(codes: NDArray[np.uint8], keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A number for each row, from its code in each column and what is known of the column."""
    found = np.zeros(len(codes), dtype=np.uint64)
    for block in _part_columns(len(keys)):
        found += np.sum(_mix(codes[:, block].astype(np.uint64) * _ODD + keys[block]), axis=1)
    return _mix(found)


def _describe_columns(
    codes: NDArray[np.uint8], times: NDArray[np.uint64], rows: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """A number for each column, from its code in each row and what is known of the row."""
    found = np.empty(codes.shape[1], dtype=np.uint64)
    for block in _part_columns(len(found)):
        found[block] = times @ _mix(codes[:, block].astype(np.uint64) * _ODD + rows[:, None])
    return _mix(found)


def _mix(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers that look random, one for each number: the last steps of SplitMix64."""
    for shift, factor in zip(_SHIFTS, _FACTORS, strict=False):
        numbers = (numbers ^ (numbers >> shift)) * factor
    return numbers ^ (numbers >> _SHIFTS[2])


def _part_columns(n: int) -> Iterator[slice]:
    for first in range(0, n, _COLUMNS_AT_ONCE):
        yield slice(first, first + _COLUMNS_AT_ONCE)
