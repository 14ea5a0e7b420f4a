"""Tests of single columns, and an order of columns that is their own, however they are arranged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from posterity import compilation, validation
from posterity.arrays import Array
from posterity.row_groups import RowGroups
from posterity.trees.families import binning, family

_COLUMNS_AT_ONCE = 64  # what a cache holds
_ODD = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
_PARTS = 2.0**40  # of all rows, that shares are rounded to: sums of whole numbers have no order


def order_columns(X: Array, edges: Array, weights: Array | None = None) -> NDArray[np.int32]:
    """The columns (D,) in an order that does not depend on their places, units or the rows' order.

    It is that of hashed codes. Columns that only their places distinguish, equal ones among them,
    keep these. Of more than 10,000 rows, the 10,000 of :func:`binning.find_edges` are looked at.

    Parameters
    ----------
    X : array (N, D)
        Rows that count; NaN where a number is missing.
    edges : array (D, 255)
        From :func:`binning.find_edges`.
    weights : array (N,), optional
        How often each row counts.

    Examples
    --------
    >>> X = np.array([[3.0, 1.0], [1.0, 2.0], [2.0, 9.0]])
    >>> order_columns(X, binning.find_edges(X))
    array([1, 0], dtype=int32)
    >>> order_columns(X[:, ::-1], binning.find_edges(X[:, ::-1]))
    array([0, 1], dtype=int32)
    """
    rows, _ = binning.sample_rows(X)
    codes = binning.encode(np.ascontiguousarray(X[rows]), edges)
    # Equal rows are one, and count by their share: neither repeated rows nor units of weights show.
    groups = RowGroups.of_equal(_describe_rows(codes, np.arange(len(edges), dtype=np.uint64)))
    counts = groups.count(None if weights is None else weights[rows])
    codes, times = codes[groups.first], np.rint(counts / np.sum(counts) * _PARTS).astype(np.uint64)
    keys, n_known = np.zeros(len(edges), dtype=np.uint64), 0
    while n_known < (n_found := len(np.unique(keys))) and (n_found < len(keys) or not n_known):
        keys, n_known = _describe_columns(codes, times, _describe_rows(codes, keys)), n_found
    last = np.maximum(binning.count_edges(edges) - 1, 0)
    ends = edges[:, 0], edges[np.arange(len(edges)), last]  # of equal codes in other units
    return np.lexsort((*ends, keys)).astype(np.int32)


def check_order(order: NDArray[np.int32] | None, n_columns: int) -> None:
    """Raise ValueError unless this is None or has each column once."""
    if order is not None:
        validation.require_array(order, "order", np.int32, (n_columns,))
        is_whole = np.array_equal(np.sort(order), np.arange(n_columns))
        validation.require(is_whole, "order does not have each column once.")


def _describe_rows(codes: NDArray[np.uint8], keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A number for each row, from its code in each column and what is known of the column."""
    found = np.zeros(len(codes), dtype=np.uint64)
    for block in _part_columns(len(keys)):
        found += np.sum(_mix(codes[:, block].astype(np.uint64) * _ODD + keys[block]), axis=1)
    return _mix(found)


