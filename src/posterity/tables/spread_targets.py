"""Summarise the targets of all partitions before a model is fitted."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from posterity.designs import dask_graph
from posterity.tables import texts
from posterity.tables.columns import CellError, Column, Schema, TableError
from posterity.tables.labels import sort_labels
from posterity.tables.partitioned import Partition
from posterity.tables.targets import MOST_CLASSES

_GOLDEN = 0x9E3779B97F4A7C15  # odd, and far from any pattern: successive seeds lie far apart


@dataclass(frozen=True, eq=False)
class PartitionedTargets:
    """Summary of the targets of a partitioned table; its size does not grow with the rows.

    Attributes
    ----------
    partitions : tuple of Partition
        Partitions of the table.
    lengths : ndarray of shape (P, folds)
        Number of rows with a target in each partition and fold.
    classes : tuple of str
        Class labels in order; empty for numeric targets.
    seed : int
        Random seed of the folds.
    """

    partitions: tuple[Partition, ...]
    lengths: NDArray[np.intp]
    classes: tuple[str, ...]
    seed: int

    @classmethod
    def of(
        cls, partitions: Sequence[Partition], schema: Schema, *, folds: int, seed: int
    ) -> "PartitionedTargets":
        """Read the target column on the workers, in one pass."""
        work = _SummariseTargets(schema, folds, seed)
        found = dask_graph.map_and_merge(
            partitions, work, _TargetCounts.joined, description="Reading targets"
        )
        labels = pl.Series(list(found.labels), dtype=pl.String)
        if len(labels) > MOST_CLASSES:
            raise TableError(
                f"The target {schema.target!r} has {len(labels)} distinct values, too many for "
                f"classes (at most {MOST_CLASSES}): merge rare classes, or choose another target."
            )
        lengths = np.array(found.lengths, dtype=np.intp)
        return cls(tuple(partitions), lengths, sort_labels(labels), seed)

    @property
    def folds(self) -> int:
        """Number of folds."""
        return int(self.lengths.shape[1])

    @property
    def present(self) -> tuple[Partition, ...]:
        """Indices of the partitions that have rows with a target."""
        counts = self.lengths.sum(axis=1)
        return tuple(one for one, n in zip(self.partitions, counts, strict=True) if n)

    @property
    def n_left_out(self) -> int:
        """Number of rows without a target."""
        return sum(one.n_rows for one in self.partitions) - int(self.lengths.sum())

    @property
    def dtype(self) -> Any:
        """Data type of encoded targets: floats, or class indices."""
        return np.int64 if self.classes else np.float64


def assign_folds(positions: NDArray[np.intp], folds: int, seed: int) -> NDArray[np.intp]:
    """Assign rows to folds pseudo-randomly by their position in the table.

    Positions are hashed by SplitMix64, whose outputs pass tests of independence.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.tables import assign_folds
    >>> np.bincount(assign_folds(np.arange(3000), 3, seed=0)).round(-2).tolist()
    [1000, 1000, 1000]
    """
    start = np.uint64((seed + 1) * _GOLDEN % 2**64)
    z = start + (positions.astype(np.uint64) + np.uint64(1)) * np.uint64(_GOLDEN)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    scrambled = z ^ (z >> np.uint64(31))
    return ((scrambled >> np.uint64(33)) % np.uint64(folds)).astype(np.intp)


@dataclass(frozen=True)
class _TargetCounts:
    """Number of rows with a target in each partition, and label counts."""

    lengths: list[list[int]]
    labels: Counter[str]

    def joined(self, later: "_TargetCounts") -> "_TargetCounts":
        return _TargetCounts(self.lengths + later.lengths, self.labels + later.labels)


@dataclass(frozen=True)
class _SummariseTargets:
    """Task of a worker: summarise the targets of a partition."""

    schema: Schema
    folds: int
    seed: int

    def __call__(self, partition: Partition, number: int) -> _TargetCounts:
        cells = partition.read([self.schema.target])[self.schema.target]
        try:
            has_target, labels = self._read(cells)
        except CellError as error:
            raise partition.locate_error(error) from None
        places = partition.first + np.flatnonzero(has_target)
        counts = np.bincount(assign_folds(places, self.folds, self.seed), minlength=self.folds)
        return _TargetCounts([counts.tolist()], labels)

    def _read(self, cells: pl.Series) -> tuple[NDArray[np.bool_], Counter[str]]:
        if self.schema.task == "regression":
            column = self.schema.outcome or Column(self.schema.target, "number")
            return ~np.isnan(texts.require_numbers(cells, column)), Counter()
        column = self.schema.outcome or Column(self.schema.target, "category")
        labels = texts.convert_labels(cells, column)
        return labels.is_not_null().to_numpy(), Counter(labels.drop_nulls().to_list())
