"""Trees whose nodes have a test each: level by level, or where a split gains most first."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.trees.boosting import parting
from posterity.trees.boosting.grown import GrownTree
from posterity.trees.boosting.packing import HALF, MASK
from posterity.trees.boosting.screens import GrowingTree

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
        found.append(
            _Leaf(
                leaf.begin,
                leaf.end,
                leaf.slot,
                leaf.depth,
                leaf.link,
                leaf.bounds,
                growing.find_test(k),
                int(cuts[a, k]),
                float(gains[a, k]),
            )
        )
    return found


def _split_leaf(
    growing: GrowingTree, leaf: _Leaf, splits: _Splits, n_slots: int
) -> tuple[list[_Leaf], NDArray[np.int64]]:
    """The two children, and the rows of the smaller one, which are to be summed."""
    node = np.array([[0, leaf.begin, leaf.end, leaf.slot]], dtype=np.int64)
    code = growing.coded.codes[leaf.test]
    children, parts = parting.split_nodes(
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
    """Where values may lie: either side of a monotone split keeps to its side of the middle."""
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
    found = np.empty(growing.coded.codes.shape[1], dtype=np.int32)
    parting.descend(growing.coded.codes, tests, codes, children, found)
    bounds: Array | None = None
    if growing.signs.any():
        bounds = np.array([leaf.bounds for leaf in leaves])
    gains = np.array(splits.gains)
    return GrownTree(tests, codes, children, gains, found, len(leaves), None, bounds)