def _describe_columns(
    codes: NDArray[np.uint8], times: NDArray[np.uint64], rows: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """A number for each column, from its code in each row and what is known of the row."""
    found = np.empty(codes.shape[1], dtype=np.uint64)
    for block in _part_columns(len(found)):
        found[block] = times @ _mix(codes[:, block].astype(np.uint64) * _ODD + rows[:, None])
    return _mix(found)


def _mix(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers that look random, one for each number: the last steps of SplitMix64."""
    for shift, factor in zip(_SHIFTS, _FACTORS, strict=False):
        numbers = (numbers ^ (numbers >> shift)) * factor
    return numbers ^ (numbers >> _SHIFTS[2])


def _part_columns(n: int) -> Iterator[slice]:
    for first in range(0, n, _COLUMNS_AT_ONCE):
        yield slice(first, first + _COLUMNS_AT_ONCE)


@dataclass(frozen=True, eq=False)
class Columns(family.Family):
    """Tests that look at one column each, q[x; d] = x[d].

    While trees grow they see bytes instead of numbers: each column is cut at no more than 254
    thresholds, see ``posterity.trees.families.binning``.

    A column of which values are missing has two tests. In the first, whose number is that of the
    column, a missing value is larger than all others, in the second it is smaller; these are
    numbered on from D. So a learner finds on which side missing values do better.

    Tests are drawn and listed in an order that the values of columns say, not their places.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.trees import Columns
    >>> X = np.array([[1.0, 5.0], [2.0, 4.0], [3.0, np.nan]])
    >>> columns = Columns().adapt_to(X)
    >>> np.sort(columns.catalogue().ravel())
    array([0, 1, 2], dtype=int32)
    >>> nodes = np.zeros(3, dtype=np.int32)
    >>> columns.respond(X, np.arange(3, dtype=np.int32), np.arange(3)[None, :, None], nodes)
    array([[  1.,   2.,   3.],
           [  5.,   4.,  nan],
           [  5.,   4., -inf]])
    """

    edges: Array | None = field(default=None, repr=False)  # (D + M, 255), learned
    missing: NDArray[np.int32] | None = field(default=None, repr=False)  # (M,), learned: columns
    _n_edges: NDArray[np.int64] | None = field(default=None, init=False, repr=False)  # (D + M,)
    order: NDArray[np.int32] | None = field(default=None, repr=False, kw_only=True)  # (D,), learned

    def __post_init__(self) -> None:
        """Count edges once: for a single row it would take longer than all else."""
        if self.edges is not None:
            object.__setattr__(self, "_n_edges", binning.count_edges(self.edges))

    def adapt_to(self, X: Any, weights: Array | None = None) -> Self:
        """A copy that knows the columns and where to cut them."""
        present, w = family.drop_weightless_rows(X, weights)
        missing = np.flatnonzero(np.isnan(present).any(axis=0)).astype(np.int32)
        edges = binning.find_edges(present, w)
        order = order_columns(present, edges, w)
        if len(missing):
            edges = np.concatenate(
                [edges, binning.find_edges(_lower_missing(present[:, missing]), w)]
            )
        return type(self)(edges, missing, order=order)

    def prepare_rows(self, X: Any) -> NDArray[np.uint8]:
        """Codes (N, D + M) instead of numbers."""
        edges, missing = self._known()
        if not len(missing):
            return binning.encode(X, edges, self._n_edges)
        both = np.column_stack([X, _lower_missing(X[:, missing])])
        return binning.encode(both, edges, self._n_edges)

    def draw(self, n_nodes: int, n_tests: int, rng: np.random.Generator) -> family.Tests:
        """Tests at random, none of them twice before all had their turn."""
        tests = self.catalogue()
        return tests[shuffle_columns(len(tests), rng.random((n_nodes, n_tests)))]

    def catalogue(self) -> family.Tests:
        """Every column, and once more those with missing values, (D + M, 1)."""
        missing, order = self._known()[1], self.column_order()
        again = np.argsort(np.argsort(order)[missing]).astype(np.int32)
        return np.concatenate([order, len(order) + again])[:, None]

    def column_order(self) -> NDArray[np.int32]:
        """The columns in an order of their own; in that of their places where none was learned."""
        return np.arange(self.n_columns, dtype=np.int32) if self.order is None else self.order

    def respond(
        self, rows: Any, places: family.Places, tests: family.Tests, which: family.Places
    ) -> NDArray[Any]:
        """The entries of rows, numbers or codes, (K, m)."""
        answers = np.empty((tests.shape[1], len(places)), dtype=rows.dtype)
        missing = self._known()[1]
        if len(missing) and rows.dtype == np.float64:
            _look_up_both(rows, places, tests, which, missing, answers)
        else:
            _look_up(rows, places, tests, which, answers)
        return answers

    def cuts(self, tests: family.Tests) -> Array:
        """The edges of the tests, (n, 255)."""
        return self._known()[0][tests[:, 0]]

    def columns_of(self, tests: family.Tests) -> NDArray[np.int32]:
        """The column that each test looks at, (n,)."""
        missing = self._known()[1]
        columns = np.concatenate([np.arange(self.n_columns, dtype=np.int32), missing])
        return columns[tests[:, 0]]

    def default_tests(self) -> int:
        """The square root of the number of columns, rounded up."""
        return int(np.ceil(np.sqrt(self.n_columns)))

    def check_consistency(self) -> None:
        """Raise ValueError unless edges increase to +inf, and missing columns are among them."""
        if self.edges is None:
            return
        validation.require_array(self.edges, "edges", np.float64, (None, binning.N_EDGES))
        validation.require_array(self.missing, "missing", np.int32, (None,))
        validation.require(self.n_columns >= 0, "more columns are missing than there are.")
        validation.require_within(self._known()[1], "missing", 0, self.n_columns)
        check_order(self.order, self.n_columns)
        increase = np.all(self.edges[:, :-1] <= self.edges[:, 1:])  # none of which is NaN
        validation.require(increase, "the edges of a column do not increase.")
        validation.require(np.all(self.edges[:, -1] == np.inf), "the last edge is not +inf.")
        validation.require_array(self._n_edges, "_n_edges", np.int64, (len(self.edges),))
        is_right = np.all(self._n_edges == binning.count_edges(self.edges))
        validation.require(is_right, "edges were counted wrongly.")

    def check_tests(self, tests: family.Tests) -> None:
        """Raise ValueError unless these are columns that there are, (n, 1)."""
        validation.require_array(tests, "tests", (np.int32, np.int64), (None, 1))
        validation.require_within(tests, "tests", 0, len(self._known()[0]))

    def check_width(self, n_columns: Any) -> None:
        """Raise ValueError unless as many columns were seen."""
        validation.require_count(n_columns, "the number of columns")
        validation.require(
            n_columns == self.n_columns,
            f"there are {n_columns} columns, but edges of {self.n_columns}.",
        )

    @property
    def n_columns(self) -> int:
        """Number of columns, D."""
        edges, missing = self._known()
        return len(edges) - len(missing)

    def tested_columns(self) -> list[int]:
        """Return the column of each test; -1 - column where missing values are the smallest."""
        columns = self.columns_of(np.sort(self.catalogue(), axis=0)).astype(np.int64)
        lowered = np.arange(len(columns)) >= self.n_columns
        places: list[int] = np.where(lowered, -1 - columns, columns).tolist()
        return places

    def _known(self) -> tuple[Array, NDArray[np.int32]]:
        if self.edges is None or self.missing is None:
            raise ValueError("These Columns have seen no data yet: use Columns().fitted(X).")
        return self.edges, self.missing


def _lower_missing(X: Array) -> Array:
    """Missing values smaller than all others."""
    return np.where(np.isnan(X), -np.inf, X)


@compilation.compile_at_first_call
def shuffle_columns(n_columns: int, chances: Array) -> NDArray[np.int32]:
    """For each line of chances a shuffle of the columns as far as it goes, and then another.

    Chances are uniform numbers from 0 to 1. Within a line no column comes twice before all came.
    """
    drawn = np.empty(chances.shape, dtype=np.int32)
    order = np.arange(n_columns)
    for a in range(chances.shape[0]):
        for k in range(chances.shape[1]):
            here = k % n_columns
            there = here + int(chances[a, k] * (n_columns - here))
            order[here], order[there] = order[there], order[here]
            drawn[a, k] = order[here]
    return drawn


@compilation.compile_at_first_call
def _look_up(
    rows: NDArray[Any],
    places: family.Places,
    tests: family.Tests,
    which: family.Places,
    answers: NDArray[Any],
) -> None:
    """All answers of a row in one pass, while the row is at hand.

    Rows of one node mostly follow each other. Numbers without a sign need no look for a negative
    place.
    """
    node, columns = -1, np.empty(tests.shape[1], dtype=np.uint64)
    for i in range(len(places)):
        if which[i] != node:
            node = which[i]
            for k in range(len(columns)):
                columns[k] = tests[node, k, 0]
        row = np.uint64(places[i])
        for k in range(len(columns)):
            answers[k, i] = rows[row, columns[k]]


@compilation.compile_at_first_call
def _look_up_both(
    rows: Array,
    places: family.Places,
    tests: family.Tests,
    which: family.Places,
    missing: NDArray[np.int32],
    answers: Array,
) -> None:
    """The same where some tests take missing values for the smallest."""
    D = rows.shape[1]
    for i in range(len(places)):
        for k in range(tests.shape[1]):
            test = tests[which[i], k, 0]
            if test < D:
                answers[k, i] = rows[places[i], test]
            else:
                x = rows[places[i], missing[test - D]]
                answers[k, i] = x if x == x else -np.inf
