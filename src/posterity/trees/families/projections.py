"""Tests that add up columns: differences, random directions, and directions at regular angles.

A test is written as S columns and their S weights, 2 S numbers in one line, and answered with
w_1 x_1 + ... + w_S x_S. One compiled function serves all families of this kind.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from posterity import compilation, validation
from posterity.arrays import Array
from posterity.trees.families import binning, columns, compiled, family

_KEPT = 2.0**32  # parts of a number that are told apart: sums of ten million rows are as exact
_LEAST_UNIT = 1e-300  # weights are its inverse, and have to be finite


@dataclass(frozen=True, eq=False)
class LinearFamily(family.Family):
    """Tests that are weighted sums of columns. A subclass says how they are drawn."""

    unit: Array | None = field(default=None, repr=False, kw_only=True)
    """What counts as one in each column, (D,), learned: weights are divided by it. A column that
    does not vary has the unit +inf, and so the weight zero."""

    order: NDArray[np.int32] | None = field(default=None, repr=False, kw_only=True)
    """The columns in an order of their own, (D,), learned: tests are drawn and listed by it."""

    def adapt_to(self, X: Any, weights: Array | None = None) -> Self:
        """A copy that knows how far the columns spread."""
        rows, counts = family.drop_weightless_rows(X, weights)
        spreads = _column_spreads(rows, np.ones(len(rows)) if counts is None else counts)
        return self._know(rows, counts, spreads)

    def _know(self, rows: Array, counts: Array | None, unit: Array) -> Self:
        """A copy that has units, and the order of the columns of rows that count."""
        edges = binning.find_edges(rows, counts)
        return replace(self, unit=unit, order=columns.order_columns(rows, edges, counts))

    def respond(
        self, rows: Any, places: family.Places, tests: family.Tests, which: family.Places
    ) -> Array:
        """Weighted sums of the entries of rows, (K, m)."""
        answers = np.empty((tests.shape[1], len(places)))
        _sum_for_nodes(rows, places, tests, which, answers)
        return answers

    def compile_answer(self) -> compiled.Answer:
        """The weighted sum of one row."""
        return _sum_columns

    def unpack_rows(self, rows: Any) -> Array:
        """The rows, one after the other in memory."""
        return np.ascontiguousarray(rows)

    def default_tests(self) -> int:
        """Ten, or the square root of the number of columns where that is more."""
        return max(10, int(np.ceil(np.sqrt(len(self._known())))))

    def check_consistency(self) -> None:
        """Raise ValueError unless units are numbers, and the parameters such as are taken."""
        self.__post_init__()
        if self.unit is not None:
            validation.require_array(self.unit, "unit", np.float64, (None,))
            columns.check_order(self.order, len(self.unit))

    def check_tests(self, tests: family.Tests) -> None:
        """Raise ValueError unless these are columns that there are, and their weights."""
        validation.require_array(tests, "tests", np.float64, (None, None))
        S, odd = divmod(tests.shape[1], 2)
        validation.require(not odd, "a test has not as many weights as columns.")
        validation.require_within(tests[:, :S], "tests", 0, len(self._known()))

    def check_width(self, n_columns: Any) -> None:
        """Raise ValueError unless as many columns were seen."""
        validation.require_count(n_columns, "the number of columns")
        D = len(self._known())
        validation.require(n_columns == D, f"there are {n_columns} columns, but units of {D}.")

    def __post_init__(self) -> None:
        """Check nothing: there are no parameters."""

    def column_order(self) -> NDArray[np.int32]:
        """The columns in an order of their own; in that of their places where none was learned."""
        D = len(self._known())
        return np.arange(D, dtype=np.int32) if self.order is None else self.order

    def _known(self) -> Array:
        if self.unit is None:
            raise ValueError(f"{self!r} has seen no data yet: use {self!r}.adapt_to(X).")
        return self.unit

    def _weight_columns(self, chosen: NDArray[Any], weights: Array) -> family.Tests:
        """Tests (..., 2 S) of chosen columns (..., S), with weights in their units.

        Columns are chosen by their places in the order of their own.
        """
        named = self.column_order()[chosen]
        return np.concatenate([named, weights / self._known()[named]], axis=-1)


@dataclass(frozen=True, eq=False)
class Differences(LinearFamily):
    """Tests that compare two columns, q[x; i, j] = x[i] - x[j].

    Meant for columns in one unit, such as the pixels of an image.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.trees import Differences
    >>> Differences().adapt_to(np.eye(3)).catalogue()
    array([[ 0.,  1.,  1., -1.],
           [ 0.,  2.,  1., -1.],
           [ 1.,  2.,  1., -1.]])
    """

    def adapt_to(self, X: Any, weights: Array | None = None) -> Self:
        """A copy that knows how many columns there are; they keep their own units."""
        if X.shape[1] < 2:
            raise ValueError("Differences compare two columns, but X has only one; use Columns().")
        return self._know(*family.drop_weightless_rows(X, weights), np.ones(X.shape[1]))

    def draw(self, n_nodes: int, n_tests: int, rng: np.random.Generator) -> family.Tests:
        """Pairs of columns at random."""
        D = len(self._known())
        chances = rng.random((n_nodes, n_tests))
        return self._compare_columns(*_number_to_pair(_draw_distinct(D * (D - 1) // 2, chances)))

    def catalogue(self) -> family.Tests:
        """Every pair of columns, (D (D - 1) / 2, 4)."""
        D = len(self._known())
        return self._compare_columns(*_number_to_pair(np.arange(D * (D - 1) // 2)))

    def _compare_columns(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> family.Tests:
        chosen = np.stack([i, j], axis=-1)
        return self._weight_columns(chosen, np.broadcast_to([1.0, -1.0], chosen.shape))


@dataclass(frozen=True, eq=False)
class Projections(LinearFamily):
    """Tests that look along a random direction, q[x; w] = w' x.

    Weights are normal, in units of the spread of each column: so every direction in the space of
    the columns is as likely as every other, and no two tests are the same, which weights of +-1
    would be. A few columns a test keep it fast and let it miss columns that say nothing; all
    columns make the trees blind to how the axes were chosen.

    Parameters
    ----------
    n_columns : int or None, default 2
        How many columns a test looks at; None: all of them, and 2 D numbers to say which test.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.trees import Projections
    >>> X = np.array([[0.0, 1.0, 5.0], [2.0, 3.0, 9.0]])
    >>> Projections().adapt_to(X).draw(1, 2, np.random.default_rng(0)).round(1)
    array([[[ 2. ,  0. ,  0.1, -0.1],
            [ 0. ,  1. ,  0.6,  0.1]]])
    """

    n_columns: int | None = 2

    def __post_init__(self) -> None:
        if self.n_columns is not None and self.n_columns < 1:
            raise ValueError(
                f"n_columns must be at least 1, or None for all; it is {self.n_columns}."
            )

    def draw(self, n_nodes: int, n_tests: int, rng: np.random.Generator) -> family.Tests:
        """Columns at random and weights at random."""
        D = len(self._known())
        S = D if self.n_columns is None else min(self.n_columns, D)
        weights = rng.standard_normal((n_nodes, n_tests, S))
        if S == D:
            return self._weight_columns(np.broadcast_to(np.arange(D), weights.shape), weights)
        chosen = columns.shuffle_columns(D, rng.random((n_nodes * n_tests, S)))
        return self._weight_columns(chosen.reshape(weights.shape), weights)


@dataclass(frozen=True, eq=False)
class Orientations(LinearFamily):
    """Tests along directions at regular angles, in the plane of two columns.  [P9 Fig 9.16]

    The half circle is divided into equal angles, in units of the spread of both columns. There
    are D + D (D - 1) (n_angles - 2) / 2 tests: the axes once, then the directions between the
    axes of each pair of columns. Of two columns that makes n_angles.

    Parameters
    ----------
    n_angles : int, default 20
        Directions in each plane, an even number, so that both axes are among them.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.trees import Orientations
    >>> square = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    >>> Orientations(n_angles=4).adapt_to(square).catalogue().round(2)
    array([[ 0.  ,  0.  ,  1.  ,  0.  ],
           [ 1.  ,  1.  ,  1.  ,  0.  ],
           [ 0.  ,  1.  ,  0.71,  0.71],
           [ 0.  ,  1.  , -0.71,  0.71]])
    """

    n_angles: int = 20

    def __post_init__(self) -> None:
        if self.n_angles < 2 or self.n_angles % 2:
            raise ValueError(
                f"n_angles must be an even number from 2 on, so that both axes are among the "
                f"directions; it is {self.n_angles}."
            )

    def draw(self, n_nodes: int, n_tests: int, rng: np.random.Generator) -> family.Tests:
        """Some of the catalogue at random."""
        D = len(self._known())
        n_in_all = D + D * (D - 1) // 2 * (self.n_angles - 2)
        return self._take_tests(_draw_distinct(n_in_all, rng.random((n_nodes, n_tests))))

    def catalogue(self) -> family.Tests:
        """The axes, and then each pair of columns at each angle, (J, 4)."""
        D = len(self._known())
        return self._take_tests(np.arange(D + D * (D - 1) // 2 * (self.n_angles - 2)))

    def _take_tests(self, numbers: NDArray[np.int64]) -> family.Tests:
        """Tests by their place in the catalogue: axes first."""
        D, n_oblique = len(self._known()), max(self.n_angles - 2, 1)
        is_axis = numbers < D
        pair, turn = np.divmod(np.maximum(numbers - D, 0), n_oblique)
        i, j = _number_to_pair(pair)
        half = self.n_angles // 2
        angle = np.pi / self.n_angles * (turn + np.where(turn < half - 1, 1, 2))
        chosen = np.where(is_axis[..., None], numbers[..., None], np.stack([i, j], axis=-1))
        weights = np.stack(
            [np.where(is_axis, 1.0, np.cos(angle)), np.where(is_axis, 0.0, np.sin(angle))], axis=-1
        )
        return self._weight_columns(chosen, weights)


def _number_to_pair(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pair i < j in each place of (0, 1), (0, 2), (1, 2), (0, 3), ..."""
    j = ((1.0 + np.sqrt(1.0 + 8.0 * numbers)) / 2.0).astype(np.int64)
    i = numbers - j * (j - 1) // 2
    return i, j


