"""The compiled search for the split of each node that tells most about its numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array
from posterity.trees.growth import terms
from posterity.trees.growth.partition import CLOSED, NONE

_TIE = 1e-10  # of a nat for each row: gains that differ by less differ by rounding


@compilation.compile_at_first_call
def split_nodes(
    codes: NDArray[np.uint8],
    target: Array,
    weights: Array,
    start: NDArray[np.int64],
    variance: Array,
    prior: float,
    min_samples_leaf: float,
) -> tuple[NDArray[np.int32], NDArray[np.int32], Array, NDArray[np.bool_]]:
    """The fields of Splits."""
    A = len(start) - 1
    test, code = np.full(A, CLOSED, dtype=np.int32), np.zeros(A, dtype=np.int32)
    gain, is_open = np.zeros(A), np.zeros((A, 2), dtype=np.bool_)
    work = np.empty(2 * terms.largest_node(start) + 257, dtype=np.uint32)
    Y, n, whole, differ = terms.centre_nodes(target, weights, start)
    base = terms.nodes_log_likelihood(n, whole, variance, prior)
    sums, squares = np.empty((1, target.shape[1])), np.empty((1, target.shape[1]))
    for a in range(A):
        if not differ[a] or n[a] < 2.0 * min_samples_leaf:
            continue
        s, e = start[a], start[a + 1]
        test[a], code[a], best = _find_best_split(
            codes,
            Y,
            weights,
            s,
            e,
            n[a],
            whole[a : a + 1],
            sums,
            squares,
            work,
            variance,
            prior,
            min_samples_leaf,
        )
        if test[a] >= 0:
            gain[a] = best - base[a]
            for side in range(2):
                is_open[a, side] = _is_open(
                    codes, test[a], code[a], side, s, e, target, weights, 2.0 * min_samples_leaf
                )
    return test, code, gain, is_open


@compilation.compile_at_first_call
def _find_best_split(
    codes: NDArray[np.uint8],
    Y: Array,
    weights: Array,
    s: int,
    e: int,
    n: float,
    whole: Array,
    sums: Array,
    squares: Array,
    work: NDArray[np.uint32],
    variance: Array,
    prior: float,
    min_samples_leaf: float,
) -> tuple[int, int, float]:
    """Candidate, code and log-likelihood of the best split of rows s to e - 1."""
    best, test, code = -np.inf, NONE, 0
    for k in range(len(codes)):
        lo, hi = terms.code_range(codes, k, s, e)
        if lo == hi:
            continue
        terms.sort_rows(codes, k, s, e, lo, hi, work)
        value, c = _best_cut(
            codes,
            k,
            s,
            e,
            work,
            Y,
            weights,
            n,
            whole,
            sums,
            squares,
            variance,
            prior,
            min_samples_leaf,
        )
        if value > best + _TIE * n:
            best, test, code = value, k, c
    return test, code, best


@compilation.compile_at_first_call
def _best_cut(
    codes: NDArray[np.uint8],
    k: int,
    s: int,
    e: int,
    order: NDArray[np.uint32],
    Y: Array,
    weights: Array,
    n: float,
    whole: Array,
    sums: Array,
    squares: Array,
    variance: Array,
    prior: float,
    min_samples_leaf: float,
) -> tuple[float, int]:
    """Log-likelihood and code of the best cut of one candidate."""
    best, code, n_left, first = -np.inf, 0, 0.0, np.uint64(s)
    sums[:] = 0.0
    squares[:] = 0.0
    for j in range(e - s - 1):
        i = first + order[j]
        n_left += weights[i]
        for o in range(len(variance)):
            sums[0, o] += weights[i] * Y[i, o]
            squares[0, o] += weights[i] * Y[i, o] ** 2
        is_cut = codes[k, i] != codes[k, first + order[j + 1]]
        if is_cut & (n_left >= min_samples_leaf) & (n - n_left >= min_samples_leaf):
            value = terms.sides_log_likelihood(
                0, n_left, n - n_left, sums, squares, whole, variance, prior
            )
            if value > best + _TIE * n:
                best, code = value, codes[k, i]
    return best, code


@compilation.compile_at_first_call
def _is_open(
    codes: NDArray[np.uint8],
    k: int,
    code: int,
    side: int,
    s: int,
    e: int,
    target: Array,
    weights: Array,
    least: float,
) -> bool:
    """Whether the rows of one side differ, and are enough for two leaves."""
    n, first, differ = 0.0, -1, False
    for i in range(s, e):
        if (codes[k, i] > code) == (side == 1):
            n += weights[i]
            first = i if first < 0 else first
            for o in range(target.shape[1]):
                differ |= target[i, o] != target[first, o]
    return differ and n >= least
