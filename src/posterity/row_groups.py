"""Rows that are equal, found in one place: which they are, and how often each counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from posterity.arrays import Array


@dataclass(frozen=True)
class RowGroups:
    """N rows in G groups of equal ones.

    Examples
    --------
    >>> groups = RowGroups.of_equal(np.array([[2.0], [1.0], [2.0]]))
    >>> groups.first, groups.number, groups.count(np.array([1.0, 1.0, 3.0]))
    (array([1, 0]), array([1, 0, 1]), array([1., 4.]))
    >>> groups.by_appearance().first
    array([0, 1])
    """

    first: NDArray[np.intp]  # (G,), the first row of each group
    number: NDArray[np.intp]  # (N,), the group of each row

    @classmethod
    def of_equal(cls, rows: NDArray[Any]) -> RowGroups:
        """Find equal rows of (N, D), or equal values of (N,); groups are sorted by their values."""
        _, first, number = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        return cls(first, number.reshape(-1))

    @property
    def n_groups(self) -> int:
        """Number G of different rows."""
        return len(self.first)

    @classmethod
    def of_equal_keys(cls, n_rows: int, keys: Iterable[NDArray[Any]]) -> RowGroups:
        """Find rows that are equal in every key (N,); groups are sorted by these keys.

        Keys are not looked at once all rows differ.

        Examples
        --------
        >>> RowGroups.of_equal_keys(3, [np.array([1, 0, 1]), np.array([5, 7, 5])]).number
        array([1, 0, 1])
        """
        found = cls(np.zeros(1, dtype=np.intp), np.zeros(n_rows, dtype=np.intp))
        for key in keys:
            if found.n_groups == n_rows:
                break
            own = cls.of_equal(key)
            found = cls.of_equal(found.number * own.n_groups + own.number)
        return found

    @classmethod
    def of_pairs(cls, pairs: tuple[NDArray[Any], NDArray[Any]], n_rows: int) -> RowGroups:
        """Return the groups of rows that pairs connect, in the order of their first rows.

        Examples
        --------
        >>> RowGroups.of_pairs((np.array([0, 3]), np.array([3, 1])), 4).number
        array([0, 0, 1, 0])
        """
        links = sparse.coo_array((np.ones(len(pairs[0])), pairs), shape=(n_rows, n_rows))
        _, number = sparse.csgraph.connected_components(links, directed=False)
        return cls.of_equal(number).by_appearance()

    def by_appearance(self) -> RowGroups:
        """Return the same groups in the order of their first rows."""
        order = np.argsort(self.first)
        return RowGroups(self.first[order], np.argsort(order)[self.number])

    def count(self, weights: Array | None = None) -> Array:
        """Return how often each group counts, (G,): its rows, or the sum of their weights."""
        return np.bincount(self.number, weights, self.n_groups).astype(np.float64)
