"""The nodes of a tree that may still be split, and how their rows part from one level to the next.

A row is told by its slot, its place in the list that the tree was given. The slots of one node lie
side by side and keep their order, so that what a node sees does not depend on its neighbours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array

CLOSED = -2
"""Instead of a test: no test could split this node."""
NONE = -1
"""Instead of a test: none of those that were tried splits this node."""
_ALL = 2  # instead of a side


class NodeSplits(NamedTuple):
    """Splits that a criterion finds for each of A nodes."""

    test: NDArray[np.int32]  # (A,), which of the candidates; NONE or CLOSED
    code: NDArray[np.int32]  # (A,), codes up to this one go left
    gain: Array  # (A,), nats
    is_open: NDArray[np.bool_]  # (A, 2), whether a side could be split again


class LevelSplit(NamedTuple):
    """The split that a criterion finds for all nodes of a level together."""

    test: int  # which of the candidates; NONE or CLOSED
    code: int
    gain: float  # of all nodes


class Frontier(NamedTuple):
    """A nodes that may be split, of m rows in all."""

    slots: NDArray[np.int32]  # (m,)
    which: NDArray[np.int32]  # (m,), the node of each slot
    start: NDArray[np.int64]  # (A + 1,), node a has slots[start[a] : start[a + 1]]
    links: NDArray[np.int64]  # (A,), see Settled
    depths: NDArray[np.int64]  # (A,)
    tries: NDArray[np.int64]  # (A,), how often tests were drawn for it in vain


class LinkTargets(NamedTuple):
    """Ends of links: link 0 leads to the root, 1 + 2 i + side to a child of node i."""

    links: NDArray[np.int64]
    ends: NDArray[np.int64]  # i for a node, ~l for a leaf
    n_leaves: int  # of these


def root_frontier(n_rows: int) -> Frontier:
    """The root, with all rows."""
    return Frontier(
        slots=np.arange(n_rows, dtype=np.int32),
        which=np.zeros(n_rows, dtype=np.int32),
        start=np.array([0, n_rows], dtype=np.int64),
        links=np.zeros(1, dtype=np.int64),
        depths=np.zeros(1, dtype=np.int64),
        tries=np.zeros(1, dtype=np.int64),
    )


def split_frontier(
    now: Frontier,
    codes: NDArray[np.uint8],
    splits: NodeSplits,
    leaf: NDArray[np.int32],
    limits: tuple[int, int, int, int],
) -> tuple[Frontier, LinkTargets]:
    """The nodes of the next round, and what became of those of this one.

    The limits are how many nodes and leaves there are so far, from which they are numbered on, and
    the largest depth and number of tries. The leaf of rows that come to one is written by slot.
    """
    n_nodes = limits[0]
    parts = _list_parts(now.links, now.depths, now.tries, splits.test, splits.is_open, limits)
    node, side, end, links, depths, tries = parts
    moved = _move_rows(now.slots, now.start, codes, splits.test, splits.code, node, side, end, leaf)
    goes_on, is_node = end < 0, splits.test >= 0
    nodes = np.arange(n_nodes, n_nodes + int(is_node.sum()))
    settled = LinkTargets(
        np.concatenate([now.links[is_node], links[~goes_on]]),
        np.concatenate([nodes, ~end[~goes_on]]),
        len(end) - int(goes_on.sum()),
    )
    return Frontier(*moved, links[goes_on], depths[goes_on], tries[goes_on]), settled


@compilation.compile_at_first_call
def _list_parts(
    links: NDArray[np.int64],
    depths: NDArray[np.int64],
    tries: NDArray[np.int64],
    test: NDArray[np.int32],
    is_open: NDArray[np.bool_],
    limits: tuple[int, int, int, int],
) -> NDArray[np.int64]:
    """Into what nodes part: (node, side, leaf or -1, link, depth, tries) of each part, (6, Q)."""
    n_nodes, n_leaves, max_depth, max_tries = limits
    parts = np.empty((6, 2 * len(test)), dtype=np.int64)
    n = 0
    for a in range(len(test)):
        if test[a] < 0:
            goes_on = test[a] == NONE and tries[a] + 1 < max_tries
            end = -1 if goes_on else n_leaves
            _write_part(parts, n, a, _ALL, end, links[a], depths[a], tries[a] + 1)
            n_leaves += not goes_on
            n += 1
            continue
        for side in range(2):
            goes_on = is_open[a, side] and depths[a] + 1 < max_depth
            end = -1 if goes_on else n_leaves
            _write_part(parts, n, a, side, end, 1 + 2 * n_nodes + side, depths[a] + 1, 0)
            n_leaves += not goes_on
            n += 1
        n_nodes += 1
    return parts[:, :n]


@compilation.compile_for_callers
def _write_part(
    parts: NDArray[np.int64],
    n: int,
    node: int,
    side: int,
    end: int,
    link: int,
    depth: int,
    tries: int,
) -> None:
    """Column n, number by number: a tuple takes seconds to compile."""
    parts[0, n] = node
    parts[1, n] = side
    parts[2, n] = end
    parts[3, n] = link
    parts[4, n] = depth
    parts[5, n] = tries


@compilation.compile_at_first_call
def _move_rows(
    slots: NDArray[np.int32],
    start: NDArray[np.int64],
    codes: NDArray[np.uint8],
    test: NDArray[np.int32],
    code: NDArray[np.int32],
    node: NDArray[np.int64],
    side: NDArray[np.int64],
    end: NDArray[np.int64],
    leaf: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Slots, nodes and starts of the parts that go on; the others are written to ``leaf``.

    Each slot is written where the next one belongs, whether or not it does: which rows belong to a
    part cannot be foreseen.
    """
    ahead, which = np.empty(len(slots) + 1, dtype=np.int32), np.empty_like(slots)
    begins = np.zeros(len(node) + 1, dtype=np.int64)
    n, m = 0, np.uint64(0)
    for q in range(len(node)):
        a, begin = node[q], m
        k, c = max(test[a], 0), code[a]
        for i in range(np.uint64(start[a]), np.uint64(start[a + 1])):
            ahead[m] = slots[i]
            m += np.uint64((side[q] == _ALL) | ((codes[k, i] > c) == (side[q] == 1)))
        if end[q] >= 0:
            for i in range(begin, m):
                leaf[ahead[i]] = end[q]
            m = begin
            continue
        which[begin:m] = n
        n += 1
        begins[n] = m
    return ahead[:m], which[:m], begins[: n + 1]
