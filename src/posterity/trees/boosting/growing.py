"""One tree of a boosted sum: rows that know their slopes and curvatures, and tests that split them.

Trees are oblivious (all nodes of a level have one test, as in a fern, chosen by what all of them
gain from it together), or ordinary ones that grow level by level or the best leaf first. They
differ in the order of splits only; all sum the same histograms.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array
from posterity.trees.boosting import histograms, splitting
from posterity.trees.boosting.histograms import HALF, MASK, Words
from posterity.trees.boosting.screens import STAGE, CodedRows, Codes, GrowingTree
from posterity.trees.boosting.tree_records import GrownTree, TreeRules


def grow_oblivious(growing: GrowingTree) -> GrownTree:
    """Add levels until there are enough, or none gains."""
    if growing.coded.pool is None and growing.subtracts:
        tests, cuts, gains = _grow_alone(growing)
    else:
        tests, cuts, gains = _grow_with_threads(growing)
    leaves = splitting.find_leaves(growing.coded.codes, tests, cuts, None)
    return GrownTree(tests, cuts, None, gains, leaves, 1 << len(tests), growing.signs[tests])


def _grow_with_threads(growing: GrowingTree) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    rules, n = growing.rules, len(growing.rows)
    nodes = np.array([[0, 0, n, 0]], dtype=np.int64)
    parts = np.array([[0, n, 0, -1]], dtype=np.int64)
    levels: list[tuple[int, int, float]] = []
    n_slots = 1
    while n and len(levels) < rules.max_depth:
        if not growing.subtracts:
            parts = np.column_stack([nodes[:, 1:], np.full(len(nodes), -1)])
        gains, scores, cuts = growing.screen(parts, nodes, len(levels), 1)
        k = int(np.argmax(scores[0]))
        if cuts[0, k] < 0:
            break
        test, cut = growing.find_test(k), int(cuts[0, k])
        levels.append((test, cut, float(gains[0, k])))
        if len(levels) < rules.max_depth:
            code, right = growing.coded.codes[test], 1 << (len(levels) - 1)
            nodes, parts = splitting.split_nodes(
                code, cut, nodes, right, n_slots, growing.rows, growing.words
            )
            n_slots += len(parts)
    tests, cuts, gains = (np.array([level[i] for level in levels]) for i in range(3))
    return tests.astype(np.int64), cuts.astype(np.int64), gains.astype(np.float64)


def _grow_alone(growing: GrowingTree) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    """The same without a step of Python in a level: small tables have many small trees."""
    found = np.empty((2, growing.rules.max_depth), dtype=np.int64)
    gains = np.empty(growing.rules.max_depth)
    n = _add_levels(
        growing.coded.codes,
        growing.layout.order,
        growing.table,
        growing.rows,
        growing.words,
        growing.sums,
        growing.terms,
        growing.key + np.arange(growing.rules.max_depth, dtype=np.uint64) * STAGE,
        found,
        gains,
    )
    return found[0, :n], found[1, :n], gains[:n]


@compilation.compile_at_first_call
def _add_levels(
    codes: NDArray[np.uint8],
    order: NDArray[np.int64],
    table: histograms.Table,
    rows: NDArray[np.uint32],
    words: Words,
    sums: Words,
    terms: histograms.Terms,
    keys: NDArray[np.uint64],
    found: NDArray[np.int64],
    gained: Array,
) -> int:
    """Write test, cut and gain of each level; return how many there are."""
    # No plain constants as arguments: for these, functions would be compiled once more.
    zero: Any = np.int64(0)
    n_slots: Any = np.int64(1)
    n, depth = len(order), found.shape[1]
    gains, scores, cuts = np.empty((1, n)), np.empty((1, n)), np.empty((1, n), np.int64)
    nodes, parts = np.empty((1, 4), np.int64), np.empty((1, 4), np.int64)
    nodes[0, 0], nodes[0, 1], nodes[0, 2], nodes[0, 3] = 0, 0, len(rows), 0
    parts[0, 0], parts[0, 1], parts[0, 2], parts[0, 3] = 0, len(rows), 0, -1
    for d in range(depth if len(rows) else 0):
        end, own = len(table[1]), keys[d : d + 1]
        histograms.screen_blocks(
            zero, end, table, rows, words, parts, nodes, sums, terms, own, gains, scores, cuts
        )
        best = order[0]
        for a in order:
            best = a if scores[0, a] > scores[0, best] else best
        if cuts[0, best] < 0:
            return d
        test = table[4][best, histograms.TEST]
        found[0, d], found[1, d], gained[d] = test, cuts[0, best], gains[0, best]
        if d + 1 < depth:
            nodes, parts = splitting.part_nodes(
                codes[test], cuts[0, best], nodes, 1 << d, n_slots, rows, words
            )
            n_slots += len(parts)
    return depth if len(rows) else 0


_EVERYWHERE = (-np.inf, np.inf)


@dataclass(frozen=True, eq=False)
class _Leaf:
    """A leaf, and the split that would gain most."""

    begin: int
    end: int
    slot: int
    depth: int
    link: tuple[int, int]  # node and side that lead to it; (-1, 0) for the root
    bounds: tuple[float, float]
    test: int = -1
    code: int = -1
    gain: float = -np.inf


@dataclass(eq=False)
class _Splits:
    tests: list[int] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)
    children: list[list[int]] = field(default_factory=list)
    gains: list[float] = field(default_factory=list)


def grow_nodes(growing: GrowingTree) -> GrownTree:
    """Split leaves until there are enough, or none gains."""
    rules = growing.rules
    most = rules.max_leaf_nodes or 1 << rules.max_depth
    root = _Leaf(0, len(growing.rows), 0, 0, (-1, 0), _EVERYWHERE)
    splits, n_slots = _Splits(), 1
    n = len(growing.rows)
    open_leaves = _screen_leaves(growing, [root], np.array([[0, n, 0, -1]]), 0) if n else [root]
    closed: list[_Leaf] = []
    while open_leaves and len(closed) + len(open_leaves) < most:
        room = most - len(closed) - len(open_leaves)
        chosen = _choose_leaves(open_leaves, rules.growth, room)
        if not chosen:
            break
        children, parts = [], []
        stage = 1 + 2 * len(splits.tests)  # as many nodes are looked at before these
        for leaf in chosen:
            open_leaves.remove(leaf)
            pair, part = _split_leaf(growing, leaf, splits, n_slots)
            n_slots += len(part)
            children += pair
            parts.append(part)
        closed += [leaf for leaf in children if leaf.depth >= rules.max_depth]
        others = [leaf for leaf in children if leaf.depth < rules.max_depth]
        if others and len(closed) + len(open_leaves) + len(others) < most:
            open_leaves += _screen_leaves(growing, others, np.concatenate(parts), stage)
        else:
            closed += others
    return _conclude(growing, splits, closed + open_leaves)


def _choose_leaves(leaves: list[_Leaf], growth: str, room: int) -> list[_Leaf]:
    """The leaves to split next: the best one, or all of the level that gain."""
    gaining = sorted((leaf for leaf in leaves if leaf.gain > 0.0), key=lambda leaf: -leaf.gain)
    return gaining[:1] if growth == "leaf" else gaining[:room]


def _screen_leaves(
    growing: GrowingTree, leaves: list[_Leaf], parts: NDArray[np.int64], stage: int
) -> list[_Leaf]:
    """The same leaves with the best split of each."""
    nodes = np.array([[0, leaf.begin, leaf.end, leaf.slot] for leaf in leaves], dtype=np.int64)
    if not growing.subtracts:
        parts = np.column_stack([nodes[:, 1:], np.full(len(nodes), -1)])
    gains, scores, cuts = growing.screen(parts, nodes, stage, len(nodes))
    found = []
    for a, leaf in enumerate(leaves):
        k = int(np.argmax(scores[a]))
        best = growing.find_test(k), int(cuts[a, k]), float(gains[a, k])
        found.append(replace(leaf, test=best[0], code=best[1], gain=best[2]))
    return found


def _split_leaf(
    growing: GrowingTree, leaf: _Leaf, splits: _Splits, n_slots: int
) -> tuple[list[_Leaf], NDArray[np.int64]]:
    """The two children, and the rows of the smaller one, which are to be summed."""
    node = np.array([[0, leaf.begin, leaf.end, leaf.slot]], dtype=np.int64)
    code = growing.coded.codes[leaf.test]
    children, parts = splitting.split_nodes(
        code, leaf.code, node, 1, n_slots, growing.rows, growing.words
    )
    if leaf.depth + 1 >= growing.rules.max_depth:
        parts = parts[:0]  # neither child is screened
    number = len(splits.tests)
    splits.tests.append(leaf.test)
    splits.codes.append(leaf.code)
    splits.gains.append(leaf.gain)
    splits.children.append([0, 0])
    if leaf.link[0] >= 0:
        splits.children[leaf.link[0]][leaf.link[1]] = number
    bounds = _bound_children(growing, leaf, children)
    return [
        _Leaf(int(begin), int(end), int(slot), leaf.depth + 1, (number, int(side)), bounds[side])
        for side, begin, end, slot in children
    ], parts


def _bound_children(
    growing: GrowingTree, leaf: _Leaf, children: NDArray[np.int64]
) -> list[tuple[float, float]]:
    """Bounds of values: either side of a monotone split keeps to its side of the middle."""
    low, high = leaf.bounds
    sign = growing.signs[leaf.test]
    if sign == 0:
        return [leaf.bounds, leaf.bounds]
    values = [np.clip(_find_value(growing, *child[1:3]), low, high) for child in children]
    middle = float(0.5 * (values[0] + values[1]))
    below, above = (low, middle), (middle, high)
    return [below, above] if sign > 0 else [above, below]


def _find_value(growing: GrowingTree, begin: int, end: int) -> float:
    """Return the value of one Newton step for some rows, of one output."""
    word = int(growing.words[0, begin:end].sum())
    G, H = (word >> HALF) * growing.units[0, 0], (word & MASK) * growing.units[0, 1]
    return float(G / (H + growing.rules.prior_precision))


def _conclude(growing: GrowingTree, splits: _Splits, leaves: list[_Leaf]) -> GrownTree:
    for number, leaf in enumerate(leaves):
        if leaf.link[0] >= 0:
            splits.children[leaf.link[0]][leaf.link[1]] = ~number
    tests = np.array(splits.tests, dtype=np.int64)
    codes = np.array(splits.codes, dtype=np.int64)
    children = np.array(splits.children, dtype=np.int32).reshape(-1, 2)
    found = splitting.find_leaves(growing.coded.codes, tests, codes, children)
    bounds: Array | None = None
    if growing.signs.any():
        bounds = np.array([leaf.bounds for leaf in leaves])
    gains = np.array(splits.gains)
    return GrownTree(tests, codes, children, gains, found, len(leaves), None, bounds)


@dataclass(frozen=True, eq=False)
class Grower:
    """The answers of all rows to all tests, and threads that look through them.

    Examples
    --------
    >>> import numpy as np
    >>> codes = np.array([[0, 0, 1, 1], [0, 1, 0, 1]], dtype=np.uint8)
    >>> slopes, curvatures = np.array([[-1.0], [-1.0], [1.0], [1.0]]), np.ones((4, 1))
    >>> rng = np.random.default_rng(0)
    >>> with Grower.open(codes) as grower:
    ...     tree = grower.grow(slopes, curvatures, np.ones(4), TreeRules(max_depth=1), rng)
    >>> tree.tests, tree.leaves, tree.gains.round(3)
    (array([0]), array([0, 0, 1, 1], dtype=int32), array([1.333]))
    """

    coded: CodedRows

    @classmethod
    @contextmanager
    def open(
        cls, codes: Codes, n_jobs: int | None = None, weights: Array | None = None
    ) -> Iterator[Grower]:
        """A grower whose threads end with the context; small work gets none.

        Weights (N,) say how often rows count in the least number on either side of the test of a
        level; None: once each.
        """
        with CodedRows.open(codes, n_jobs, weights) as coded:
            yield cls(coded)

    def grow(
        self,
        slopes: Array,
        curvatures: Array,
        weights: Array,
        rules: TreeRules,
        rng: np.random.Generator,
        tests: NDArray[Any] | None = None,
    ) -> GrownTree:
        """A tree for slopes and curvatures of the log-likelihood, whose gains over outputs add.

        The result depends neither on the number of threads nor on the order of rows.

        Parameters
        ----------
        slopes, curvatures : array (N, L)
            Derivative of each row's log-probability in each output, and minus the second, >= 0.
        weights : array (N,)
            How often rows count; rows of weight 0 get a leaf, and nothing else.
        rules : TreeRules
            How the tree grows.
        rng : Generator
            Draws random scores.
        tests : array (K,), optional
            Which tests are tried; None: all.
        """
        growing = GrowingTree.start(self.coded, slopes, curvatures, weights, rules, rng, tests)
        grow = grow_oblivious if rules.growth == "oblivious" else grow_nodes
        return grow(growing)