@compilation.compile_at_first_call
def _draw_distinct(n: int, chances: Array) -> NDArray[np.int64]:
    """In each line numbers below n, none of them again before all were there.

    Floyd's sampling: no memory of n, and one chance a number.
    """
    chosen = np.empty(chances.shape, dtype=np.int64)
    for a in range(chances.shape[0]):
        for k in range(chances.shape[1]):
            first = k - k % n
            last = n - min(n, chances.shape[1] - first) + k % n  # the largest it may be
            drawn = int(chances[a, k] * (last + 1))
            for other in range(first, k):
                if chosen[a, other] == drawn:
                    drawn = last
                    break
            chosen[a, k] = drawn
    return chosen


def _column_spreads(X: Array, weights: Array) -> Array:
    """The standard deviation of each column, NaN left out; +inf where it is zero.

    It is rounded to what the order of additions does not change, so that a weight teaches the same
    as repeated rows, to the last bit.
    """
    largest = np.fmax(np.fmax.reduce(X), -np.fmin.reduce(X))
    size = np.where(largest > 0.0, largest, 1.0)  # squares of numbers of this size are safe
    fraction, exponent = np.frexp(np.sqrt(_column_variances(X, weights, size)))
    deviation = size * np.ldexp(np.rint(fraction * _KEPT) / _KEPT, exponent)
    return np.where(deviation > 0.0, np.maximum(deviation, _LEAST_UNIT), np.inf)


