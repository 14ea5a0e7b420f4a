"""Rows that go down trees: children of nodes, leaves of rows, and sums of what leaves hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array
from posterity.trees.boosting.histograms import Words

Ends = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
"""Where the trees of each member begin, and the nodes and leaves of each tree; and where the last
ones end."""


@compilation.compile_at_first_call
def split_nodes(*arguments: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Call :func:`part_nodes`, which has no entry from Python of its own."""
    return part_nodes(*arguments)


@compilation.compile_for_callers
def part_nodes(
    code: NDArray[np.uint8],
    cut: int,
    nodes: NDArray[np.int64],
    right: int,
    n_slots: int,
    rows: NDArray[np.uint32],
    words: Words,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cut nodes by one test: their children, and of these what is to be summed.

    A node is (leaf, first row, last row but one, slot of its sums); the right child of leaf l is
    leaf l + ``right``. Children without rows are left out. Of two children with rows the smaller
    is summed, in a slot of its own, and its sibling inherits that of the parent.
    """
    children = np.empty((2 * len(nodes), 4), dtype=np.int64)
    parts = np.empty((len(nodes), 4), dtype=np.int64)
    longest = 0
    for a in range(len(nodes)):
        longest = max(longest, nodes[a, 2] - nodes[a, 1])
    spare = np.empty((len(words) + 1, longest + 1), dtype=np.int64)
    n, n_parts = 0, 0
    for a in range(len(nodes)):
        leaf, begin, end, slot = nodes[a, 0], nodes[a, 1], nodes[a, 2], nodes[a, 3]
        middle = _part_rows(code, cut, begin, end, rows, words, spare)
        new = slot
        if begin < middle < end:
            new = n_slots
            n_slots += 1
            is_left = middle - begin <= end - middle
            parts[n_parts, 0] = begin if is_left else middle
            parts[n_parts, 1] = middle if is_left else end
            parts[n_parts, 2], parts[n_parts, 3] = new, slot
            n_parts += 1
        else:
            is_left = True
        if middle > begin:
            children[n, 0], children[n, 1], children[n, 2] = leaf, begin, middle
            children[n, 3] = new if is_left else slot
            n += 1
        if middle < end:
            children[n, 0], children[n, 1], children[n, 2] = leaf + right, middle, end
            children[n, 3] = slot if is_left else new
            n += 1
    return children[:n], parts[:n_parts]


@compilation.compile_for_callers
def _part_rows(
    code: NDArray[np.uint8],
    cut: int,
    begin: int,
    end: int,
    rows: NDArray[np.uint32],
    words: Words,
    spare: Words,
) -> int:
    """Move rows of larger codes behind the others of their node; return where these begin.

    Both keep their order. Each row is written to both sides, and one of them moves on: which one
    cannot be foreseen.
    """
    l, r, L = np.uint64(begin), np.uint64(0), len(words)
    for i in range(np.uint64(begin), np.uint64(end)):
        row = rows[i]
        is_right = np.uint64(code[row] > cut)
        rows[l] = row
        spare[L, r] = row
        for o in range(L):
            word = words[o, i]
            words[o, l] = word
            spare[o, r] = word
        l += np.uint64(1) - is_right
        r += is_right
    middle = np.int64(l)
    for i in range(end - middle):  # whole slices take seconds to compile
        rows[middle + i] = spare[L, i]
        for o in range(L):
            words[o, middle + i] = spare[o, i]
    return int(middle)


def find_leaves(
    codes: NDArray[np.uint8],
    tests: NDArray[np.int64],
    cuts: NDArray[np.int64],
    children: NDArray[np.int32] | None,
) -> NDArray[np.int32]:
    """The leaf of every row of a tree, by codes (J, N); without children it is oblivious."""
    leaves = np.empty(codes.shape[1], dtype=np.int32)
    if children is None:
        _answer_bits(codes, tests, cuts, leaves)
    else:
        _descend(codes, tests, cuts, children, leaves)
    return leaves


@compilation.compile_at_first_call
def _answer_bits(
    codes: NDArray[np.uint8],
    tests: NDArray[np.int64],
    cuts: NDArray[np.int64],
    leaves: NDArray[np.int32],
) -> None:
    """Bit d of a leaf says whether the code of test d exceeds the cut."""
    for i in range(len(leaves)):
        leaves[i] = 0
    for d in range(len(tests)):
        code, cut, bit = codes[tests[d]], cuts[d], np.int32(1 << d)
        for i in range(len(leaves)):
            leaves[i] += bit * np.int32(code[i] > cut)


@compilation.compile_at_first_call
def _descend(
    codes: NDArray[np.uint8],
    tests: NDArray[np.int64],
    cuts: NDArray[np.int64],
    children: NDArray[np.int32],
    leaves: NDArray[np.int32],
) -> None:
    for i in range(len(leaves)):
        node = 0 if len(tests) else -1
        while node >= 0:
            node = children[node, 1 if codes[tests[node], i] > cuts[node] else 0]
        leaves[i] = ~node


@compilation.compile_at_first_call
def add_oblivious(
    answers: Array,
    edges: Array,
    which: NDArray[np.int64],
    cuts: NDArray[np.int64],
    ends: Ends,
    table: Array,
    total: Array,
) -> None:
    """Trees as bits: answers become codes, then all trees go over the rows of a block."""
    members, nodes, leaves = ends
    codes, n = _encode_answers(answers, edges), answers.shape[1]
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
    ends: Ends,
    table: Array,
    total: Array,
) -> None:
    """The same, one row after the other."""
    members, nodes, leaves = ends
    codes = _encode_answers(answers, edges)
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
def _encode_answers(answers: Array, edges: Array) -> NDArray[np.int16]:
    """Number of edges of its test below each answer; more than all where it is NaN."""
    codes, n = np.empty(answers.shape, dtype=np.int16), edges.shape[1]
    for u in range(len(answers)):
        for i in range(answers.shape[1]):
            x, below, above = answers[u, i], 0, n
            while below < above:
                middle = (below + above) // 2
                if edges[u, middle] < x:
                    below = middle + 1
                else:
                    above = middle
            codes[u, i] = below if x == x else n
    return codes


@compilation.compile_at_first_call
def add_trees(
    answers: Array,
    which: NDArray[np.int64],
    thresholds: Array,
    children: NDArray[np.int32],
    ends: Ends,
    table: Array,
    total: Array,
) -> None:
    """Trees by nodes, one row after the other."""
    members, nodes, leaves = ends
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
