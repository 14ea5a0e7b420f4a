"""Sums over boosted trees of what the leaves of rows hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array


@compilation.compile_at_first_call
def add_oblivious(
    answers: Array,
    edges: Array,
    which: NDArray[np.int64],
    cuts: NDArray[np.int64],
    members: NDArray[np.int64],
    nodes: NDArray[np.int64],
    leaves: NDArray[np.int64],
    table: Array,
    codes: NDArray[np.int16],
    total: Array,
) -> None:
    """Trees as bits: codes first, then all trees over the rows of a block.

    Codes (U, n) are written.
    """
    n = answers.shape[1]
    for u in range(len(answers)):
        _encode_answers(answers[u], edges[u], codes[u])
    leaf = np.zeros(n, dtype=np.uint32)
    for k in range(len(members) - 1):
        for t in range(members[k], members[k + 1]):
            for d in range(nodes[t], nodes[t + 1]):
                code, cut, bit = codes[which[d]], np.int16(cuts[d]), np.uint32(1 << (d - nodes[t]))
                for i in range(n):
                    leaf[i] += bit * np.uint32(code[i] > cut)
            own = table[leaves[t] : leaves[t + 1]]
            for i in range(n):
                for l in range(table.shape[1]):
                    total[k, i, l] += own[leaf[i], l]
                leaf[i] = 0  # for the next tree


@compilation.compile_at_first_call
def add_oblivious_by_row(
    answers: Array,
    edges: Array,
    which: NDArray[np.int64],
    cuts: NDArray[np.int64],
    members: NDArray[np.int64],
    nodes: NDArray[np.int64],
    leaves: NDArray[np.int64],
    table: Array,
    codes: NDArray[np.int16],
    total: Array,
) -> None:
    """The same, one row after the other."""
    for u in range(len(answers)):
        _encode_answers(answers[u], edges[u], codes[u])
    for i in range(answers.shape[1]):
        for k in range(len(members) - 1):
            for t in range(members[k], members[k + 1]):
                leaf, bit = leaves[t], 1
                for d in range(nodes[t], nodes[t + 1]):
                    leaf += bit * (codes[which[d], i] > cuts[d])
                    bit <<= 1
                for l in range(table.shape[1]):
                    total[k, i, l] += table[leaf, l]


@compilation.compile_for_callers
def _encode_answers(answers: Array, edges: Array, codes: NDArray[np.int16]) -> None:
    """How many edges an answer exceeds; more than all where it is NaN."""
    n = len(edges)
    for i in range(len(answers)):
        x, below, above = answers[i], 0, n
        while below < above:
            middle = (below + above) // 2
            if edges[middle] < x:
                below = middle + 1
            else:
                above = middle
        codes[i] = below if x == x else n


@compilation.compile_at_first_call
def add_trees(
    answers: Array,
    which: NDArray[np.int64],
    thresholds: Array,
    children: NDArray[np.int32],
    members: NDArray[np.int64],
    nodes: NDArray[np.int64],
    leaves: NDArray[np.int64],
    table: Array,
    total: Array,
) -> None:
    """Trees by nodes, one row after the other."""
    for k in range(len(members) - 1):
        for t in range(members[k], members[k + 1]):
            first = nodes[t]
            for i in range(answers.shape[1]):
                node = 0 if nodes[t + 1] > first else -1
                while node >= 0:
                    at = first + node
                    is_left = answers[which[at], i] <= thresholds[at]
                    node = children[at, 0 if is_left else 1]
                for l in range(table.shape[1]):
                    total[k, i, l] += table[leaves[t] + ~node, l]
