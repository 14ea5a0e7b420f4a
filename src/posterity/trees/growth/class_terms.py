"""Compiled terms of classes: what a split gains by the counts of classes on both sides.

Of n_c rows in class c and n in all, sum_c f(n_c) - F(n) is the log-likelihood of the classes. With
probabilities of maximum likelihood both are n log n. With a symmetric Dirichlet prior worth s rows
of C classes, integrated out, they are log G(n + a) - log G(a), where a is s / C, and for F is s.

The textbook takes the class probabilities of each side where they make its rows most likely, which
pays for cutting off a few rows that happen to agree. With a prior it is the log evidence that a
split gains, and small sides pay for their probabilities.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from posterity import compilation
from posterity.arrays import Array
from posterity.trees.growth import split_search
from posterity.trees.growth.split_search import LevelRows, Node, Rows, SplitSearch

_ONE, _ALL = 0, 1  # lines of the table: of one class, and of all together
_LONGEST = 1 << 16  # terms that stay near the processor
_DENSE = 2  # cells of a histogram that a row is worth
_TIE = 1e-12  # of the term of all rows: gains that differ by less differ by rounding

Shared = tuple[NDArray[np.int32], NDArray[np.uint32], Array, Array, Array]
"""Numbers of classes in a node (C,), -1 outside of it; those of its rows; four lines of counts
(4, C); cells of a histogram; and the table of terms. Made once, and cleared by what was used."""
Level = tuple[Array, NDArray[np.uint32], Array, Array]
"""Weights of nodes; pairs of node and class by row; weights of pairs; and the table of terms."""


def term_table(weights: Array, n_classes: int, prior_weight: float) -> Array:
    """Line by line a, and the terms of the whole numbers that sums of weights can be.

    There are no such where weights are not whole.
    """
    is_whole = np.array_equal(weights, np.rint(weights))
    most = min(int(weights.sum()) + 1, _LONGEST) if is_whole else 0
    return _compute_terms(most, n_classes, prior_weight)


@lru_cache(maxsize=4)  # trees of a forest have as many rows each
def _compute_terms(most: int, n_classes: int, prior_weight: float) -> Array:
    n = np.arange(most, dtype=np.float64)
    of = np.array([[prior_weight / n_classes], [prior_weight]])
    if prior_weight > 0.0:
        return np.hstack([of, gammaln(n + of) - gammaln(of)])
    terms = n.copy()
    terms[1:] *= np.log(n[1:])
    return np.hstack([of, np.stack([terms, terms])])


@compilation.compile_for_callers
def _look_up_term(n: float, line: int, table: Array) -> float:
    """Looked up where it can be."""
    if n + 2.0 <= table.shape[1]:  # rounding may make what is left of a weight less than nothing
        return table[line, int(n) + 1]
    if table[line, 0] > 0.0:
        return math.lgamma(n + table[line, 0]) - math.lgamma(table[line, 0])
    return n * math.log(n) if n > 0.0 else 0.0


@compilation.compile_for_callers
def reserve(
    target: NDArray[np.int32], start: NDArray[np.int64], parameters: tuple[int, Array]
) -> Shared:
    """Make what all nodes share."""
    n_classes, table = parameters
    widest = split_search.largest_node(start)
    name, label = np.full(n_classes, -1, dtype=np.int32), np.empty(widest, dtype=np.uint32)
    return name, label, np.empty((4, n_classes)), np.empty(_DENSE * widest), table


@compilation.compile_for_callers
def enter_node(target: NDArray[np.int32], weights: Array, s: int, e: int, shared: Shared) -> Node:
    """Count the classes of a node."""
    name, label, counts, _, table = shared
    C = _number_classes(target, weights, s, e, name, label, counts[0])
    n, base = 0.0, 0.0
    for c in range(C):
        n += counts[0, c]
        base += _look_up_term(counts[0, c], _ONE, table)
    tie = _TIE * abs(_look_up_term(n + 1.0, _ALL, table))
    return C > 1, n, tie, base, _look_up_term(n, _ALL, table), C


@compilation.compile_for_callers
def _number_classes(
    target: NDArray[np.int32],
    weights: Array,
    s: int,
    e: int,
    name: NDArray[np.int32],
    label: NDArray[np.uint32],
    total: Array,
) -> int:
    """Number the classes of a node in the order they are met, with their weights; how many."""
    C, first = 0, np.uint64(s)  # without a sign, no index is asked whether it is negative
    for i in range(first, np.uint64(e)):
        c = name[target[i, 0]]
        if c < 0:
            c = name[target[i, 0]] = C
            total[c] = 0.0
            C += 1
        label[i - first] = c
        total[c] += weights[i]
    to_clear = C
    for i in range(first, np.uint64(e)):
        if to_clear == 0:
            break
        to_clear -= name[target[i, 0]] >= 0
        name[target[i, 0]] = -1
    return C


@compilation.compile_for_callers
def find_cut(rows: Rows, node: Node, shared: Shared, k: int, lo: int, hi: int) -> tuple[float, int]:
    """Log-likelihood and code of the best cut of a candidate, in the way that is fastest."""
    if hi - lo == 1:
        return _cut_two_codes(rows, node, shared, k, hi)
    if (hi - lo + 1) * node[5] <= _DENSE * (rows[3] - rows[2]):
        return _cut_by_bins(rows, node, shared, k, lo, hi)
    return _cut_by_rows(rows, node, shared, k, lo, hi)


@compilation.compile_for_callers
def _cut_two_codes(rows: Rows, node: Node, shared: Shared, k: int, hi: int) -> tuple[float, int]:
    """Log-likelihood and code of the one cut between two codes.

    Rows of the upper one are added up: mostly they are few, or else most, and so foreseen.
    """
    codes, weights, s, e, _, least = rows
    _, n, _, _, _, C = node
    _, label, counts, _, table = shared
    for c in range(C):
        counts[1, c] = 0.0
    first = np.uint64(s)
    for i in range(first, np.uint64(e)):
        if codes[k, i] == hi:
            counts[1, label[i - first]] += weights[i]
    n_right, value = 0.0, 0.0
    for c in range(C):
        n_right += counts[1, c]
        value += _look_up_term(counts[0, c] - counts[1, c], _ONE, table) + _look_up_term(
            counts[1, c], _ONE, table
        )
    if n_right < least or n - n_right < least:
        return -np.inf, 0
    both = _look_up_term(n - n_right, _ALL, table) + _look_up_term(n_right, _ALL, table)
    return value - both, hi - 1


@compilation.compile_for_callers
def _cut_by_bins(
    rows: Rows, node: Node, shared: Shared, k: int, lo: int, hi: int
) -> tuple[float, int]:
    """Log-likelihood and code of the best cut, from a histogram of codes and classes."""
    _, _, _, _, _, least = rows
    _, n, tie, _, _, C = node
    _, _, counts, cells, table = shared
    _fill_histogram(rows, shared, C, k, lo, hi)
    for c in range(C):
        counts[1, c] = 0.0
    best, code, n_left = -np.inf, 0, 0.0
    for b in range(hi - lo):
        n_here, value = 0.0, 0.0
        for c in range(C):
            n_here += cells[b * C + c]
            counts[1, c] += cells[b * C + c]
        n_left += n_here
        if n_here == 0.0 or n_left < least or n - n_left < least:
            continue
        for c in range(C):
            value += _look_up_term(counts[1, c], _ONE, table) + _look_up_term(
                counts[0, c] - counts[1, c], _ONE, table
            )
        value -= _look_up_term(n_left, _ALL, table) + _look_up_term(n - n_left, _ALL, table)
        if value > best + tie:
            best, code = value, b + lo
    return best, code


@compilation.compile_for_callers
def _fill_histogram(rows: Rows, shared: Shared, C: int, k: int, lo: int, hi: int) -> None:
    """The histogram, in lines of C. Numbers without a sign need no look for a negative place."""
    codes, weights, s, e, _, _ = rows
    _, label, _, cells, _ = shared
    for h in range((hi - lo + 1) * C):
        cells[h] = 0.0
    first, lowest, width = np.uint64(s), np.uint64(lo), np.uint64(C)
    for i in range(first, np.uint64(e)):
        cells[(codes[k, i] - lowest) * width + label[i - first]] += weights[i]


@compilation.compile_for_callers
def _cut_by_rows(
    rows: Rows, node: Node, shared: Shared, k: int, lo: int, hi: int
) -> tuple[float, int]:
    """The same from rows in the order of their codes, each of which changes one class."""
    codes, weights, s, e, order, least = rows
    _, n, tie, value, _, C = node
    _, label, counts, _, table = shared
    split_search.sort_rows(codes, k, s, e, lo, hi, order)
    for c in range(C):
        counts[1, c], counts[2, c] = 0.0, 0.0
        counts[3, c] = _look_up_term(counts[0, c], _ONE, table)
    best, code, n_left, first = -np.inf, 0, 0.0, np.uint64(s)
    for j in range(e - s - 1):
        c, w = label[order[j]], weights[first + order[j]]
        left = counts[1, c] + w
        to_left = _look_up_term(left, _ONE, table)
        to_right = _look_up_term(counts[0, c] - left, _ONE, table)
        value += (to_left - counts[2, c]) + (to_right - counts[3, c])
        counts[1, c], counts[2, c], counts[3, c] = left, to_left, to_right
        n_left += w
        here = codes[k, first + order[j]]
        split = value - _look_up_term(n_left, _ALL, table) - _look_up_term(n - n_left, _ALL, table)
        # One branch: to foresee several costs more than to compute what is not needed.
        is_cut = here != codes[k, first + order[j + 1]]
        if is_cut & (n_left >= least) & (n - n_left >= least) & (split > best + tie):
            best, code = split, here
    return best, code


@compilation.compile_for_callers
def enter_level(
    target: NDArray[np.int32],
    weights: Array,
    start: NDArray[np.int64],
    parameters: tuple[int, Array],
) -> tuple[bool, float, Array, Level]:
    """Number the nodes and the pairs of node and class, with their weights."""
    name, pair = np.full(parameters[0], -1, np.int32), np.empty(len(target), dtype=np.uint32)
    n_node, n_pair, n_pairs = np.zeros(len(start) - 1), np.zeros(len(target)), 0
    for a in range(len(start) - 1):
        s, e = start[a], start[a + 1]
        C = _number_classes(target, weights, s, e, name, pair[s:e], n_pair[n_pairs:])
        for i in range(s, e):
            pair[i] += n_pairs
            n_node[a] += weights[i]
        n_pairs += C
    n = np.sum(n_node)
    tie = _TIE * abs(n * math.log(n))
    return n_pairs > len(n_node), tie, n_node, (n_node, pair, n_pair[:n_pairs], parameters[1])


@compilation.compile_for_callers
def find_level_cut(rows: LevelRows, shared: Level) -> tuple[float, int]:
    """Gain and code of the best cut of a candidate."""
    codes, weights, order, node, n, least, tie = rows
    n_node, pair, n_pair, table = shared
    node_left, pair_left = np.zeros(len(n_node)), np.zeros(len(n_pair))
    best, code, n_left, gain = -np.inf, 0, 0.0, 0.0
    for j in range(len(node) - 1):
        i = order[j]
        a, p, w = node[i], pair[i], weights[i]
        gain += _term_change(pair_left[p], n_pair[p], w, _ONE, table)
        gain -= _term_change(node_left[a], n_node[a], w, _ALL, table)
        node_left[a] += w
        pair_left[p] += w
        n_left += w
        if codes[i] == codes[order[j + 1]] or n_left < least or n - n_left < least:
            continue
        if gain > best + tie:
            best, code = gain, codes[i]
    return best, code


@compilation.compile_for_callers
def _term_change(left: float, n: float, w: float, line: int, table: Array) -> float:
    """Return the change of the terms of both sides where w passes to the left."""
    r = n - left
    to_left = _look_up_term(left + w, line, table) - _look_up_term(left, line, table)
    return to_left + _look_up_term(r - w, line, table) - _look_up_term(r, line, table)


split_nodes = split_search.compile_node_search(reserve, enter_node, find_cut)
split_level = split_search.compile_level_search(enter_level, find_level_cut)


@dataclass(frozen=True)
class ClassCriterion:
    """Splits by the log-likelihood of the classes 0 to C - 1.

    Parameters
    ----------
    n_classes : int
        C.
    prior_weight : float, default 0
        How many rows a symmetric Dirichlet prior of each side is worth; 0: maximum likelihood.

    Examples
    --------
    >>> import numpy as np
    >>> target, weights = np.array([0, 0, 1], dtype=np.int32), np.ones(3)
    >>> codes = np.array([[7, 7, 7], [1, 2, 5]], dtype=np.uint8)
    >>> search = ClassCriterion(2).start_search(target, weights)
    >>> splits = search.split_nodes(codes, target, weights, np.array([0, 3]), 1.0)
    >>> splits.test, splits.code, splits.gain.round(4)
    (array([1], dtype=int32), array([2], dtype=int32), array([1.9095]))
    """

    n_classes: int
    prior_weight: float = 0.0

    def start_search(self, target: NDArray[Any], weights: Array) -> SplitSearch:
        """The search for splits of a tree or fern of these rows."""
        del target
        table = term_table(weights, self.n_classes, self.prior_weight)
        return SplitSearch(split_nodes, split_level, (self.n_classes, table))
