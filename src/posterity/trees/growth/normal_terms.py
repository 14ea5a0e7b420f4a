"""Compiled terms of numbers: what a split gains by weights, sums and sums of squares.

Each output of a leaf is normal. Rows of weight n that are SS away from their mean,
summed and squared, have the log-likelihood -(n log v + SS / v) / 2. The variance v is that of the
root where it is held in common, so that a split gains what it takes from the sum of squares; or a
leaf has its own, (SS + s v_root) / (n + s), which s rows of the root keep from zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array
from posterity.trees.growth import split_search
from posterity.trees.growth.split_search import LevelRows, Node, Rows, SplitSearch

_TIE = 1e-10  # of a nat for each row: gains that differ by less differ by rounding

Leaf = tuple[Array, float]
"""Variances of the root (K,), and the prior weight of these, see :func:`_log_likelihood`."""
Shared = tuple[Array, Array, Array, Array, Leaf]
"""Rows less the mean of their node (m, K); squares of the node, and sums and squares on the left of
a cut, (1, K) each; and what a leaf is like."""
Level = tuple[Array, Array, Array, Array, Leaf]
"""Weights of nodes; rows less the mean of their node; squares and log-likelihoods of nodes; and
what a leaf is like."""


@compilation.compile_for_callers
def reserve(target: Array, start: NDArray[np.int64], parameters: Leaf) -> Shared:
    """Make what all nodes share."""
    line = (1, target.shape[1])
    return np.empty_like(target), np.empty(line), np.empty(line), np.empty(line), parameters


@compilation.compile_for_callers
def enter_node(target: Array, weights: Array, s: int, e: int, shared: Shared) -> Node:
    """Centre the rows of a node."""
    Y, whole, _, _, leaf = shared
    n, differ = _centre_node(target, weights, s, e, Y, whole[0])
    return differ, n, _TIE * n, _node_log_likelihood(n, whole[0], *leaf), 0.0, 1


@compilation.compile_for_callers
def _centre_node(
    target: Array, weights: Array, s: int, e: int, Y: Array, squares: Array
) -> tuple[float, bool]:
    """Write rows less their mean, and their squares; return their weight, and whether they differ.

    Sums of squares about any other centre would lose what is small beside the mean.
    """
    n, differ = 0.0, False
    for o in range(target.shape[1]):
        n, mean, squares[o] = 0.0, 0.0, 0.0
        for i in range(s, e):
            n += weights[i]
            mean += weights[i] * target[i, o]
            differ |= target[i, o] != target[s, o]
        mean /= n
        for i in range(s, e):
            Y[i, o] = target[i, o] - mean
            squares[o] += weights[i] * Y[i, o] ** 2
    return n, differ


@compilation.compile_for_callers
def _log_likelihood(n: float, SS: float, variance: float, prior: float) -> float:
    """Return the log-likelihood of rows of weight n, up to a constant of any split.

    An infinite prior holds variances in common; an infinite variance leaves an output out.
    """
    if n <= 0.0 or variance == np.inf:
        return 0.0
    if prior == np.inf:
        return -SS / (2.0 * variance)
    v = (SS / variance + prior) / (n + prior)
    return -0.5 * (n * math.log(v) + SS / (v * variance))


@compilation.compile_for_callers
def _node_log_likelihood(n: float, whole: Array, variance: Array, prior: float) -> float:
    """Return the log-likelihood of a node of these squares (K,)."""
    value = 0.0
    for o in range(len(whole)):
        value += _log_likelihood(n, whole[o], variance[o], prior)
    return value


@compilation.compile_for_callers
def _sides_log_likelihood(
    a: int,
    n_left: float,
    n_right: float,
    sums: Array,
    squares: Array,
    whole: Array,
    variance: Array,
    prior: float,
) -> float:
    """Log-likelihood of node a in two parts.

    The sums and squares of the left one are given, and the squares of the whole node, whose sums
    are zero.
    """
    value = 0.0
    for o in range(len(variance)):
        s2, q = sums[a, o] ** 2, squares[a, o]
        SS_left = max(q - s2 / n_left, 0.0)
        SS_right = max(whole[a, o] - q - s2 / n_right, 0.0)
        value += _log_likelihood(n_left, SS_left, variance[o], prior)
        value += _log_likelihood(n_right, SS_right, variance[o], prior)
    return value


@compilation.compile_for_callers
def find_cut(rows: Rows, node: Node, shared: Shared, k: int, lo: int, hi: int) -> tuple[float, int]:
    """Log-likelihood and code of the best cut of a candidate."""
    codes, weights, s, e, order, least = rows
    _, n, tie, _, _, _ = node
    Y, whole, sums, squares, leaf = shared
    variance, prior = leaf
    split_search.sort_rows(codes, k, s, e, lo, hi, order)
    best, code, n_left, first = -np.inf, 0, 0.0, np.uint64(s)
    sums[:] = 0.0
    squares[:] = 0.0
    for j in range(e - s - 1):
        i = first + order[j]
        n_left += weights[i]
        for o in range(Y.shape[1]):
            sums[0, o] += weights[i] * Y[i, o]
            squares[0, o] += weights[i] * Y[i, o] ** 2
        is_cut = codes[k, i] != codes[k, first + order[j + 1]]
        if is_cut & (n_left >= least) & (n - n_left >= least):
            value = _sides_log_likelihood(
                0, n_left, n - n_left, sums, squares, whole, variance, prior
            )
            if value > best + tie:
                best, code = value, codes[k, i]
    return best, code


@compilation.compile_for_callers
def enter_level(
    target: Array, weights: Array, start: NDArray[np.int64], parameters: Leaf
) -> tuple[bool, float, Array, Level]:
    """Centre the rows of all nodes."""
    A, differ = len(start) - 1, False
    Y, whole = np.empty_like(target), np.empty((A, target.shape[1]))
    n, values = np.empty(A), np.empty(A)
    for a in range(A):
        n[a], differs = _centre_node(target, weights, start[a], start[a + 1], Y, whole[a])
        differ |= differs
        values[a] = _node_log_likelihood(n[a], whole[a], *parameters)
    return differ, _TIE * np.sum(n), n, (n, Y, whole, values, parameters)


@compilation.compile_for_callers
def find_level_cut(rows: LevelRows, shared: Level) -> tuple[float, int]:
    """Gain and code of the best cut of a candidate."""
    codes, weights, order, node, total, least, tie = rows
    n, Y, whole, before, leaf = shared
    variance, prior = leaf
    n_left, values = np.zeros(len(n)), before.copy()
    sums, squares = np.zeros_like(whole), np.zeros_like(whole)
    best, code, all_left, gain = -np.inf, 0, 0.0, 0.0
    for j in range(len(node) - 1):
        i = order[j]
        a, w = node[i], weights[i]
        n_left[a] += w
        all_left += w
        for o in range(Y.shape[1]):
            sums[a, o] += w * Y[i, o]
            squares[a, o] += w * Y[i, o] ** 2
        value = _sides_log_likelihood(
            a, n_left[a], n[a] - n_left[a], sums, squares, whole, variance, prior
        )
        gain += value - values[a]
        values[a] = value
        is_cut = codes[i] != codes[order[j + 1]]
        is_fair = (all_left >= least) & (total - all_left >= least)
        if is_cut & is_fair & (gain > best + tie):
            best, code = gain, codes[i]
    return best, code


split_nodes = split_search.compile_node_search(reserve, enter_node, find_cut)
split_level = split_search.compile_level_search(enter_level, find_level_cut)


@dataclass(frozen=True)
class NormalCriterion:
    """Splits by the log-likelihood of normal leaves.

    Parameters
    ----------
    own_variance : bool
        Whether each leaf has a variance of its own, so that splits also part rows that spread
        little from rows that spread much. Where all rows spread alike this costs a little.
    prior_weight : float
        Rows of the variance of the root that each such leaf has beside its own; more than zero.

    Examples
    --------
    >>> import numpy as np
    >>> target, weights = np.array([[1.0], [1.5], [8.0]]), np.ones(3)
    >>> codes = np.array([[1, 2, 5]], dtype=np.uint8)
    >>> search = NormalCriterion().start_search(target, weights)
    >>> search.split_nodes(codes, target, weights, np.array([0, 3]), 1.0).code
    array([2], dtype=int32)
    """

    own_variance: bool = True
    prior_weight: float = 1.0

    def start_search(self, target: NDArray[Any], weights: Array) -> SplitSearch:
        """The search for splits of a tree or fern of these rows."""
        mean = np.average(target, axis=0, weights=weights)
        variance = np.average((target - mean) ** 2, axis=0, weights=weights)
        is_constant = np.ptp(target, axis=0) == 0.0  # what is left of its squares is rounding
        prior = self.prior_weight if self.own_variance else np.inf
        # Infinite for an output that is constant, and for the prior where all leaves have the same.
        return SplitSearch(
            split_nodes, split_level, (np.where(is_constant, np.inf, variance), prior)
        )
