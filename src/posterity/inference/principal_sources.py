"""Where principal components find their rows: in memory, in blocks, or summed up in a factor.

A source answers with moments, which are cheap, and with an orthogonal factor, which keeps the
digits that squares lose. Those in memory can be asked for the rows about their mean, too.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from posterity import designs, linalg, progress
from posterity.arrays import Array
from posterity.designs import centred
from posterity.designs.centred import Centred
from posterity.designs.moments import Moments


class Source(Protocol):
    """Rows, seen through their second moments."""

    @property
    def shape(self) -> tuple[int, int]:
        """N and D."""

    def moments(self) -> Moments:
        """Count, mean and scatter."""

    def factor(self, mean: Array) -> Array:
        """R (r, D) with R^T R the scatter about the mean, by orthogonal transformations."""


class Present(Source, Protocol):
    """Rows that are in memory all at once."""

    def about_mean(self) -> tuple[Centred, Array, float]:
        """The rows about their mean, that mean, and the total weight."""


@dataclass(frozen=True)
class InMemory:
    """The rows of an array, with weights where they have any, all above zero."""

    X: Array  # (N, D)
    weights: Array | None = None  # (N,)

    @property
    def shape(self) -> tuple[int, int]:
        """N and D."""
        return self.X.shape[0], self.X.shape[1]

    def moments(self) -> Moments:
        """By one pass, or two."""
        return Moments.of(self.X, self.weights)

    def about_mean(self) -> tuple[Centred, Array, float]:
        """Without a copy of the rows."""
        mean = centred.column_means(self.X, self.weights)
        root = None if self.weights is None else np.sqrt(self.weights)
        total = float(len(self.X)) if self.weights is None else float(self.weights.sum())
        return Centred(self.X, mean, root), mean, total

    def factor(self, mean: Array) -> Array:
        """Block by block."""
        return _factor(_about(self.X, self.weights, mean), self.X.shape[1])


@dataclass(frozen=True)
class Streamed:
    """The rows of chunks that can be read again, more of them than columns."""

    chunks: designs.Chunks
    n_rows: int

    @property
    def shape(self) -> tuple[int, int]:
        """N and D."""
        return self.n_rows, self.chunks.n_features

    def moments(self) -> Moments:
        """By one pass."""
        parts = (Moments.of(*block) for block in self._blocks())
        first = next(parts, None)
        if first is None:
            raise ValueError("The chunks hold no rows of positive weight.")
        return functools.reduce(Moments.merge, parts, first)

    def factor(self, mean: Array) -> Array:
        """By another pass."""
        blocks = (A for block in self._blocks() for A in _about(*block, mean))
        return _factor(blocks, self.chunks.n_features)

    def _blocks(self) -> Iterator[tuple[Array, Array | None]]:
        """The rows of each block that count, and their weights."""
        for block in progress.track(self.chunks, total=self.n_rows, description="Reading rows"):
            rows, weights = counting(block.X, block.sample_weight)
            if len(rows):
                yield rows, weights


@dataclass(frozen=True)
class Factored:
    """Rows that have come and gone: a factor of their scatter, their mean and their number."""

    B: Array  # (r, D)
    mean: Array  # (D,)
    count: float

    @classmethod
    def of(cls, statistics: designs.Statistics) -> Factored:
        """From merged statistics, without targets."""
        B, mean, _ = statistics.centred()
        return cls(B, mean, statistics.count)

    @property
    def shape(self) -> tuple[int, int]:
        """One more than the rows of the factor, which are orthogonal to the mean; and D."""
        return len(self.B) + 1, self.B.shape[1]

    def moments(self) -> Moments:
        """From the factor."""
        scatter = linalg.products.gram(self.B)
        still = np.zeros_like(self.mean)
        return Moments(self.count, self.mean, still, scatter, self.shape[0])

    def about_mean(self) -> tuple[Centred, Array, float]:
        """The factor stands for the rows."""
        return Centred(self.B, np.zeros_like(self.mean), None), self.mean, self.count

    def factor(self, mean: Array) -> Array:
        """It is one."""
        return self.B


def counting(X: Array, weights: Array | None) -> tuple[Array, Array | None]:
    """The rows whose weight is not zero, and their weights; no copy where that is all of them."""
    if weights is None or weights.all():
        return X, weights
    kept = weights > 0.0
    return X[kept], weights[kept]


def _factor(blocks: Iterator[Array], n_columns: int) -> Array:
    """One factor of successive rows."""
    return functools.reduce(linalg.merge_factors, blocks, np.empty((0, n_columns)))


def _about(X: Array, weights: Array | None, mean: Array) -> Iterator[Array]:
    """Blocks of rows about the mean."""
    root = None if weights is None else np.sqrt(weights)
    return (A for _, A in Centred(X, mean, root).row_blocks(4 * X.shape[1]))
