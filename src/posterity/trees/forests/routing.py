"""The way of rows down to the leaf of each tree.

Rows go down as codes where they can, an eighth of the memory of numbers; else by a compiled answer
of their family, see :mod:`posterity.trees.families.compiled`; else level by level.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array
from posterity.trees.families import compiled
from posterity.trees.families.columns import Columns
from posterity.trees.families.compiled import LANES
from posterity.trees.families.family import Family, Places
from posterity.trees.structure import Trees

_MOST_PAIRS = 1 << 23  # of a row and a tree, whose leaves are held at once
_MOST_ROWS = 1 << 16  # many, since each block of them brings all trees from memory again


@dataclass(frozen=True, eq=False)
class Router:
    """Trees, with their nodes laid out so that one visit costs one access to memory.

    Examples
    --------
    >>> import numpy as np
    >>> family = Columns().adapt_to(np.eye(2))
    >>> stump = Trees(
    ...     roots=np.array([0], dtype=np.int32),
    ...     tests=np.array([[1]], dtype=np.int32),
    ...     thresholds=np.array([0.5]),
    ...     children=np.array([[~0, ~1]], dtype=np.int32),
    ...     gains=np.zeros(1, dtype=np.float32),
    ...     n_leaves=2,
    ... )
    >>> Router(family, stump).leaves(np.eye(2), np.arange(2, dtype=np.int32))
    array([[0, 1]], dtype=int32)
    """

    family: Family
    trees: Trees

    @property
    def rows_at_once(self) -> int:
        """Number of rows that a caller should ask for at once."""
        return max(min(_MOST_PAIRS // self.trees.n_trees, _MOST_ROWS), 1)

    def leaves(
        self, rows: Any, places: Places, unasked: NDArray[np.bool_] | None = None
    ) -> NDArray[np.int32]:
        """The leaves of some rows, (T, n); -1 for those pairs that are not asked for, (T, n)."""
        trees = self.trees
        found = np.zeros((trees.n_trees, len(places)), dtype=np.int32)
        if unasked is not None:
            np.negative(unasked.view(np.int8), out=found)  # many times faster than an index
        if self._nodes is not None:
            _descend(self.family.prepare_rows(rows[places]), trees.roots, self._nodes, found)
        elif (answer := self.family.compile_answer()) is not None:
            nodes = (trees.roots, trees.tests, trees.thresholds, trees.children)
            compiled.descend(answer, self.family.unpack_rows(rows), places, nodes, found)
        else:
            self._descend_by_tests(rows, places, found.ravel())
        return found

    @functools.cached_property
    def _nodes(self) -> NDArray[np.int32] | None:
        """Column, code of the threshold and children of each node side by side, (I, 4).

        None where tests are not of single columns, or a threshold lies between two codes.
        """
        family, trees = self.family, self.trees
        if not isinstance(family, Columns) or family.edges is None:
            return None
        columns = trees.tests[:, 0].astype(np.int32)
        codes = _find_threshold_codes(family.edges, columns, trees.thresholds)
        if np.any(codes < 0):
            return None
        return np.column_stack([columns, codes, trees.children])

    def _descend_by_tests(self, rows: Any, places: Places, found: NDArray[np.int32]) -> None:
        """A step for all rows and trees at a time, through the answers of the family."""
        trees, n = self.trees, len(places)
        pairs = np.flatnonzero(found >= 0)
        here = trees.roots[pairs // n]
        while pairs.size:
            at_leaf = here < 0
            found[pairs[at_leaf]] = ~here[at_leaf]
            pairs, nodes = pairs[~at_leaf], here[~at_leaf]
            answers = self.family.respond(rows, places[pairs % n], trees.tests[:, None], nodes)[0]
            # A comparison with NaN is false: a row without an answer goes to the second child.
            is_second = ~(answers <= trees.thresholds[nodes])
            here = trees.children[nodes, is_second.astype(np.intp)]


@compilation.compile_at_first_call
def _find_threshold_codes(
    edges: Array, columns: NDArray[np.int32], thresholds: Array
) -> NDArray[np.int32]:
    """Return the position of each threshold among the edges of its column, or -1."""
    codes = np.empty(len(columns), dtype=np.int32)
    for i in range(len(columns)):
        # The first +inf of a column exceeds its numbers; only the code of missing ones is larger.
        code = np.searchsorted(edges[columns[i]], thresholds[i])
        codes[i] = code if edges[columns[i], code] == thresholds[i] else -1
    return codes


@compilation.compile_at_first_call
def _descend(
    rows: NDArray[np.uint8],
    roots: NDArray[np.int32],
    nodes: NDArray[np.int32],
    found: NDArray[np.int32],
) -> None:
    """Leaves of all pairs of a tree and a row, (T, n), except where ``found`` is negative."""
    n, leaves = len(rows), found.reshape(-1)
    node, pair = (
        np.full(compiled.LANES, -1, dtype=np.int32),
        np.full(compiled.LANES, -1, dtype=np.int64),
    )
    row = np.zeros(compiled.LANES, dtype=np.uint64)
    upcoming, busy = compiled.next_pair(leaves, 0), True
    while busy:
        busy = False
        for lane in range(LANES):
            here = node[lane]
            if here >= 0:
                i = np.uint64(here)  # signed, every index would be asked for its sign
                is_second = rows[row[lane], np.uint64(nodes[i, 0])] > nodes[i, 1]
                node[lane] = nodes[i, np.uint64(2) + np.uint64(is_second)]
                busy = True
                continue
            if pair[lane] >= 0:
                leaves[pair[lane]] = ~here
            pair[lane] = -1
            if upcoming < len(leaves):
                pair[lane], row[lane] = upcoming, upcoming % n
                node[lane] = roots[upcoming // n]
                upcoming, busy = compiled.next_pair(leaves, upcoming + 1), True
