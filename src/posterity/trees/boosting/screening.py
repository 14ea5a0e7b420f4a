"""Which weak classifier would gain most from one Newton step: all of them at once, by histogram.

Slope and curvature of each row are rounded to integers that share one 64-bit word, so that a row
and a test cost one addition. Sums of integers are exact: they depend neither on the order of rows
nor on the number of threads. What rounding costs is about 1e-7 of a gain.
"""

from __future__ import annotations

import concurrent.futures
import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import compilation, linalg
from posterity.arrays import Array

Codes = NDArray[np.uint8]

N_CODES = 256
_HALF = 32  # bits of either sum
_LARGEST_SUM = float(2 ** (_HALF - 1) - 1)
_COARSE = 2.0**28  # of squared repeats: beyond, rounding before repeating shows in a sum
_LEAST_TOTAL = 1e-290  # whose unit still has an inverse
_WORTH_A_THREAD = 1_000_000  # additions


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

    def pack(self, slopes: Array, curvatures: Array) -> tuple[NDArray[np.int64], float, float]:
        """Words of a slope (high half) and a curvature >= 0 (low half), and the unit of each."""
        weights = self.shares * self.repeats
        room = _LARGEST_SUM - 0.5 * float(self.repeats.sum())
        units = [_least_unit(float(weights @ np.abs(x)), room) for x in (slopes, curvatures)]
        words = np.empty(len(weights), dtype=np.int64)
        _pack(slopes, curvatures, self.shares, self.repeats, 1 / units[0], 1 / units[1], words)
        return words, units[0], units[1]


@dataclass(frozen=True, eq=False)
class StepScreen:
    """The answers of all rows to all tests, and threads that look through them."""

    codes: Codes  # (J, N)
    counts: RowCounts
    pool: concurrent.futures.Executor | None
    blocks: list[slice]  # of tests, one for each thread

    @classmethod
    @contextmanager
    def open(cls, codes: Codes, weights: Array, n_jobs: int | None) -> Iterator[StepScreen]:
        """A screen whose threads end with the context; small work gets none."""
        most = max(1, codes.size // _WORTH_A_THREAD)
        n_threads = min(linalg.threads.count_threads(n_jobs), most, len(codes))
        ends = np.linspace(0, len(codes), n_threads + 1).astype(int).tolist()
        blocks = [slice(*pair) for pair in itertools.pairwise(ends)]
        if n_threads == 1:
            yield cls(codes, RowCounts.from_weights(weights), None, blocks)
            return
        with concurrent.futures.ThreadPoolExecutor(n_threads) as pool:
            yield cls(codes, RowCounts.from_weights(weights), pool, blocks)

    def gains(self, derivatives: Iterable[tuple[Array, Array]], precision: float) -> Array:
        """What one Newton step gains, (J, 255), by test and the last code on the left.

        Parameters
        ----------
        derivatives : iterable of (slopes (N,), curvatures (N,))
            Of the log-likelihood in each latent value; gains of several add up.
        precision : float
            Of the normal prior of a side's value, whose mean is zero.
        """
        gains = np.zeros((len(self.codes), N_CODES - 1))
        for slopes, curvatures in derivatives:
            packed = self.counts.pack(slopes, curvatures)
            work = [(self.codes[block], *packed, precision, gains[block]) for block in self.blocks]
            if self.pool is None:
                _add_gains(*work[0])
            else:
                list(self.pool.map(_add_gains, *zip(*work, strict=True)))
        return gains


def _least_unit(total: float, room: float) -> float:
    """The least power of two in which the total, and so any sum, has room."""
    return float(2.0 ** np.ceil(np.log2(max(total, _LEAST_TOTAL) / room)))


@compilation.compile_at_first_call
def _pack(
    slopes: Array,
    curvatures: Array,
    shares: Array,
    repeats: NDArray[np.int64],
    per_slope: float,
    per_curvature: float,
    words: NDArray[np.int64],
) -> None:
    for i in range(len(words)):
        g = np.int64(np.rint(shares[i] * slopes[i] * per_slope))
        h = np.int64(np.rint(shares[i] * curvatures[i] * per_curvature))
        words[i] = repeats[i] * ((g << _HALF) + h)


@compilation.compile_at_first_call
def _add_gains(
    codes: Codes,
    words: NDArray[np.int64],
    g_unit: float,
    h_unit: float,
    precision: float,
    gains: Array,
) -> None:
    sums = np.zeros((len(codes), N_CODES), dtype=np.int64)
    _sum_by_code(codes, words, sums)
    mask = (1 << _HALF) - 1
    for j in range(len(codes)):
        total = np.sum(sums[j])
        left = 0
        for c in range(N_CODES - 1):
            left += sums[j, c]
            right = total - left
            G_l, H_l = (left >> _HALF) * g_unit, (left & mask) * h_unit + precision
            G_r, H_r = (right >> _HALF) * g_unit, (right & mask) * h_unit + precision
            gains[j, c] += 0.5 * (G_l * G_l / H_l + G_r * G_r / H_r)  # [P9 9.8]


@compilation.compile_at_first_call
def _sum_by_code(codes: Codes, words: NDArray[np.int64], sums: NDArray[np.int64]) -> None:
    """Four tests at a time: equal codes in neighbouring rows then do not wait for each other."""
    J, N = codes.shape
    for j in range(0, J - 3, 4):
        code_0, code_1, code_2, code_3 = codes[j], codes[j + 1], codes[j + 2], codes[j + 3]
        sum_0, sum_1, sum_2, sum_3 = sums[j], sums[j + 1], sums[j + 2], sums[j + 3]
        for i in range(N):
            word = words[i]
            sum_0[code_0[i]] += word
            sum_1[code_1[i]] += word
            sum_2[code_2[i]] += word
            sum_3[code_3[i]] += word
    for j in range(J - J % 4, J):
        for i in range(N):
            sums[j, codes[j, i]] += words[i]
