"""The compiled search for the split of each node that tells most about its classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array
from posterity.trees.growth import terms
from posterity.trees.growth.partition import CLOSED, NONE
from posterity.trees.growth.terms import ALL, ONE, look_up_term

_DENSE = 2  # cells of a histogram that a row is worth
_NO_LABEL = 0xFFFFFFFF  # larger than any
_TIE = 1e-12  # of the term of all rows: gains that differ by less differ by rounding


@compilation.compile_at_first_call
def split_nodes(
    codes: NDArray[np.uint8],
    target: NDArray[np.int32],
    weights: Array,
    start: NDArray[np.int64],
    n_classes: int,
    table: Array,
    min_samples_leaf: float,
) -> tuple[NDArray[np.int32], NDArray[np.int32], Array, NDArray[np.bool_]]:
    """The fields of Splits. What is of the size of C is made once, and cleared by what was used."""
    A = len(start) - 1
    test, code = np.full(A, CLOSED, dtype=np.int32), np.zeros(A, dtype=np.int32)
    gain, is_open = np.zeros(A), np.zeros((A, 2), dtype=np.bool_)
    widest = terms.largest_node(start)
    name = np.full(n_classes, -1, dtype=np.int32)
    label, work = np.empty(widest, dtype=np.uint32), np.empty(2 * widest + 257, dtype=np.uint32)
    counts, cells = np.empty((4, n_classes)), np.empty(_DENSE * widest)
    for a in range(A):
        s, e = start[a], start[a + 1]
        C = number_classes(target, weights, s, e, name, label, counts[0])
        n = 0.0
        for c in range(C):
            n += counts[0, c]
        if C <= 1 or n < 2.0 * min_samples_leaf:
            continue
        test[a], code[a], gain[a] = _find_best_split(
            codes, weights, s, e, label, C, n, counts, work, cells, table, min_samples_leaf
        )
        if test[a] >= 0:
            _look_ahead(
                codes, test[a], code[a], s, e, label, weights, 2.0 * min_samples_leaf, is_open[a]
            )
    return test, code, gain, is_open


@compilation.compile_at_first_call
def number_classes(
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
        c = name[target[i]]
        if c < 0:
            c = name[target[i]] = C
            total[c] = 0.0
            C += 1
        label[i - first] = c
        total[c] += weights[i]
    to_clear = C
    for i in range(first, np.uint64(e)):
        if to_clear == 0:
            break
        to_clear -= name[target[i]] >= 0
        name[target[i]] = -1
    return C


@compilation.compile_at_first_call
def _find_best_split(
    codes: NDArray[np.uint8],
    weights: Array,
    s: int,
    e: int,
    label: NDArray[np.uint32],
    C: int,
    n: float,
    counts: Array,
    work: NDArray[np.uint32],
    cells: Array,
    table: Array,
    min_samples_leaf: float,
) -> tuple[int, int, float]:
    """Candidate, code and gain of the best split of rows s to e - 1."""
    base = 0.0
    for c in range(C):
        base += look_up_term(counts[0, c], ONE, table)
    tie = _TIE * abs(look_up_term(n + 1.0, ALL, table))
    best, test, code = -np.inf, NONE, 0
    for k in range(len(codes)):
        lo, hi = terms.code_range(codes, k, s, e)
        if lo == hi:
            continue
        if hi - lo == 1:
            value, c = _cut_two_codes(
                codes, k, s, e, hi, label, weights, C, n, counts, table, min_samples_leaf
            )
        elif (hi - lo + 1) * C <= _DENSE * (e - s):
            value, c = _cut_by_bins(
                codes,
                k,
                s,
                e,
                lo,
                hi,
                label,
                weights,
                C,
                n,
                counts,
                cells,
                table,
                min_samples_leaf,
                tie,
            )
        else:
            terms.sort_rows(codes, k, s, e, lo, hi, work)
            value, c = _cut_by_rows(
                codes,
                k,
                s,
                e,
                work,
                label,
                weights,
                C,
                n,
                base,
                counts,
                table,
                min_samples_leaf,
                tie,
            )
        if value > best + tie:
            best, test, code = value, k, c
    return test, code, best - base + look_up_term(n, ALL, table)


@compilation.compile_at_first_call
def _cut_two_codes(
    codes: NDArray[np.uint8],
    k: int,
    s: int,
    e: int,
    hi: int,
    label: NDArray[np.uint32],
    weights: Array,
    C: int,
    n: float,
    counts: Array,
    table: Array,
    min_samples_leaf: float,
) -> tuple[float, int]:
    """Log-likelihood and code of the one cut between two codes.

    Rows of the upper one are added up: mostly they are few, or else most, and so foreseen.
    """
    for c in range(C):
        counts[1, c] = 0.0
    first = np.uint64(s)
    for i in range(first, np.uint64(e)):
        if codes[k, i] == hi:
            counts[1, label[i - first]] += weights[i]
    n_right, value = 0.0, 0.0
    for c in range(C):
        n_right += counts[1, c]
        value += look_up_term(counts[0, c] - counts[1, c], ONE, table) + look_up_term(
            counts[1, c], ONE, table
        )
    if n_right < min_samples_leaf or n - n_right < min_samples_leaf:
        return -np.inf, 0
    return value - (
        look_up_term(n - n_right, ALL, table) + look_up_term(n_right, ALL, table)
    ), hi - 1


@compilation.compile_at_first_call
def _cut_by_bins(
    codes: NDArray[np.uint8],
    k: int,
    s: int,
    e: int,
    lo: int,
    hi: int,
    label: NDArray[np.uint32],
    weights: Array,
    C: int,
    n: float,
    counts: Array,
    cells: Array,
    table: Array,
    min_samples_leaf: float,
    tie: float,
) -> tuple[float, int]:
    """Log-likelihood and code of the best cut, from a histogram of codes and classes."""
    _fill_histogram(codes, k, s, e, lo, hi, label, weights, C, cells)
    for c in range(C):
        counts[1, c] = 0.0
    best, code, n_left = -np.inf, 0, 0.0
    for b in range(hi - lo):
        n_here, value = 0.0, 0.0
        for c in range(C):
            n_here += cells[b * C + c]
            counts[1, c] += cells[b * C + c]
        n_left += n_here
        if n_here == 0.0 or n_left < min_samples_leaf or n - n_left < min_samples_leaf:
            continue
        for c in range(C):
            value += look_up_term(counts[1, c], ONE, table) + look_up_term(
                counts[0, c] - counts[1, c], ONE, table
            )
        value -= look_up_term(n_left, ALL, table) + look_up_term(n - n_left, ALL, table)
        if value > best + tie:
            best, code = value, b + lo
    return best, code


@compilation.compile_at_first_call
def _fill_histogram(
    codes: NDArray[np.uint8],
    k: int,
    s: int,
    e: int,
    lo: int,
    hi: int,
    label: NDArray[np.uint32],
    weights: Array,
    C: int,
    cells: Array,
) -> None:
    """The histogram, in lines of C. Numbers without a sign need no look for a negative place."""
    for h in range((hi - lo + 1) * C):
        cells[h] = 0.0
    first, least, width = np.uint64(s), np.uint64(lo), np.uint64(C)
    for i in range(first, np.uint64(e)):
        cells[(codes[k, i] - least) * width + label[i - first]] += weights[i]


@compilation.compile_at_first_call
def _cut_by_rows(
    codes: NDArray[np.uint8],
    k: int,
    s: int,
    e: int,
    order: NDArray[np.uint32],
    label: NDArray[np.uint32],
    weights: Array,
    C: int,
    n: float,
    base: float,
    counts: Array,
    table: Array,
    min_samples_leaf: float,
    tie: float,
) -> tuple[float, int]:
    """The same from rows in the order of their codes, each of which changes one class."""
    for c in range(C):
        counts[1, c], counts[2, c] = 0.0, 0.0
        counts[3, c] = look_up_term(counts[0, c], ONE, table)
    first, value = np.uint64(s), base
    best, code, n_left = -np.inf, 0, 0.0
    for j in range(e - s - 1):
        c, w = label[order[j]], weights[first + order[j]]
        left = counts[1, c] + w
        to_left, to_right = (
            look_up_term(left, ONE, table),
            look_up_term(counts[0, c] - left, ONE, table),
        )
        value += (to_left - counts[2, c]) + (to_right - counts[3, c])
        counts[1, c], counts[2, c], counts[3, c] = left, to_left, to_right
        n_left += w
        here = codes[k, first + order[j]]
        split = value - look_up_term(n_left, ALL, table) - look_up_term(n - n_left, ALL, table)
        # One branch: to foresee several costs more than to compute what is not needed.
        is_cut = here != codes[k, first + order[j + 1]]
        if (
            is_cut
            & (n_left >= min_samples_leaf)
            & (n - n_left >= min_samples_leaf)
            & (split > best + tie)
        ):
            best, code = split, here
    return best, code


@compilation.compile_at_first_call
def _look_ahead(
    codes: NDArray[np.uint8],
    k: int,
    code: int,
    s: int,
    e: int,
    label: NDArray[np.uint32],
    weights: Array,
    least: float,
    is_open: NDArray[np.bool_],
) -> None:
    """Whether each side holds more than one class, and enough for two leaves.

    All is computed for both sides and then chosen from: which side a row is on cannot be foreseen.
    """
    first, none = np.uint64(s), np.uint32(_NO_LABEL)
    n_left = n_right = 0.0
    low_left = low_right = none
    top_left = top_right = np.uint32(0)
    for i in range(first, np.uint64(e)):
        is_left, c, w = codes[k, i] <= code, label[i - first], weights[i]
        n_left += w if is_left else 0.0
        n_right += 0.0 if is_left else w
        low_left = min(low_left, c if is_left else none)
        low_right = min(low_right, none if is_left else c)
        top_left = max(top_left, c if is_left else np.uint32(0))
        top_right = max(top_right, np.uint32(0) if is_left else c)
    is_open[0] = low_left != top_left and n_left >= least
    is_open[1] = low_right != top_right and n_right >= least
