"""A first look at the rows of Dask collections: how many each partition has, and what to tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.designs import Partitions, RowBlock, dask_graph
from posterity.designs.partitions import BlockRecipe, Tally, add_counts, count_targets
from posterity.trees.forests import sampling
from posterity.trees.forests.normal_forest import NumberTargets
from posterity.trees.forests.normal_leaves import NormalLeaves

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class PartitionShares:
    """Numbers and weights of the rows of P partitions."""

    lengths: NDArray[np.int64]  # (P,)
    weights: Array  # (P,), in all
    present: NDArray[np.int64]  # (P,), rows that count
    are_whole: bool  # whether all weights say how often rows are there

    @property
    def row_counts(self) -> Array:
        """Number of rows to draw from, (P,); see :func:`sampling.count_rows`."""
        return self.weights if self.are_whole else self.present.astype(np.float64)

    def join(self, other: PartitionShares) -> PartitionShares:
        """Those of partitions that follow each other."""
        return PartitionShares(
            np.concatenate([self.lengths, other.lengths]),
            np.concatenate([self.weights, other.weights]),
            np.concatenate([self.present, other.present]),
            self.are_whole and other.are_whole,
        )


@dataclass(frozen=True, eq=False)
class CountedRows(Generic[T]):
    """The rows, with their numbers known, the shares of partitions, and what targets amount to."""

    partitions: Partitions
    shares: PartitionShares
    targets: T

    def encode_targets(self, encode: Callable[[NDArray[Any]], Array]) -> CountedRows[T]:
        """The same rows with ``encode(y)`` in place of their targets."""
        return replace(self, partitions=self.partitions.encode_targets(encode))


def count_classes(partitions: Partitions) -> CountedRows[Tally]:
    """The classes, sorted, and their counts, by one pass."""
    found = _count(partitions.encode_targets(_drop_targets), _tally_classes, add_counts)
    return replace(found, partitions=replace(found.partitions, encode=partitions.encode))


def sum_numbers(partitions: Partitions) -> CountedRows[NormalLeaves]:
    """Weight, mean and squared deviations of all targets, as one leaf: one pass."""
    return _count(partitions, _sum_moments, NormalLeaves.add)


def _count(
    partitions: Partitions,
    look: Callable[[Any, int, RowBlock], T],
    merge: Callable[[T, T], T],
) -> CountedRows[T]:
    if partitions.form.target_shape is None:
        raise ValueError("The rows have no targets: pass y, on Dask as X is.")
    shares, targets = dask_graph.map_and_merge(
        partitions.pieces,
        _PartitionCount(partitions.recipe, look),
        _CountMerge(merge),
        description="Reading targets",
    )
    if not shares.lengths.any():
        raise ValueError("the partitions hold no rows; pass at least one.")
    if not shares.present.any():
        raise ValueError(
            "sample_weight is zero in every row; at least one weight must be positive."
        )
    known = replace(partitions, known_lengths=tuple(shares.lengths.tolist()))
    return CountedRows(known, shares, targets)


@dataclass(frozen=True)
class _PartitionCount(Generic[T]):
    """Counts the rows of one partition."""

    recipe: BlockRecipe
    look: Callable[[Any, int, RowBlock], T]

    def __call__(self, raw: Any, number: int) -> tuple[PartitionShares, T]:
        block = self.recipe.make_block(self.recipe.convert_parts(raw, number), number)
        w = block.make_weights()
        counts = np.array([len(w)]), np.array([w.sum()]), np.array([np.count_nonzero(w)])
        return PartitionShares(*counts, sampling.is_whole(w)), self.look(raw, number, block)


@dataclass(frozen=True)
class _CountMerge(Generic[T]):
    """Adds up the counts of neighbours."""

    targets: Callable[[T, T], T]

    def __call__(
        self, one: tuple[PartitionShares, T], other: tuple[PartitionShares, T]
    ) -> tuple[PartitionShares, T]:
        return one[0].join(other[0]), self.targets(one[1], other[1])


def _tally_classes(raw: Any, number: int, block: RowBlock) -> Tally:
    del block
    return count_targets(raw, number)


def _sum_moments(raw: Any, number: int, block: RowBlock) -> NormalLeaves:
    del raw, number
    assert block.y is not None
    kind, leaf = NumberTargets(), np.zeros(len(block), dtype=np.int32)
    return kind.leaves(leaf, kind.targets(block.y), block.make_weights(), 1)


def _drop_targets(y: NDArray[Any]) -> Array:
    """Return zeros in place of classes, which are not encoded yet."""
    return np.zeros(y.shape)
