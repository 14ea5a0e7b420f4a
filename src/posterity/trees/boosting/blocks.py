"""Codes as they are summed: eight columns in a word, and in a column several tests of few codes.

A test of two codes, such as a column of zeros and ones, fills one bit of a byte. Tests whose codes
multiply to few enough share a column: its code has theirs as digits. The histogram of the column
is their joint one, from which that of each is read by summing over the digits of the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity.trees.boosting import histograms

Codes = NDArray[np.uint8]

_MOST_DIGITS = 8
_ROWS_A_CODE = 128  # with fewer, reading tests from joint histograms takes longer than summing


@dataclass(frozen=True, eq=False)
class CodeBlocks:
    """The codes of all tests, and where each test is."""

    words: NDArray[np.uint64]  # (Q, N), eight columns each
    sizes: NDArray[np.int64]  # (8 Q,), codes of each column
    column: NDArray[np.int64]  # (J,), of each test
    stride: NDArray[np.int64]  # (J,), of the digit that the test is in its column
    n_codes: NDArray[np.int64]  # (J,)

    @classmethod
    def from_codes(cls, codes: Codes) -> CodeBlocks:
        """Tests of few codes together, those of the fewest first; the others follow."""
        J, N = codes.shape
        n_codes = codes.max(axis=1, initial=0).astype(np.int64) + 1
        groups = _group_tests(n_codes, min(histograms.MOST_CODES, N // _ROWS_A_CODE))
        Q = -(-len(groups) // 8)
        bytes_of_rows = np.zeros((Q, N, 8), dtype=np.uint8)
        sizes, column = np.ones(8 * Q, dtype=np.int64), np.empty(J, dtype=np.int64)
        stride = np.empty(J, dtype=np.int64)
        for k, group in enumerate(groups):
            own = bytes_of_rows[k // 8, :, k % 8]
            for j in group:
                column[j], stride[j] = k, sizes[k]
                own += codes[j] * np.uint8(sizes[k])
                sizes[k] *= n_codes[j]
        words = bytes_of_rows.view("<u8")[:, :, 0].astype(np.uint64, copy=False)
        return cls(words, sizes, column, stride, n_codes)

    def lay_out(
        self, tests: NDArray[np.int64], ranges: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Blocks, starts and tests that are asked, see ``histograms.Table``."""
        inside = np.flatnonzero(np.isin(self.column, self.column[tests]))  # all digits of these
        order = inside[np.lexsort((self.stride[inside], self.column[inside]))]
        chosen = np.unique(self.column[order] // 8)
        place = 8 * np.searchsorted(chosen, self.column[order] // 8) + self.column[order] % 8
        starts = np.searchsorted(place, np.arange(8 * len(chosen) + 1)).astype(np.int64)
        asked = np.empty((len(order), 5), dtype=np.int64)
        asked[:, histograms.TEST], asked[:, histograms.STRIDE] = order, self.stride[order]
        asked[:, histograms.N_CODES] = self.n_codes[order]
        asked[:, histograms.LOW :] = np.where(np.isin(order, tests)[:, None], ranges[order], (1, 0))
        return chosen, starts, asked


def _group_tests(n_codes: NDArray[np.int64], most: int) -> list[list[int]]:
    """Tests that share a column, by column."""
    groups: list[list[int]] = [[]]
    size = 1
    for j in np.argsort(n_codes, kind="stable").tolist():
        if size * int(n_codes[j]) > most or len(groups[-1]) == _MOST_DIGITS:
            groups.append([])
            size = 1
        groups[-1].append(j)
        size *= int(n_codes[j])
    return [group for group in groups if group]
