"""The compiled searches for the split of one node, or of all nodes of a level, that gains most.

A split gains the log-likelihood that the two sides have together over what the node has.
[P9 9.63, 9.64] Both searches add up statistics of rows in the order of their codes, of which gains
are terms. What these are for classes and for numbers stands in ``class_terms`` and
``normal_terms``, whose functions are compiled into the searches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array
from posterity.trees.growth.partition import CLOSED, NONE, LevelSplit, NodeSplits

Rows = tuple[NDArray[np.uint8], Array, int, int, NDArray[np.uint32], float]
"""Codes (K, m) and weights (m,); the first row of a node, and the one after its last; room in which
these are sorted, see :func:`sort_rows`; and the least weight of a side."""
Node = tuple[bool, float, float, float, float, int]
"""Whether rows differ; their weight; by how much gains differ that only rounding distinguishes; the
sums of terms of the node, by class and of all; and its number of classes."""
LevelRows = tuple[
    NDArray[np.uint8], Array, NDArray[np.uint32], NDArray[np.uint32], float, float, float
]
"""Codes of a candidate and weights (m,); the rows in the order of codes; their nodes (m,); their
weight; the least weight of a side; and the tie."""

_FEW = 48  # rows that are all compared with each other


@dataclass(frozen=True, eq=False)
class SplitSearch:
    """Finds the splits of one tree or fern, by a criterion that has seen its rows."""

    nodes: Callable[..., tuple[Any, ...]]
    level: Callable[..., tuple[Any, ...]]
    parameters: tuple[Any, ...]  # of both, beside the rows

    def split_nodes(
        self,
        codes: NDArray[np.uint8],
        target: NDArray[Any],
        weights: Array,
        start: NDArray[np.int64],
        min_samples_leaf: float,
    ) -> NodeSplits:
        """The best of K tests for each of A nodes, with rows start[a] to start[a + 1] - 1.

        Codes are (K, m). Of splits that are equally good it is the first test, and the lowest code.
        """
        rows = codes, target.reshape(len(target), -1), weights, start
        return NodeSplits(*self.nodes(*rows, self.parameters, min_samples_leaf))

    def split_level(
        self,
        codes: NDArray[np.uint8],
        target: NDArray[Any],
        weights: Array,
        start: NDArray[np.int64],
        min_samples_leaf: float,
    ) -> LevelSplit:
        """The same for one test and one cut that all of these nodes have in common."""
        rows = codes, target.reshape(len(target), -1), weights, start
        return LevelSplit(*self.level(*rows, self.parameters, min_samples_leaf))


def compile_node_search(
    reserve: Callable[..., Any], enter_node: Callable[..., Node], find_cut: Callable[..., Any]
) -> Callable[..., tuple[Any, ...]]:
    """Make the search for a split of each node from the terms of its targets.

    Parameters
    ----------
    reserve : callable
        From targets, the starts of nodes and the parameters to what all nodes share.
    enter_node : callable
        From targets, weights, the first row, the one after the last and what is shared to the node.
    find_cut : callable
        From the rows, the node, what is shared, a candidate and the range of its codes to the
        log-likelihood and the code of the best cut.
    """

    @compilation.compile_at_first_call
    def split_nodes(
        codes: NDArray[np.uint8],
        target: NDArray[Any],
        weights: Array,
        start: NDArray[np.int64],
        parameters: tuple[Any, ...],
        least: float,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], Array, NDArray[np.bool_]]:
        A = len(start) - 1
        test, code = np.full(A, CLOSED, dtype=np.int32), np.zeros(A, dtype=np.int32)
        gain, is_open = np.zeros(A), np.zeros((A, 2), dtype=np.bool_)
        shared = reserve(target, start, parameters)
        order = np.empty(2 * largest_node(start) + 257, dtype=np.uint32)
        for a in range(A):
            s, e = start[a], start[a + 1]
            node = enter_node(target, weights, s, e, shared)
            differ, n, tie, base, whole, _ = node
            if not differ or n < 2.0 * least:
                continue
            rows = (codes, weights, s, e, order, least)
            best, test[a] = -np.inf, NONE
            for k in range(len(codes)):
                lo, hi = _find_range(codes, k, s, e)
                if lo == hi:
                    continue
                value, c = find_cut(rows, node, shared, k, lo, hi)
                if value > best + tie:
                    best, test[a], code[a] = value, k, c
            if test[a] >= 0:
                gain[a] = best - base + whole
                _look_ahead(rows, test[a], code[a], target, is_open[a])
        return test, code, gain, is_open

    return split_nodes


def compile_level_search(
    enter_level: Callable[..., Any], find_cut: Callable[..., tuple[float, int]]
) -> Callable[..., tuple[Any, ...]]:
    """Make the search for the one split of all nodes of a level.

    Rows pass from right to left in the order of their codes. Each changes the statistics of its own
    node, so that neither their number nor that of the cuts costs anything.

    Parameters
    ----------
    enter_level : callable
        From targets, weights, the starts of nodes and the parameters to whether rows of a node
        differ, the tie, the weight of each node, and what all candidates share.
    find_cut : callable
        From the rows and what is shared to the gain and the code of the best cut of a candidate.
    """

    @compilation.compile_at_first_call
    def split_level(
        codes: NDArray[np.uint8],
        target: NDArray[Any],
        weights: Array,
        start: NDArray[np.int64],
        parameters: tuple[Any, ...],
        least: float,
    ) -> tuple[int, int, float]:
        m = len(target)
        differ, tie, n_node, shared = enter_level(target, weights, start, parameters)
        n = np.sum(n_node)
        if not differ or n < 2.0 * least:
            return CLOSED, 0, 0.0
        node, order = np.empty(m, dtype=np.uint32), np.empty(2 * m + 257, dtype=np.uint32)
        for a in range(len(n_node)):
            node[start[a] : start[a + 1]] = a
        best, test, code = -np.inf, NONE, 0
        for k in range(len(codes)):
            lo, hi = _find_range(codes, k, start[0], m)
            sort_rows(codes, k, start[0], m, lo, hi, order)
            gain, c = find_cut((codes[k], weights, order, node, n, least, tie), shared)
            if gain > best + tie:
                best, test, code = gain, k, c
        return test, code, best

    return split_level


@compilation.compile_for_callers
def largest_node(start: NDArray[np.int64]) -> int:
    """Rows of the largest node."""
    most = 0
    for a in range(len(start) - 1):
        most = max(most, start[a + 1] - start[a])
    return most


@compilation.compile_for_callers
def _find_range(codes: NDArray[np.uint8], k: int, s: int, e: int) -> tuple[int, int]:
    """The least and the largest code of rows s to e - 1."""
    lo = hi = codes[k, s]
    for i in range(np.uint64(s), np.uint64(e)):
        lo = min(lo, codes[k, i])
        hi = max(hi, codes[k, i])
    return int(lo), int(hi)


@compilation.compile_for_callers
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


@compilation.compile_for_callers
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


@compilation.compile_for_callers
def _look_ahead(
    rows: Rows, k: int, code: int, target: NDArray[Any], is_open: NDArray[np.bool_]
) -> None:
    """Whether the rows of each side differ, and are enough for two leaves.

    All is computed for both sides and then chosen from: which side a row is on cannot be foreseen.
    """
    codes, weights, s, e, _, least = rows
    first, last = np.uint64(s), np.uint64(e)
    n_left = n_right = 0.0
    for i in range(first, last):
        is_left, w = codes[k, i] <= code, weights[i]
        n_left += w if is_left else 0.0
        n_right += 0.0 if is_left else w
    left = right = first  # the first row of either side
    while codes[k, left] > code:
        left += np.uint64(1)
    while codes[k, right] <= code:
        right += np.uint64(1)
    differ_left = differ_right = False
    for o in range(target.shape[1]):
        on_left, on_right = target[left, o], target[right, o]
        for i in range(first, last):
            is_left, y = codes[k, i] <= code, target[i, o]
            differ_left |= is_left & (y != on_left)
            differ_right |= (not is_left) & (y != on_right)
    is_open[0] = differ_left and n_left >= 2.0 * least
    is_open[1] = differ_right and n_right >= 2.0 * least
