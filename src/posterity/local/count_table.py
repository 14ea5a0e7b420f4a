"""How often each value was seen with each class."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array


@dataclass(frozen=True, eq=False)
class CountTable:
    """Counts (V, C) of V different values, which are anything that can be hashed, in C classes."""

    values: tuple[Hashable, ...]  # in the order of the rows
    counts: Array

    @classmethod
    def empty(cls, n_classes: int) -> CountTable:
        """Before anything was seen."""
        return cls((), np.zeros((0, n_classes)))

    @functools.cached_property
    def _places(self) -> dict[Hashable, int]:
        """The row of each value."""
        return {value: row for row, value in enumerate(self.values)}

    def __getstate__(self) -> dict[str, Any]:
        """Only what cannot be worked out again."""
        return {"values": self.values, "counts": self.counts}

    def add_counts(
        self, values: Iterable[Hashable], codes: NDArray[np.intp], w: Array
    ) -> CountTable:
        """With further observations: values, the numbers of their classes, how often each counts.

        Examples
        --------
        >>> table = CountTable.empty(2).add_counts("aba", np.array([0, 1, 1]), np.ones(3))
        >>> table.values, table.counts.tolist()
        (('a', 'b'), [[1.0, 1.0], [0.0, 1.0]])
        """
        places = dict(self._places)
        rows = np.array([places.setdefault(value, len(places)) for value in values], dtype=np.intp)
        counts = np.zeros((len(places), self.counts.shape[1]))
        counts[: len(self.counts)] = self.counts
        np.add.at(counts, (rows, codes), w)
        return CountTable(tuple(places), counts)

    def with_classes(self, n_classes: int, columns: NDArray[np.intp]) -> CountTable:
        """Among more classes, of which these columns are those known so far."""
        counts = np.zeros((len(self.counts), n_classes))
        counts[:, columns] = self.counts
        return CountTable(self.values, counts)

    def look_up(self, table: Array, values: Iterable[Hashable]) -> Array:
        """The rows (n, C) of a table (V, C) that are about these values; zeros for unseen ones."""
        padded = np.vstack([table, np.zeros((1, table.shape[1]))])
        return padded[[self._places.get(value, -1) for value in values]]
