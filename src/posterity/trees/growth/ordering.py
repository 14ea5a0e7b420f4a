"""Compiled pieces that searches share: the codes of a node, from the least to the largest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posterity import compilation

_FEW = 48  # rows that are all compared with each other


@compilation.compile_at_first_call
def largest_node(start: NDArray[np.int64]) -> int:
    """Rows of the largest node."""
    most = 0
    for a in range(len(start) - 1):
        most = max(most, start[a + 1] - start[a])
    return most


@compilation.compile_at_first_call
def code_range(codes: NDArray[np.uint8], k: int, s: int, e: int) -> tuple[int, int]:
    """The least and the largest code of rows s to e - 1."""
    lo = hi = codes[k, s]
    for i in range(np.uint64(s), np.uint64(e)):
        lo = min(lo, codes[k, i])
        hi = max(hi, codes[k, i])
    return int(lo), int(hi)


@compilation.compile_at_first_call
def sort_rows(
    codes: NDArray[np.uint8], k: int, s: int, e: int, lo: int, hi: int, work: NDArray[np.uint32]
) -> None:
    """Set the first numbers of work to the rows, counted from s, in the order of their codes.

    Codes are from lo to hi, and work has room for 257 numbers beside two for each row.
    """
    n = e - s
    if n > _FEW:
        _sort_by_counting(codes, k, s, e, lo, hi, work)
        return
    for i in range(n):
        work[n + i] = (np.uint32(codes[k, s + i]) << 8) + i
    for i in range(n):
        rank = np.uint32(0)
        for j in range(n):  # faster than to compare fewer: nothing to foresee, many at once
            rank += work[n + j] < work[n + i]
        work[rank] = i


@compilation.compile_at_first_call
def _sort_by_counting(
    codes: NDArray[np.uint8], k: int, s: int, e: int, lo: int, hi: int, work: NDArray[np.uint32]
) -> None:
    c = e - s  # where the counts begin
    for b in range(hi - lo + 2):
        work[c + b] = 0
    for i in range(s, e):
        work[c + codes[k, i] - lo + 1] += 1
    for b in range(hi - lo + 1):
        work[c + b + 1] += work[c + b]
    for i in range(s, e):
        b = c + codes[k, i] - lo
        work[work[b]] = i - s
        work[b] += 1
