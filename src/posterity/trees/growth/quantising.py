"""Codes for answers that are numbers, and the thresholds that codes stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array
from posterity.trees.families.family import Family, Tests

_SAMPLE = 64  # answers from which the cuts of a node are taken
_MISSING = 255


def encode_answers(
    answers: NDArray[Any], weights: Array, start: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.uint8]:
    """Codes (K, m) that grow with the answers of each node; 255 where an answer is missing.

    Answers that are codes stay as they are. Otherwise different answers have different codes, in a
    node that has no more than 64 of them; else cuts lie at the answers of 64 of its rows, evenly
    spaced by weight.
    """
    if answers.dtype == np.uint8:
        return answers
    return _encode_nodes(answers, weights, start, rng.random(len(start) - 1))


@compilation.compile_at_first_call
def _encode_nodes(
    answers: Array, weights: Array, start: NDArray[np.int64], offsets: Array
) -> NDArray[np.uint8]:
    codes = np.empty(answers.shape, dtype=np.uint8)
    chosen, cuts, every = np.empty(_SAMPLE, dtype=np.int64), np.empty(_SAMPLE), np.empty(_SAMPLE)
    for a in range(len(start) - 1):
        s, e = start[a], start[a + 1]
        if e - s > _SAMPLE:
            _choose_rows(weights, s, e, offsets[a], chosen)
        for k in range(len(answers)):
            if e - s <= _SAMPLE:
                _rank_rows(answers, k, s, e, codes)
            elif not _sort_cuts(answers, k, chosen, cuts) and _are_few(answers, k, s, e, every):
                _encode(answers, k, s, e, every, codes)
            else:
                _encode(answers, k, s, e, cuts, codes)
    return codes


@compilation.compile_for_callers
def _rank_rows(answers: Array, k: int, s: int, e: int, codes: NDArray[np.uint8]) -> None:
    """Set codes to how many rows of the node have a smaller answer."""
    for i in range(np.uint64(s), np.uint64(e)):
        x, rank = answers[k, i], 0
        for j in range(np.uint64(s), np.uint64(e)):
            rank += answers[k, j] < x
        codes[k, i] = _MISSING if np.isnan(x) else rank


@compilation.compile_for_callers
def _choose_rows(weights: Array, s: int, e: int, offset: float, chosen: NDArray[np.int64]) -> None:
    """Choose rows evenly spaced by weight; the last ones again where rounding leaves some over."""
    step = np.sum(weights[s:e]) / _SAMPLE
    passed, n = 0.0, 0
    chosen[:] = e - 1
    for i in range(s, e):
        passed += weights[i]
        while n < _SAMPLE and (n + offset) * step < passed:
            chosen[n] = i
            n += 1


@compilation.compile_for_callers
def _sort_cuts(answers: Array, k: int, chosen: NDArray[np.int64], cuts: Array) -> bool:
    """Sort the answers of the chosen rows; whether they all differ, and none is missing.

    The last entry is not a cut, but marks the end of the search.
    """
    cuts[:] = np.inf
    n, differ = 0, True
    for i in chosen:
        if np.isnan(answers[k, i]):
            continue
        j = n
        while j > 0 and cuts[j - 1] > answers[k, i]:
            cuts[j] = cuts[j - 1]
            j -= 1
        cuts[j] = answers[k, i]
        differ &= j == 0 or cuts[j - 1] < cuts[j]
        n += 1
    return differ and n == _SAMPLE


@compilation.compile_for_callers
def _are_few(answers: Array, k: int, s: int, e: int, every: Array) -> bool:
    """Whether a node has no more different answers than cuts, which are then all of them."""
    every[:] = np.inf
    n = 0
    for i in range(s, e):
        x = answers[k, i]
        at = _count_below(every, x)
        if np.isnan(x) or (at < n and every[at] == x):
            continue
        if n == _SAMPLE:
            return False
        for j in range(n, at, -1):
            every[j] = every[j - 1]
        every[at] = x
        n += 1
    return True


@compilation.compile_for_callers
def _encode(answers: Array, k: int, s: int, e: int, cuts: Array, codes: NDArray[np.uint8]) -> None:
    for i in range(np.uint64(s), np.uint64(e)):
        x = answers[k, i]
        codes[k, i] = _MISSING if np.isnan(x) else _count_below(cuts, x)


@compilation.compile_for_callers
def _count_below(cuts: Array, x: float) -> int:
    """Number of cuts, all but the last, below an answer."""
    at, step = np.uint64(0), np.uint64(_SAMPLE)
    while step > 1:
        step >>= np.uint64(1)
        at += step * np.uint64(cuts[at + step - np.uint64(1)] < x)
    return int(at)


def margins(
    answers: NDArray[Any],
    codes: NDArray[np.uint8],
    start: NDArray[np.int64],
    test: NDArray[np.int32],
    code: NDArray[np.int32],
) -> Array:
    """The largest answer that goes left and the least that goes right, by node that splits, (n, 2).

    The second is NaN where all that go right are missing.
    """
    found = np.empty((int(np.sum(test >= 0)), 2))
    if answers.dtype == np.uint8:
        _code_margins(codes, start, test, code, found)
    else:
        _answer_margins(answers, codes, start, test, code, found)
    return found


@compilation.compile_at_first_call
def _code_margins(
    codes: NDArray[np.uint8],
    start: NDArray[np.int64],
    test: NDArray[np.int32],
    code: NDArray[np.int32],
    found: Array,
) -> None:
    """Margins of codes, many of which are compared at once.

    Counted from the first code on the right, and modulo 256, those on the left are the largest.
    """
    n = 0
    for a in range(len(test)):
        if test[a] < 0:
            continue
        k, first = test[a], code[a] + 1
        lo = hi = np.uint8(codes[k, start[a]] - first)
        for i in range(np.uint64(start[a]), np.uint64(start[a + 1])):
            x = np.uint8(codes[k, i] - first)
            lo, hi = min(lo, x), max(hi, x)
        above = first + int(lo)
        found[n, 0], found[n, 1] = first + int(hi) - 256, above if above < _MISSING else np.nan
        n += 1


@compilation.compile_at_first_call
def _answer_margins(
    answers: Array,
    codes: NDArray[np.uint8],
    start: NDArray[np.int64],
    test: NDArray[np.int32],
    code: NDArray[np.int32],
    found: Array,
) -> None:
    """Margins of answers of which codes only say in which order they come."""
    n = 0
    for a in range(len(test)):
        k = test[a]
        if k < 0:
            continue
        below, above = -np.inf, np.inf
        numbers = 0
        for i in range(start[a], start[a + 1]):
            x = np.float64(answers[k, i])
            if codes[k, i] <= code[a]:
                below = max(below, x)
            elif codes[k, i] < _MISSING:
                above = min(above, x)
                numbers += 1
        found[n, 0], found[n, 1] = below, above if numbers > 0 else np.nan
        n += 1


def thresholds(of: Family, tests: Tests, between: Array, *, is_coded: bool) -> Array:
    """Half way between the answers on both sides, of n tests; +inf against missing answers."""
    return _thresholds_of_codes(of, tests, between) if is_coded else _thresholds_of_answers(between)


def _thresholds_of_codes(of: Family, tests: Tests, between: Array) -> Array:
    distinct, which = _find_distinct_tests(tests)
    cuts = of.cuts(distinct)
    if cuts is None:
        raise TypeError(f"{type(of).__name__} answers with codes, but its cuts are None.")
    is_number = ~np.isnan(between[:, 1])
    middle = (np.sum(between[is_number], axis=1).astype(np.int64) - 1) // 2
    values = np.full(len(tests), np.inf)
    values[is_number] = cuts[which[is_number], middle]
    return values


def _find_distinct_tests(tests: Tests) -> tuple[Tests, NDArray[np.intp]]:
    """So that cuts are asked for once for each test, however many nodes have it."""
    if tests.shape[1] == 1:  # many times faster than to compare lines
        values, places = np.unique(tests[:, 0], return_inverse=True)
        return values[:, None], places
    lines, places = np.unique(tests, axis=0, return_inverse=True)
    return lines, places.reshape(-1)


def _thresholds_of_answers(between: Array) -> Array:
    below, above = between.T
    with np.errstate(invalid="ignore"):  # of -inf and +inf
        middle = 0.5 * below + 0.5 * above
    inside = (below <= middle) & (middle < above)  # rounding can leave no number in between
    return np.where(np.isnan(above), np.inf, np.where(inside, middle, below))
