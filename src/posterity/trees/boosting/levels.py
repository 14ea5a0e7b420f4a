"""Categorical columns as numbers: how often each class, or what mean target, goes with a level.

The mean of a level would tell a row its own target. So each training row sees means of the rows
that are in other folds than its own, which are the folds of the members: a row that a member
leaves out has statistics without it, and so has every row that the member sees. This is what
ordered target statistics are for, without an order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from posterity import validation
from posterity.arrays import Array

_PRIOR_ROWS = 1.0  # that the mean of all rows is worth in a level


@dataclass(frozen=True, eq=False)
class LevelMeans:
    """Mean targets of each level of some columns, which replace these columns.

    A level that training has not seen has the mean of all rows.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([[1.0], [1.0], [0.0], [1.0]])
    >>> means = LevelMeans.from_rows(X, y, np.ones(4), (0,))
    >>> means.encode(np.array([[0.0], [1.0], [7.0]])).ravel().round(3)
    array([0.917, 0.583, 0.75 ])
    """

    columns: tuple[int, ...]
    levels: tuple[Array, ...]  # by column, increasing; NaN last
    means: tuple[Array, ...]  # by column (1 + number of levels, T), the last of unseen levels

    @classmethod
    def from_rows(cls, X: Array, targets: Array, weights: Array, columns: tuple[int, ...]) -> Self:
        """Learn the statistics of levels from all rows.

        Parameters
        ----------
        X : array (N, D)
            Inputs.
        targets : array (N, T)
            Numbers, or indicators of classes.
        weights : array (N,)
            How often rows count.
        columns : tuple of int
            Which columns are categorical.
        """
        levels = tuple(np.unique(X[weights > 0.0, j]) for j in columns)
        means = tuple(
            _average_levels(_find_levels(X[:, j], own), len(own), targets, weights)
            for j, own in zip(columns, levels, strict=True)
        )
        return cls(columns, levels, means)

    def encode(self, X: Array) -> Array:
        """Inputs without categorical columns, and T means for each of these at the end."""
        coded = [
            means[_find_levels(X[:, j], own)]
            for j, own, means in zip(self.columns, self.levels, self.means, strict=True)
        ]
        others = np.delete(X, self.columns, axis=1)
        return np.ascontiguousarray(np.column_stack([others, *coded]))

    def encode_training_rows(
        self, X: Array, targets: Array, weights: Array, folds: NDArray[np.int64]
    ) -> Array:
        """The same of rows that were seen, each without the rows of its fold.

        Rows of no fold are in one of their own for this.
        """
        encoded = np.empty((len(X), X.shape[1] + len(self.columns) * (targets.shape[1] - 1)))
        for fold in np.unique(folds):
            own = folds == fold
            others = self.from_rows(X, targets, np.where(own, 0.0, weights), self.columns)
            encoded[own] = others.encode(X[own])
        return encoded

    def columns_of(self, n_columns: int) -> NDArray[np.int64]:
        """The original column of each column of ``encode``, (...,)."""
        others = np.delete(np.arange(n_columns), self.columns)
        return np.concatenate(
            [
                others,
                *(np.full(m.shape[1], j) for j, m in zip(self.columns, self.means, strict=True)),
            ]
        ).astype(np.int64)

    def sum_by_column(self, values: Array, n_columns: int) -> Array:
        """Values (n, E, ...) of the columns of ``encode``, summed by the original, (n, D, ...)."""
        sums = np.zeros((len(values), n_columns, *values.shape[2:]))
        for place, column in enumerate(self.columns_of(n_columns)):
            sums[:, column] += values[:, place]
        return sums

    def check_consistency(self) -> None:
        """Raise ValueError unless every column has levels and a mean for each."""
        sizes = {len(self.columns), len(self.levels), len(self.means)}
        validation.require(len(sizes) == 1, "levels are not those of the categorical columns.")
        for own, means in zip(self.levels, self.means, strict=True):
            validation.require_array(own, "levels", np.float64, (None,))
            validation.require_array(means, "means", np.float64, (len(own) + 1, None))


def _find_levels(x: Array, levels: Array) -> NDArray[np.intp]:
    """The place of each value among the levels; beyond the last where it is new."""
    places = np.searchsorted(levels, x)
    inside = np.minimum(places, len(levels) - 1)
    found = levels[inside]
    is_known = (found == x) | (np.isnan(found) & np.isnan(x))
    return np.where(is_known, inside, len(levels))


def _average_levels(
    places: NDArray[np.intp], n_levels: int, targets: Array, weights: Array
) -> Array:
    """Means by level, each with a row of the mean of all; that of all last."""
    counts = np.bincount(places, weights, minlength=n_levels + 1)[:n_levels, None]
    columns = [
        np.bincount(places, weights * t, minlength=n_levels + 1)[:n_levels] for t in targets.T
    ]
    sums = np.column_stack(columns)
    of_all = (weights @ targets / np.sum(weights))[None]
    return np.concatenate([(sums + _PRIOR_ROWS * of_all) / (counts + _PRIOR_ROWS), of_all])
