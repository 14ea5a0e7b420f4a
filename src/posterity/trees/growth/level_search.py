"""The compiled searches for the split of all nodes of a level that tells most about their targets.

Rows pass from right to left in the order of their codes. Each changes the counts of one node and of
one class in it, or the sums of one node, so that neither their number nor that of the cuts costs
anything.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array
from posterity.trees.growth import class_nodes, terms
from posterity.trees.growth.partition import CLOSED, NONE
from posterity.trees.growth.terms import ALL, ONE, look_up_term

_CLASS_TIE = 1e-12  # of n log n: gains that differ by less differ by rounding


@compilation.compile_at_first_call
def split_class_level(
    codes: NDArray[np.uint8],
    target: NDArray[np.int32],
    weights: Array,
    start: NDArray[np.int64],
    n_classes: int,
    table: Array,
    min_samples_leaf: float,
) -> tuple[int, int, float]:
    """Candidate, code and gain; rows start[a] to start[a + 1] - 1 are those of node a."""
    m = len(target)
    node, pair = np.empty(m, dtype=np.uint32), np.empty(m, dtype=np.uint32)
    order = np.empty(2 * m + 257, dtype=np.uint32)
    n_node, n_pair = np.zeros(len(start) - 1), np.zeros(m)
    n_pairs = _number_pairs(target, weights, start, n_classes, node, pair, n_node, n_pair)
    n = np.sum(n_node)
    if n_pairs == len(n_node) or n < 2.0 * min_samples_leaf:
        return CLOSED, 0, 0.0
    tie = _CLASS_TIE * abs(n * math.log(n))
    best, test, code = -np.inf, NONE, 0
    for k in range(len(codes)):
        lo, hi = terms.code_range(codes, k, start[0], m)
        terms.sort_rows(codes, k, start[0], m, lo, hi, order)
        gain, c = _find_best_class_cut(
            codes[k],
            order[:m],
            node,
            pair,
            weights,
            n_node,
            n_pair[:n_pairs],
            table,
            min_samples_leaf,
            tie,
        )
        if gain > best + tie:
            best, test, code = gain, k, c
    return test, code, best


@compilation.compile_at_first_call
def _number_pairs(
    target: NDArray[np.int32],
    weights: Array,
    start: NDArray[np.int64],
    n_classes: int,
    node: NDArray[np.uint32],
    pair: NDArray[np.uint32],
    n_node: Array,
    n_pair: Array,
) -> int:
    """Number the nodes and the pairs of node and class, with their weights; how many pairs."""
    name = np.full(n_classes, -1, dtype=np.int32)
    n_pairs = 0
    for a in range(len(start) - 1):
        s, e = start[a], start[a + 1]
        C = class_nodes.number_classes(target, weights, s, e, name, pair[s:e], n_pair[n_pairs:])
        for i in range(s, e):
            node[i] = a
            pair[i] += n_pairs
            n_node[a] += weights[i]
        n_pairs += C
    return n_pairs


@compilation.compile_at_first_call
def _find_best_class_cut(
    codes: NDArray[np.uint8],
    order: NDArray[np.uint32],
    node: NDArray[np.uint32],
    pair: NDArray[np.uint32],
    weights: Array,
    n_node: Array,
    n_pair: Array,
    table: Array,
    min_samples_leaf: float,
    tie: float,
) -> tuple[float, int]:
    """Gain and code of the best cut of one candidate."""
    node_left, pair_left = np.zeros(len(n_node)), np.zeros(len(n_pair))
    n, n_left, gain = np.sum(n_node), 0.0, 0.0
    best, code = -np.inf, 0
    for j in range(len(order) - 1):
        i = order[j]
        a, p, w = node[i], pair[i], weights[i]
        gain += _term_change(pair_left[p], n_pair[p], w, ONE, table)
        gain -= _term_change(node_left[a], n_node[a], w, ALL, table)
        node_left[a] += w
        pair_left[p] += w
        n_left += w
        if (
            codes[i] == codes[order[j + 1]]
            or n_left < min_samples_leaf
            or n - n_left < min_samples_leaf
        ):
            continue
        if gain > best + tie:
            best, code = gain, codes[i]
    return best, code


@compilation.compile_at_first_call
def _term_change(left: float, n: float, w: float, line: int, table: Array) -> float:
    """Return the change of the terms of both sides where w passes to the left."""
    r = n - left
    to_left = look_up_term(left + w, line, table) - look_up_term(left, line, table)
    return to_left + look_up_term(r - w, line, table) - look_up_term(r, line, table)


_NORMAL_TIE = 1e-10  # of a nat for each row: gains that differ by less differ by rounding


@compilation.compile_at_first_call
def split_normal_level(
    codes: NDArray[np.uint8],
    target: Array,
    weights: Array,
    start: NDArray[np.int64],
    variance: Array,
    prior: float,
    min_samples_leaf: float,
) -> tuple[int, int, float]:
    """Candidate, code and gain; rows start[a] to start[a + 1] - 1 are those of node a."""
    m = len(target)
    Y, n, whole, differ = terms.centre_nodes(target, weights, start)
    if not np.any(differ) or np.sum(n) < 2.0 * min_samples_leaf:
        return CLOSED, 0, 0.0
    node, order = np.empty(m, dtype=np.uint32), np.empty(2 * m + 257, dtype=np.uint32)
    for a in range(len(n)):
        node[start[a] : start[a + 1]] = a
    values = terms.nodes_log_likelihood(n, whole, variance, prior)
    tie = _NORMAL_TIE * np.sum(n)
    best, test, code = -np.inf, NONE, 0
    for k in range(len(codes)):
        lo, hi = terms.code_range(codes, k, start[0], m)
        terms.sort_rows(codes, k, start[0], m, lo, hi, order)
        gain, c = _find_best_normal_cut(
            codes[k],
            order[:m],
            node,
            Y,
            weights,
            n,
            whole,
            values.copy(),
            variance,
            prior,
            min_samples_leaf,
            tie,
        )
        if gain > best + tie:
            best, test, code = gain, k, c
    return test, code, best


@compilation.compile_at_first_call
def _find_best_normal_cut(
    codes: NDArray[np.uint8],
    order: NDArray[np.uint32],
    node: NDArray[np.uint32],
    Y: Array,
    weights: Array,
    n: Array,
    whole: Array,
    values: Array,
    variance: Array,
    prior: float,
    min_samples_leaf: float,
    tie: float,
) -> tuple[float, int]:
    """Gain and code of the best cut of one candidate; values are of the nodes, and change."""
    sums, squares, n_left = np.zeros_like(whole), np.zeros_like(whole), np.zeros(len(n))
    total, all_left, gain = np.sum(n), 0.0, 0.0
    best, code = -np.inf, 0
    for j in range(len(order) - 1):
        i = order[j]
        a, w = node[i], weights[i]
        n_left[a] += w
        all_left += w
        for o in range(len(variance)):
            sums[a, o] += w * Y[i, o]
            squares[a, o] += w * Y[i, o] ** 2
        value = terms.sides_log_likelihood(
            a, n_left[a], n[a] - n_left[a], sums, squares, whole, variance, prior
        )
        gain += value - values[a]
        values[a] = value
        is_cut = codes[i] != codes[order[j + 1]]
        is_fair = (all_left >= min_samples_leaf) & (total - all_left >= min_samples_leaf)
        if is_cut & is_fair & (gain > best + tie):
            best, code = gain, codes[i]
    return best, code