@compilation.compile_at_first_call
def _column_variances(X: Array, weights: Array, size: Array) -> Array:
    """Return the variance of each column in units of its size; NaN where all are missing."""
    n, mean, total = np.zeros(len(size)), np.zeros(len(size)), np.zeros(len(size))
    for i in range(len(X)):
        for d in range(len(size)):
            x = X[i, d] / size[d]
            n[d] += weights[i] if x == x else 0.0
            mean[d] += weights[i] * x if x == x else 0.0
    mean /= n
    for i in range(len(X)):
        for d in range(len(size)):
            off = X[i, d] / size[d] - mean[d]
            total[d] += weights[i] * off * off if off == off else 0.0
    return total / n


@compilation.compile_at_first_call
def _sum_for_nodes(
    rows: Array, places: family.Places, tests: family.Tests, which: family.Places, answers: Array
) -> None:
    """As ``_sum_columns``, rounded alike; rows and nodes taken once make it four times as fast."""
    S = tests.shape[2] // 2
    for i in range(len(places)):
        row, asked = rows[places[i]], tests[which[i]]
        for k in range(len(asked)):
            total = 0.0
            for s in range(S):
                total += asked[k, S + s] * row[np.uint64(asked[k, s])]
            answers[k, i] = total


@compilation.compile_at_first_call
def _sum_columns(rows: Array, place: int, test: family.Tests) -> float:
    """From the first column to the last."""
    S, row, total = len(test) // 2, rows[np.uint64(place)], 0.0
    for s in range(S):
        total += test[S + s] * row[np.uint64(test[s])]
    return total
