"""Trees with one test a level, chosen by what all nodes of the level gain from it together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array
from posterity.trees.boosting import histograms, parting
from posterity.trees.boosting.grown import GrownTree
from posterity.trees.boosting.packing import Words
from posterity.trees.boosting.screens import STAGE, GrowingTree


def grow_oblivious(growing: GrowingTree) -> GrownTree:
    """Add levels until there are enough, or none gains."""
    if growing.coded.pool is None and growing.subtracts:
        tests, cuts, gains = _grow_alone(growing)
    else:
        tests, cuts, gains = _grow_with_threads(growing)
    codes = growing.coded.codes
    leaves = np.empty(codes.shape[1], dtype=np.int32)
    parting.find_leaves(codes, tests, cuts, leaves)
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
            nodes, parts = parting.split_nodes(
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
            nodes, parts = parting.part_nodes(
                codes[test], cuts[0, best], nodes, 1 << d, n_slots, rows, words
            )
            n_slots += len(parts)
    return depth if len(rows) else 0
