"""Compiled pieces that searches share: the order of codes, and terms of log-likelihoods.

Of n_c rows in class c and n in all, sum_c f(n_c) - F(n) is the log-likelihood of the classes. With
probabilities of maximum likelihood both are n log n. With a symmetric Dirichlet prior worth s rows
of C classes, integrated out, they are log G(n + a) - log G(a), where a is s / C, and for F is s.
Of normal leaves it is made of weights, sums, and sums of squares.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from posterity import compilation
from posterity.arrays import Array

_FEW = 48  # rows that are all compared with each other


@compilation.compile_at_first_call
def largest_node(start: NDArray[np.int64]) -> int:
    """Rows of the largest node."""
    most = 0
    for a in range(len(start) - 1):
        most = max(most, start[a + 1] - start[a])
    return most


@compilation.compile_at_first_call
def code_range(codes: NDArray[np.uint8], k: int, s: int, e: int) -> tuple[int, int]:
    """The least and the largest code of rows s to e - 1."""
    lo = hi = codes[k, s]
    for i in range(np.uint64(s), np.uint64(e)):
        lo = min(lo, codes[k, i])
        hi = max(hi, codes[k, i])
    return int(lo), int(hi)


@compilation.compile_at_first_call
def sort_rows(
    codes: NDArray[np.uint8], k: int, s: int, e: int, lo: int, hi: int, work: NDArray[np.uint32]
) -> None:
    """Set the first numbers of work to the rows, counted from s, in the order of their codes.

    Codes are from lo to hi, and work has room for 257 numbers beside two for each row.
    """
    n = e - s
    if n > _FEW:
        _sort_by_counting(codes, k, s, e, lo, hi, work)
        return
    for i in range(n):
        work[n + i] = (np.uint32(codes[k, s + i]) << 8) + i
    for i in range(n):
        rank = np.uint32(0)
        for j in range(n):  # faster than to compare fewer: nothing to foresee, many at once
            rank += work[n + j] < work[n + i]
        work[rank] = i


@compilation.compile_at_first_call
def _sort_by_counting(
    codes: NDArray[np.uint8], k: int, s: int, e: int, lo: int, hi: int, work: NDArray[np.uint32]
) -> None:
    c = e - s  # where the counts begin
    for b in range(hi - lo + 2):
        work[c + b] = 0
    for i in range(s, e):
        work[c + codes[k, i] - lo + 1] += 1
    for b in range(hi - lo + 1):
        work[c + b + 1] += work[c + b]
    for i in range(s, e):
        b = c + codes[k, i] - lo
        work[work[b]] = i - s
        work[b] += 1


ONE, ALL = 0, 1
"""Lines of the table: of one class, and of all together."""
_LONGEST = 1 << 16  # what stays near the processor


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


@compilation.compile_at_first_call
def look_up_term(n: float, line: int, table: Array) -> float:
    """Looked up where it can be."""
    if n + 2.0 <= table.shape[1]:  # rounding may make what is left of a weight less than nothing
        return table[line, int(n) + 1]
    if table[line, 0] > 0.0:
        return math.lgamma(n + table[line, 0]) - math.lgamma(table[line, 0])
    return n * math.log(n) if n > 0.0 else 0.0


@compilation.compile_at_first_call
def centre_nodes(
    target: Array, weights: Array, start: NDArray[np.int64]
) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
    """Rows less the mean of their node; by node, its weight, squares, and whether its rows differ.

    Sums of squares about any other centre would lose what is small beside the mean.
    """
    A, K = len(start) - 1, target.shape[1]
    Y, n, squares = np.empty_like(target), np.zeros(A), np.zeros((A, K))
    differ = np.zeros(A, dtype=np.bool_)
    for a in range(A):
        for o in range(K):
            n[a], mean = 0.0, 0.0
            for i in range(start[a], start[a + 1]):
                n[a] += weights[i]
                mean += weights[i] * target[i, o]
                differ[a] |= target[i, o] != target[start[a], o]
            mean /= n[a]
            for i in range(start[a], start[a + 1]):
                Y[i, o] = target[i, o] - mean
                squares[a, o] += weights[i] * Y[i, o] ** 2
    return Y, n, squares, differ


@compilation.compile_at_first_call
def log_likelihood(n: float, SS: float, variance: float, prior: float) -> float:
    """Return the log-likelihood of rows of weight n, up to a constant of any split.

    An infinite prior holds variances in common; an infinite variance leaves an output out.
    """
    if n <= 0.0 or variance == np.inf:
        return 0.0
    if prior == np.inf:
        return -SS / (2.0 * variance)
    v = (SS / variance + prior) / (n + prior)
    return -0.5 * (n * math.log(v) + SS / (v * variance))


@compilation.compile_at_first_call
def sides_log_likelihood(
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
        value += log_likelihood(n_left, SS_left, variance[o], prior)
        value += log_likelihood(n_right, SS_right, variance[o], prior)
    return value


@compilation.compile_at_first_call
def nodes_log_likelihood(n: Array, whole: Array, variance: Array, prior: float) -> Array:
    """Log-likelihood of each node, (A,)."""
    values = np.zeros(len(n))
    for a in range(len(n)):
        for o in range(len(variance)):
            values[a] += log_likelihood(n[a], whole[a, o], variance[o], prior)
    return values
