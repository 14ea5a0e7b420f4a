"""Rows as those trees see them that did not grow from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.trees.families.family import Places
from posterity.trees.forests.routing import Router

_MOST_ROWS = 1 << 12  # to learn two numbers from: the sharpness to two hundredths
_MOST_NUMBERS = 1 << 22
NEARLY_ALL = 0.9  # of the rows, which then speak for all


@dataclass(frozen=True, eq=False)
class OutOfBag:
    """Trees, rows, and a bit for each pair of them: whether the tree has seen the row."""

    router: Router
    rows: Any
    seen: NDArray[np.uint8]  # (T, ceil(N / 8))

    def leaves(self, places: Places) -> NDArray[np.int32]:
        """The leaves of some rows in trees that have not seen them, else -1; (T, r)."""
        return self.router.leaves(self.rows, places, unasked=unpack_columns(self.seen, places))


def unpack_columns(packed: NDArray[np.uint8], places: Places) -> NDArray[np.bool_]:
    """Some columns of bits that ``np.packbits`` has packed by rows.

    Examples
    --------
    >>> packed = np.packbits([[False] * 9 + [True]], axis=1)
    >>> unpack_columns(packed, np.array([0, 9]))
    array([[False,  True]])
    """
    shifted = packed[:, places >> 3] >> (7 - (places & 7)).astype(np.uint8)
    return (shifted & 1).astype(np.bool_)


def choose_rows(n_rows: int, width: int) -> Places:
    """Rows enough to learn two numbers from, always the same; ``width`` numbers are held of each.

    Examples
    --------
    >>> choose_rows(4, 10), len(choose_rows(1_000_000, 10)), len(choose_rows(1_000_000, 10_000))
    (array([0, 1, 2, 3], dtype=int32), 4096, 419)
    """
    most = min(_MOST_ROWS, max(_MOST_NUMBERS // width, 1))
    if n_rows <= most:
        return np.arange(n_rows, dtype=np.int32)
    chosen = np.random.default_rng(0).choice(n_rows, most, replace=False)
    return np.sort(chosen).astype(np.int32)


def rows_at_once(n_trees: int, width: int) -> int:
    """How many rows can be looked at together, where ``width`` numbers are held of each."""
    return max(_MOST_NUMBERS // max(n_trees, width), 1)


def mean_of_known(values: Array, weights: Array) -> float:
    """The weighted mean of what is known; NaN where nothing is."""
    known = ~np.isnan(values) & (weights > 0.0)
    return float(np.average(values[known], weights=weights[known])) if known.any() else np.nan
