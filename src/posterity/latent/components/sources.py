"""Sources of rows for principal components: memory, blocks, or a factor that sums them up.

A source answers with moments, which are cheap, and with an orthogonal factor, which keeps the
digits that squares lose. Those in memory can be asked for the rows about their mean, too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias, TypeVar

import numpy as np

from posterity import designs, linalg
from posterity.arrays import Array
from posterity.designs import moments
from posterity.designs.moments import Centred, RowMoments

T = TypeVar("T")


@dataclass(frozen=True)
class MemorySource:
    """The rows of an array, with weights where they have any, all above zero."""

    X: Array  # (N, D)
    weights: Array | None = None  # (N,)

    @property
    def shape(self) -> tuple[int, int]:
        """N and D."""
        return self.X.shape[0], self.X.shape[1]

    def moments(self) -> RowMoments:
        """Count, mean and scatter, by one pass or two."""
        return RowMoments.from_rows(self.X, self.weights)

    def about_mean(self) -> tuple[Centred, Array, float]:
        """The rows about their mean, without a copy; that mean, and the total weight."""
        mean = moments.compute_column_means(self.X, self.weights)
        root = None if self.weights is None else np.sqrt(self.weights)
        total = float(len(self.X)) if self.weights is None else float(self.weights.sum())
        return Centred(self.X, mean, root), mean, total

    def factor(self, mean: Array) -> Array:
        """R (r, D) with R^T R the scatter about the mean, by orthogonal transformations."""
        return _factor_blocks(_center_blocks(self.X, self.weights, mean), self.X.shape[1])


@dataclass(frozen=True)
class StreamedSource:
    """Rows that are read block by block, as often as necessary, or that are on workers."""

    rows: designs.Rows

    @property
    def shape(self) -> tuple[int, int]:
        """N, of rows that count, and D."""
        return self._moments.n_rows, self.rows.n_features

    @cached_property
    def _moments(self) -> RowMoments:
        """By one pass."""
        return sum_over_blocks(self.rows, RowMoments.from_rows, RowMoments.merge)

    def moments(self) -> RowMoments:
        """Count, mean and scatter; the scatter belongs to the caller."""
        return replace(self._moments, scatter=self._moments.scatter.copy())

    def factor(self, mean: Array) -> Array:
        """R (r, D) with R^T R the scatter about the mean, by another pass."""

        def of_rows(X: Array, weights: Array | None) -> Array:
            return _factor_blocks(_center_blocks(X, weights, mean), X.shape[1])

        return sum_over_blocks(self.rows, of_rows, linalg.merge_factors)


def sum_over_blocks(
    rows: designs.Rows,
    function: Callable[[Array, Array | None], T],
    merge: Callable[[T, T], T],
) -> T:
    """The merged results of ``function(X, weights)`` for the rows of each block that count."""

    def of_block(block: designs.RowBlock) -> T | None:
        X, weights = select_counted_rows(block.X, block.sample_weight)
        return function(X, weights) if len(X) else None

    return rows.reduce(of_block, merge)


@dataclass(frozen=True)
class FactoredSource:
    """Rows that have come and gone: a factor of their scatter, their mean and their number."""

    B: Array  # (r, D)
    mean: Array  # (D,)
    count: float

    @classmethod
    def from_statistics(cls, statistics: designs.Statistics) -> FactoredSource:
        """From merged statistics, without targets."""
        B, mean, _ = statistics.compute_centred_factor()
        return cls(B, mean, statistics.count)

    @property
    def shape(self) -> tuple[int, int]:
        """One more than the rows of the factor, which are orthogonal to the mean; and D."""
        return len(self.B) + 1, self.B.shape[1]

    def moments(self) -> RowMoments:
        """Count, mean and scatter, from the factor."""
        scatter = linalg.products.gram(self.B)
        still = np.zeros_like(self.mean)
        return RowMoments(self.count, self.mean, still, scatter, self.shape[0])

    def about_mean(self) -> tuple[Centred, Array, float]:
        """The factor, which stands for the rows about their mean; that mean, and the weight."""
        return Centred(self.B, np.zeros_like(self.mean), None), self.mean, self.count

    def factor(self, mean: Array) -> Array:
        """R (r, D) with R^T R the scatter about the mean: the factor itself."""
        return self.B


RowSource: TypeAlias = MemorySource | StreamedSource | FactoredSource
"""Rows, seen through their second moments."""

PresentRows: TypeAlias = MemorySource | FactoredSource
"""Rows, or a factor that stands for them, in memory all at once."""


def select_counted_rows(X: Array, weights: Array | None) -> tuple[Array, Array | None]:
    """The rows whose weight is not zero, and their weights; no copy where that is all of them."""
    if weights is None or weights.all():
        return X, weights
    kept = weights > 0.0
    return X[kept], weights[kept]


def _factor_blocks(blocks: Iterator[Array], n_columns: int) -> Array:
    """One factor of successive rows."""
    return functools.reduce(linalg.merge_factors, blocks, np.empty((0, n_columns)))


def _center_blocks(X: Array, weights: Array | None, mean: Array) -> Iterator[Array]:
    """Blocks of rows about the mean."""
    root = None if weights is None else np.sqrt(weights)
    return (A for _, A in Centred(X, mean, root).row_blocks(4 * X.shape[1]))
