"""The compiled search for the split of all nodes of a level that tells most about their numbers.

Rows pass from right to left in the order of their codes, and each changes the sums of one node.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array
from posterity.trees.growth import normal_terms, ordering
from posterity.trees.growth.partition import CLOSED, NONE

_TIE = 1e-10  # of a nat for each row: gains that differ by less differ by rounding


@compilation.compile_at_first_call
def split_level(
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
    Y, n, whole, differ = normal_terms.centre_nodes(target, weights, start)
    if not np.any(differ) or np.sum(n) < 2.0 * min_samples_leaf:
        return CLOSED, 0, 0.0
    node, order = np.empty(m, dtype=np.uint32), np.empty(2 * m + 257, dtype=np.uint32)
    for a in range(len(n)):
        node[start[a] : start[a + 1]] = a
    values = normal_terms.nodes_log_likelihood(n, whole, variance, prior)
    tie = _TIE * np.sum(n)
    best, test, code = -np.inf, NONE, 0
    for k in range(len(codes)):
        lo, hi = ordering.code_range(codes, k, start[0], m)
        ordering.sort_rows(codes, k, start[0], m, lo, hi, order)
        gain, c = _best_cut(
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
def _best_cut(
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
        value = normal_terms.sides_log_likelihood(
            a, n_left[a], n[a] - n_left[a], sums, squares, whole, variance, prior
        )
        gain += value - values[a]
        values[a] = value
        is_cut = codes[i] != codes[order[j + 1]]
        is_fair = (all_left >= min_samples_leaf) & (total - all_left >= min_samples_leaf)
        if is_cut & is_fair & (gain > best + tie):
            best, code = gain, codes[i]
    return best, code
