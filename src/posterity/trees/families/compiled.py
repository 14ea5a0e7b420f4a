"""Compiled loops around the answer of a row to a test: over many tests, and down trees.

Many rows go down at once, each on its own lane: while one waits for its node to arrive from
memory, the others step. A lane that has come to a leaf takes the next row, or the next tree.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array

Answer: TypeAlias = Callable[..., Any]
"""``answer(rows, place, test)``: what ``rows[place]`` answers to one test, (P,)."""

LANES = 32


def respond(
    answer: Answer, rows: Any, places: NDArray[Any], tests: NDArray[Any], which: NDArray[Any]
) -> Array:
    """Answers (K, m) of rows to the tests of their nodes; see ``Family.respond``.

    Examples
    --------
    >>> def product(rows, place, test):
    ...     return test[0] * rows[place]
    >>> tests, rows = np.array([[[1.0], [2.0]]]), np.arange(4.0)
    >>> places, which = np.array([1, 3]), np.array([0, 0])
    >>> respond(product, rows, places, tests, which)
    array([[1., 3.],
           [2., 6.]])
    """
    answers = np.empty((tests.shape[1], len(places)))
    _call(_compile_responses, answer, rows, places, tests, which, answers)
    return answers


def descend(
    answer: Answer,
    rows: Any,
    places: NDArray[Any],
    nodes: tuple[NDArray[Any], NDArray[Any], Array, NDArray[Any]],
    found: NDArray[np.int32],
) -> None:
    """Write leaves of rows in trees, (T, n), except where ``found`` is negative.

    Nodes are roots, tests, thresholds and children of :class:`posterity.trees.structure.Trees`.
    """
    _call(_compile_descent, answer, rows, places, *nodes, found)


def _call(compile_loop: Callable[[Answer], Any], answer: Answer, *arguments: Any) -> None:
    import numba

    try:
        compile_loop(answer)(*arguments)
    except numba.core.errors.NumbaError as error:
        raise TypeError(
            f"numba cannot compile {answer!r} for these rows and tests. Write it in what numba "
            "knows, or for many rows at once in NumPy, with vectorised=True."
        ) from error


@lru_cache(maxsize=64)
def _compile_responses(answer: Answer) -> Callable[..., None]:
    """A loop over rows and tests around the answer."""
    said, stamp = _compile_answer(answer)

    @compilation.compile_at_first_call(cache=stamp >= 0)
    def respond(rows: Any, places: Any, tests: Any, which: Any, answers: Any) -> None:
        if stamp < -1:  # never: numba keeps code by what a function refers to
            return
        for i in range(len(places)):
            place, asked = places[i], tests[which[i]]
            for k in range(len(asked)):
                answers[k, i] = said(rows, place, asked[k])

    return respond


@lru_cache(maxsize=64)
def _compile_descent(answer: Answer) -> Callable[..., None]:
    """A loop over trees and rows, and down to a leaf, around the answer."""
    said, stamp = _compile_answer(answer)

    @compilation.compile_at_first_call(cache=stamp >= 0)
    def descend(
        rows: Any, places: Any, roots: Any, tests: Any, thresholds: Any, children: Any, found: Any
    ) -> None:
        if stamp < -1:  # never: numba keeps code by what a function refers to
            return
        n, leaves = len(places), found.reshape(-1)
        node, pair = np.full(LANES, -1, dtype=np.int32), np.full(LANES, -1, dtype=np.int64)
        place = np.zeros(LANES, dtype=np.int64)
        upcoming, busy = next_pair(leaves, 0), True
        while busy:
            busy = False
            for lane in range(LANES):
                here = node[lane]
                if here >= 0:
                    i = np.uint64(here)  # signed, every index would be asked for its sign
                    # A comparison with NaN is false: a row without an answer goes right.
                    is_right = not said(rows, place[lane], tests[i]) <= thresholds[i]
                    node[lane] = children[i, np.uint64(is_right)]
                    busy = True
                    continue
                if pair[lane] >= 0:
                    leaves[pair[lane]] = ~here
                pair[lane] = -1
                if upcoming < len(leaves):
                    pair[lane], place[lane] = upcoming, places[upcoming % n]
                    node[lane] = roots[upcoming // n]
                    upcoming, busy = next_pair(leaves, upcoming + 1), True

    return descend


@compilation.compile_at_first_call
def next_pair(leaves: NDArray[np.int32], pair: int) -> int:
    """The first pair of a tree and a row, from this one on, whose leaf is asked for."""
    while pair < len(leaves) and leaves[pair] < 0:
        pair += 1
    return pair


def _compile_answer(answer: Answer) -> tuple[Any, int]:
    """The compiled answer, and a number that changes with its source, of which numba knows nothing
    where it keeps the loops on disk; -1: they are not kept, since the answer has no lasting name.
    """
    import numba

    if not compilation.is_compiled(answer):
        return answer if numba.extending.is_jitted(answer) else numba.njit(answer), -1
    try:
        source = os.stat(answer.py_func.__code__.co_filename)  # type: ignore[attr-defined]
    except OSError:
        return answer, -1
    return answer, source.st_mtime_ns + source.st_size
