"""Rows that boosted trees are asked about: numbers of levels, and averages over unknown levels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from posterity import trees, validation
from posterity.arrays import Array
from posterity.trees.boosting.boosted_trees import BoostedTrees
from posterity.trees.boosting.levels import LeveledColumns, StandIns

Moments = tuple[Array, Array, Array | float]
"""Sums of trees (n, L), what leaf values leave open of them, (n,), and what unseen levels do."""


@dataclass(frozen=True, eq=False)
class QueryRows:
    """Rows as trees take them; rows of an unseen level are there once for each known one."""

    rows: Any
    stand_ins: StandIns | None = None

    @classmethod
    def of_family(cls, family: trees.Family, rows: Any) -> Self:
        """Rows that answer tests of this family."""
        found = family.replace_unseen(rows) if isinstance(family, LeveledColumns) else None
        return cls(rows) if found is None else cls(found.rows, found)

    def average(self, values: Array) -> Array:
        """Means over the versions of each row."""
        return values if self.stand_ins is None else self.stand_ins.average(values)

    def compute_moments(self, grown: BoostedTrees, family: trees.Family) -> Moments:
        """Moments of the latent values of each row."""
        return self._combine(*grown.moments(family, self.rows))

    def stage_moments(self, grown: BoostedTrees, family: trees.Family) -> Iterator[Moments]:
        """The same after the first round of all members, the second, and so on."""
        for a, v in grown.staged_moments(family, self.rows):
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
