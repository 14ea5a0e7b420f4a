"""Single columns as tests, some of which hold categories: numbers and labels of their levels.

The number of a level says nothing beside its name, so a categorical column has more tests than
that number: tables with a value for each level, which members of a boosted sum learn from their
own rows, see ``posterity.trees.boosting.level_tests``. Rows that are asked about may have labels in
place of numbers, and levels that are unknown, over which is averaged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from posterity import page_forms, validation
from posterity.arrays import Array
from posterity.trees.boosting.boosted_trees import BoostedTrees
from posterity.trees.families import family
from posterity.trees.families.columns import Columns

_STAND_INS = 32  # known levels that a row of an unseen one is averaged over


@dataclass(frozen=True, eq=False)
class StandIns:
    """Rows of which some stand for one row of an unseen level, by several known levels."""

    rows: Array  # (m, D)
    owner: NDArray[np.intp]  # (m,), the row of which each is a version
    n_levels: NDArray[np.int64]  # (n,), known levels of the column in which a level is unseen

    def average(self, values: Array) -> Array:
        """Means (n, ...) over the versions of each row."""
        counts = np.bincount(self.owner)
        flat = values.reshape(len(values), -1).T
        sums = np.stack([np.bincount(self.owner, own) for own in flat], axis=1)
        return (sums / counts[:, None]).reshape(len(counts), *values.shape[1:])

    def measure_spread(self, values: Array) -> Array:
        """Variance (n,) of the value (m, L) of a further level about the mean, over all outputs.

        Its level is one more normal draw from those that are known. By V of them its distribution
        is Student's t, with V + 1 over V - 3 times the variance about their mean.
        """
        away = values - self.average(values)[self.owner]
        V = self.n_levels
        return (V + 1) / np.maximum(V - 3, 1) * np.mean(self.average(away**2), axis=1)


@dataclass(frozen=True, eq=False)
class LeveledColumns(Columns):
    """Columns as tests, and tables that give each level of a categorical column a value.

    Tests of tables are numbered on from those of the columns. A level that was not seen has the
    value zero, which is that of the mean of all rows; :meth:`replace_unseen` finds such rows.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 5.0], [2.0, 4.0], [3.0, 5.0]])
    >>> columns = LeveledColumns(categorical=np.array([1], dtype=np.int32)).adapt_to(X)
    >>> columns = columns.add_tables(np.array([0], dtype=np.int32), np.array([[-0.5, 1.0, 0.0]]))
    >>> nodes = np.zeros(3, dtype=np.int32)
    >>> columns.respond(X, np.arange(3, dtype=np.int32), np.array([[[2]]]), nodes)
    array([[ 1. , -0.5,  1. ]])
    """

    categorical: NDArray[np.int32] | None = field(default=None, repr=False)  # (c,), columns
    levels: Array | None = field(default=None, repr=False)  # (c, V), learned: increasing, then NaN
    n_levels: NDArray[np.int64] | None = field(default=None, repr=False)  # (c,), learned
    owners: NDArray[np.int32] | None = field(default=None, repr=False)  # (E,), in categorical
    values: Array | None = field(default=None, repr=False)  # (E, V + 1), zero beyond the levels

    def adapt_to(self, X: Any, weights: Array | None = None) -> Self:
        """A copy that knows the columns, where to cut them, and which levels there are."""
        present, _ = family.drop_weightless_rows(X, weights)
        assert self.categorical is not None
        found = [np.unique(present[:, j]) for j in self.categorical]  # NaN, if there is one, last
        n_levels = np.array([len(own) for own in found])
        levels = np.full((len(found), n_levels.max()), np.nan)
        for row, own in zip(levels, found, strict=True):
            row[: len(own)] = own
        base = Columns().adapt_to(X, weights)
        return replace(
            self,
            edges=base.edges,
            missing=base.missing,
            order=base.order,
            levels=levels,
            n_levels=n_levels,
            owners=np.empty(0, dtype=np.int32),
            values=np.empty((0, levels.shape[1] + 1)),
        )

    def add_tables(self, owners: NDArray[np.int32], values: Array) -> Self:
        """The same with further tables (E, V + 1), each of one of the categorical columns."""
        _, _, before, known = self._tables()
        return replace(
            self, owners=np.concatenate([before, owners]), values=np.concatenate([known, values])
        )

    @property
    def n_tests(self) -> int:
        """Number of tests, those of tables among them."""
        return len(self._known()[0]) + len(self._tables()[2])

    def find_plain(self, tests: family.Tests) -> NDArray[np.intp]:
        """The places of the tests of columns that are not categorical."""
        plain = np.setdiff1d(np.arange(self.n_columns), self._tables()[0])
        return np.flatnonzero(np.isin(tests[:, 0], plain))

    @property
    def owners_in_order(self) -> NDArray[np.intp]:
        """The numbers of the categorical columns, in the order of columns."""
        return np.argsort(np.argsort(self.column_order())[self._tables()[0]])

    @property
    def width(self) -> int:
        """Number of values of a table: one more than there are levels in any column."""
        return self._tables()[3].shape[1]

    def count_levels(self, number: int) -> int:
        """Number of levels of one of the categorical columns."""
        return int(self._tables()[1][number])

    def number_levels(self, X: Array) -> NDArray[np.int64]:
        """The number of the level of each row, (c, n), by categorical column; the last: unseen."""
        columns, _, _, _ = self._tables()
        numbers = np.empty((len(columns), len(X)), dtype=np.int64)
        for number, _ in enumerate(columns):
            numbers[number] = self._number_level(X, number)
        return numbers

    def replace_unseen(self, X: Array) -> StandIns | None:
        """Rows in which known levels stand for unseen ones; None: all levels are known.

        Known levels are evenly from those in the order of their values.
        """
        columns, n_levels, _, _ = self._tables()
        unseen = self.number_levels(X) == n_levels[:, None]
        if not unseen.any():
            return None
        times = np.where(unseen.any(axis=0), _STAND_INS, 1)
        rows, owner = np.repeat(X, times, axis=0), np.repeat(np.arange(len(X)), times)
        turn = np.arange(len(rows)) - np.repeat(np.cumsum(times) - times, times)
        fewest = np.min(np.where(unseen, n_levels[:, None], np.iinfo(np.int64).max), axis=0)
        for place, number in enumerate(self.owners_in_order):
            own = unseen[number][owner]
            # Steps that are odd and differ: levels of one column are not tied to those of another.
            stand_ins = self._choose_stand_ins(number)[(2 * place + 1) * turn[own] % _STAND_INS]
            rows[own, columns[number]] = stand_ins
        return StandIns(rows, owner, fewest)

    def respond(
        self, rows: Any, places: family.Places, tests: family.Tests, which: family.Places
    ) -> NDArray[Any]:
        """The entries of rows, or the values of their levels, (K, m)."""
        n_plain = len(self._known()[0])
        if rows.dtype != np.float64 or not np.any(tests >= n_plain):
            return super().respond(rows, places, tests, which)
        _, _, owners, values = self._tables()
        numbers, inverse = np.unique(tests[..., 0], return_inverse=True)
        answers = np.empty((len(numbers), len(places)))
        plain = numbers < n_plain
        first = np.zeros(len(places), dtype=np.int32)
        answers[plain] = super().respond(rows, places, numbers[plain][None, :, None], first)
        own, found = rows[places], {}
        for place in np.flatnonzero(~plain):
            table = numbers[place] - n_plain
            owner = int(owners[table])
            if owner not in found:
                found[owner] = self._number_level(own, owner)
            answers[place] = values[table, found[owner]]
        asked = inverse.reshape(tests.shape[:2])[which]  # (m, K)
        return np.ascontiguousarray(answers[asked.T, np.arange(len(places))])

    def columns_of(self, tests: family.Tests) -> NDArray[np.int32]:
        """The column that each test looks at, (n,)."""
        plain, missing = self._known()[0], self._known()[1]
        categorical, _, owners, _ = self._tables()
        n_columns = len(plain) - len(missing)
        columns = np.concatenate(
            [np.arange(n_columns, dtype=np.int32), missing, categorical[owners]]
        )
        return columns[tests[:, 0]]

    def check_consistency(self) -> None:
        """Raise ValueError unless each table is of a column, and has a value for each level."""
        super().check_consistency()
        require, require_array = validation.require, validation.require_array
        require_array(self.categorical, "categorical", np.int32, (None,))
        if self.edges is None:
            return
        columns, n_levels, owners, values = self._tables()
        require_array(self.levels, "levels", np.float64, (len(columns), None))
        assert self.levels is not None
        V = self.levels.shape[1]
        require_array(n_levels, "n_levels", np.int64, (len(columns),))
        require_array(owners, "owners", np.int32, (None,))
        require_array(values, "values", np.float64, (len(owners), V + 1))
        validation.require_within(columns, "categorical", 0, self.n_columns)
        validation.require_within(n_levels, "n_levels", 1, V + 1)
        validation.require_within(owners, "owners", 0, len(columns))
        require(bool(np.all(np.isfinite(values))), "the value of a level is not finite.")

    def check_tests(self, tests: family.Tests) -> None:
        """Raise ValueError unless these are columns or tables that there are, (n, 1)."""
        validation.require_array(tests, "tests", (np.int32, np.int64), (None, 1))
        validation.require_within(tests, "tests", 0, self.n_tests)

    def tested_columns(self) -> list[int]:
        """Raise: a page has no tables of the levels of categorical columns."""
        raise page_forms.NoFormError("Boosted trees of categorical columns cannot run in a page.")

    def _number_level(self, X: Array, number: int) -> NDArray[np.int64]:
        """The number of the level of each row in one categorical column; the last: unseen."""
        columns, n_levels, _, _ = self._tables()
        assert self.levels is not None
        n, x = int(n_levels[number]), X[:, columns[number]]
        own = self.levels[number, :n]
        places = np.minimum(np.searchsorted(own, x), n - 1)
        found = own[places]
        is_known = (found == x) | (np.isnan(found) & np.isnan(x))
        return np.where(is_known, places, n)

    def _choose_stand_ins(self, number: int) -> Array:
        """Known levels of a categorical column, evenly in the order of their values."""
        _, n_levels, owners, values = self._tables()
        assert self.levels is not None
        n = int(n_levels[number])
        own = values[owners == number, :n]
        told = np.flatnonzero(np.sum(own != 0.0, axis=1) > 1)  # not by indicators
        order = np.argsort(own[told[0]]) if len(told) else np.arange(n)
        chosen = ((np.arange(_STAND_INS) + 0.5) * n / _STAND_INS).astype(np.int64)
        return self.levels[number, order[chosen]]

    def _tables(self) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32], Array]:
        if self.n_levels is None:
            raise ValueError("These columns have seen no data yet.")
        assert self.categorical is not None
        assert self.owners is not None
        assert self.values is not None
        return self.categorical, self.n_levels, self.owners, self.values


Moments = tuple[Array, Array, Array | float]
"""Sums of trees (n, L), what leaf values leave open of them, (n,), and what unseen levels do."""


@dataclass(frozen=True, eq=False)
class QueryRows:
    """Rows as trees take them; rows of an unseen level are there once for each known one."""

    rows: Any
    stand_ins: StandIns | None = None

    @classmethod
    def of_family(cls, weak: family.Family, rows: Any) -> Self:
        """Rows that answer tests of this family."""
        found = weak.replace_unseen(rows) if isinstance(weak, LeveledColumns) else None
        return cls(rows) if found is None else cls(found.rows, found)

    def average(self, values: Array) -> Array:
        """Means over the versions of each row."""
        return values if self.stand_ins is None else self.stand_ins.average(values)

    def compute_moments(self, grown: BoostedTrees, weak: family.Family) -> Moments:
        """Moments of the latent values of each row."""
        return self._combine(*grown.moments(weak, self.rows))

    def stage_moments(self, grown: BoostedTrees, weak: family.Family) -> Iterator[Moments]:
        """The same after the first round of all members, the second, and so on."""
        for a, v in grown.staged_moments(weak, self.rows):
            yield self._combine(a, v)

    def _combine(self, a: Array, v: Array) -> Moments:
        if self.stand_ins is None:
            return a, v, 0.0
        return self.average(a), self.average(v), self.stand_ins.measure_spread(a)


@dataclass(frozen=True, eq=False)
class LevelLabels:
    """Labels of the categorical columns that hold some: the number of a label is its place.

    Columns of data frames may be text, ``category`` or ``Enum``. Missing labels are NaN; one that
    was not seen has the number after the last.

    Examples
    --------
    >>> labels = LevelLabels.from_rows([["b", 3.0], ["a", 4.0]], (0, 1))
    >>> labels.number_labels([["a", 1.0], [None, 2.0], ["c", 3.0]])
    array([[0.0, 1.0],
           [nan, 2.0],
           [2.0, 3.0]], dtype=object)
    """

    columns: tuple[int, ...]  # those that hold labels
    labels: tuple[NDArray[np.str_], ...]  # of each, increasing

    @classmethod
    def from_rows(cls, X: Any, categorical: tuple[int, ...]) -> Self:
        """Learn the labels of columns, of which some may hold numbers."""
        found = {j: _list_labels(_take_column(X, j)) for j in categorical if not _is_numeric(X)}
        own = {j: labels for j, labels in found.items() if labels is not None}
        return cls(tuple(own), tuple(own.values()))

    def number_labels(self, X: Any) -> Any:
        """The same rows with numbers in place of labels; a frame stays one."""
        if not self.columns or _is_numeric(X):
            return X
        rows = _copy_rows(X)
        for j, labels in zip(self.columns, self.labels, strict=True):
            _put_column(rows, j, _number(_take_column(X, j), labels))
        return rows

    def check_consistency(self) -> None:
        """Raise ValueError unless each column has labels."""
        is_whole = len(self.columns) == len(self.labels)
        validation.require(is_whole, "labels are not those of the columns.")
        for labels in self.labels:
            validation.require(
                isinstance(labels, np.ndarray) and labels.dtype.kind == "U" and labels.ndim == 1,
                "labels must be text.",
            )


def _is_numeric(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.dtype.kind in "biuf"


def _take_column(X: Any, j: int) -> NDArray[Any]:
    """The cells of a column, whatever they are."""
    if hasattr(X, "columns"):
        return np.asarray(X[X.columns[j]], dtype=object)
    return np.asarray(X, dtype=object)[:, j]


def _list_labels(cells: NDArray[Any]) -> NDArray[np.str_] | None:
    """All labels, in their order; None where the cells are numbers."""
    if not any(isinstance(cell, str) for cell in cells):
        return None
    return np.unique(np.array([str(cell) for cell in cells if not _is_missing(cell)]))


def _number(cells: NDArray[Any], labels: NDArray[np.str_]) -> Array:
    """The place of each label; NaN where it is missing; new ones come after the last."""
    places = {label: place for place, label in enumerate(labels.tolist())}
    n = len(labels)
    return np.array([np.nan if _is_missing(c) else places.get(str(c), n) for c in cells], float)


def _is_missing(cell: Any) -> bool:
    """None, NaN, NaT or pandas.NA."""
    return cell is None or type(cell).__name__ == "NAType" or bool(cell != cell)


def _copy_rows(X: Any) -> Any:
    """A copy in which columns can be replaced."""
    if not hasattr(X, "columns"):
        return np.array(X, dtype=object)
    return X.clone() if hasattr(X, "replace_column") else X.copy()


def _put_column(rows: Any, j: int, numbers: Array) -> None:
    """Replace a column of a copy, which may be a frame of pandas or of polars."""
    if not hasattr(rows, "columns"):
        rows[:, j] = numbers
    elif hasattr(rows, "replace_column"):
        old = rows.to_series(j)
        rows.replace_column(j, type(old)(old.name, numbers))
    else:
        rows.isetitem(j, numbers)
