"""Slopes and curvatures of rows as integers that share one 64-bit word.

Sums of integers are exact: they depend neither on the order of rows nor on the number of threads.
What rounding costs is about 1e-7 of a gain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array

Words = NDArray[np.int64]
HALF = 32
"""Bits of either sum."""
MASK = (1 << HALF) - 1
"""The bits of the curvature."""

_LARGEST_SUM = float(2 ** (HALF - 1) - 1)
_COARSE = 2.0**28  # of squared repeats: beyond, rounding before repeating shows in a sum
_WHOLE = 1.5 * 2.0**52
_LEAST_TOTAL = 1e-290  # whose unit still has an inverse


@dataclass(frozen=True, eq=False)
class RowCounts:
    """How often rows count: ``repeats`` times a row of weight ``shares``."""

    shares: Array  # (N,)
    repeats: NDArray[np.int64]  # (N,)

    @classmethod
    def from_weights(cls, weights: Array) -> RowCounts:
        """Whole weights, unless huge, repeat a row after it was rounded, as if it stood there."""
        if np.all(weights == np.rint(weights)) and float(weights @ weights) <= _COARSE:
            return cls(np.ones_like(weights), weights.astype(np.int64))
        return cls(weights, np.ones(len(weights), dtype=np.int64))

    def pack(
        self, slopes: Array, curvatures: Array, rows: NDArray[np.int64]
    ) -> tuple[Words, Array]:
        """Words of the slope (high half) and curvature >= 0 (low half) of some rows, (L, m).

        Also the unit of each half, (L, 2). Rows are those of slopes and curvatures (N, L); their
        counts, in the same order, are these.
        """
        room = _LARGEST_SUM - 0.5 * float(self.repeats.sum())
        totals = np.zeros((slopes.shape[1], 2))
        _sum_sizes(slopes, curvatures, rows, self.shares, self.repeats, totals)
        units = 2.0 ** np.ceil(np.log2(np.maximum(totals, _LEAST_TOTAL) / room))
        words = np.empty((slopes.shape[1], len(rows)), dtype=np.int64)
        _pack(slopes, curvatures, rows, self.shares, self.repeats, 1.0 / units, words)
        return words, units


@compilation.compile_at_first_call
def _sum_sizes(
    slopes: Array,
    curvatures: Array,
    rows: NDArray[np.int64],
    shares: Array,
    repeats: NDArray[np.int64],
    totals: Array,
) -> None:
    for i in range(len(rows)):
        weight = shares[i] * repeats[i]
        for l in range(len(totals)):
            totals[l, 0] += weight * abs(slopes[rows[i], l])
            totals[l, 1] += weight * curvatures[rows[i], l]


@compilation.compile_at_first_call
def _pack(
    slopes: Array,
    curvatures: Array,
    rows: NDArray[np.int64],
    shares: Array,
    repeats: NDArray[np.int64],
    per_unit: Array,
    words: Words,
) -> None:
    """Round every row to whole units."""
    for i in range(len(rows)):
        for l in range(len(words)):
            # Beside this number only whole ones have room: faster than a call to round.
            g = (shares[i] * slopes[rows[i], l] * per_unit[l, 0] + _WHOLE) - _WHOLE
            h = (shares[i] * curvatures[rows[i], l] * per_unit[l, 1] + _WHOLE) - _WHOLE
            words[l, i] = repeats[i] * ((np.int64(g) << HALF) + np.int64(h))
