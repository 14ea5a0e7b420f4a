"""Observed rows that lie in the partitions of Dask collections, and stay there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posterity import designs
from posterity.arrays import Array
from posterity.inference.observations import HeldRows, Observations, ObservedRows, PartFunction


@dataclass(frozen=True)
class PartitionedRows(ObservedRows):
    """Rows on workers, who add up what is asked of them: one pass, and one answer back.

    Parameters
    ----------
    partitions : Partitions
        With targets. Rows of weight zero are absent.
    centre, scale : array of shape (K,)
        Taken off the targets, and what they are then divided by.
    n_present : int
        How many rows are not of weight zero.
    repeats : Observations
        Without rows: what weights add to the log evidence.
    column : int, optional
        The one output that is looked at. None: all.
    """

    partitions: designs.Partitions
    centre: Array
    scale: Array
    n_present: int
    repeats: Observations
    column: int | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows, N."""
        return self.n_present

    @property
    def n_outputs(self) -> int:
        """Number of outputs, K."""
        return self.repeats.n_outputs

    def log_apart(self, noise_variance: float) -> tuple[float, float]:
        """What repeated rows add to the log evidence, and its slope in log noise_variance."""
        return self.repeats.log_apart(noise_variance)

    def select_output(self, k: int) -> PartitionedRows:
        """The same rows with one output of theirs."""
        one = slice(k, k + 1)
        centre, scale = self.centre[one], self.scale[one]
        repeats = self.repeats.select_output(k)
        return replace(self, centre=centre, scale=scale, repeats=repeats, column=k)

    def without_repeats(self) -> PartitionedRows:
        """Rows as precise as their weights say, whose repetitions add nothing to the evidence."""
        return replace(self, repeats=self.repeats.without_repeats())

    def sum_terms(self, function: PartFunction, n_points: int) -> list[Any]:
        """On the workers: block by block within a partition, and partitions in a tree."""
        terms = _Terms(function, n_points, self.centre, self.scale, self.column)
        return self.partitions.reduce(
            terms, designs.base.add_terms, description="Summing over rows"
        )


def select_present_rows(block: designs.RowBlock) -> tuple[Array, Array, Array]:
    """The rows of a block that count: inputs, targets (n, K) and weights."""
    if block.y is None:
        raise ValueError("There are no targets: pass y as a Dask collection beside X.")
    Y, w = block.y.reshape(len(block), -1), block.sample_weight
    if w is None:
        return block.X, Y, np.ones(len(block))
    if np.all(w > 0.0):
        return block.X, Y, w
    kept = w > 0.0
    return block.X[kept], Y[kept], w[kept]


@dataclass(frozen=True)
class _Terms:
    """The result of a function for a partition; None if no row of it has weight."""

    function: PartFunction
    n_points: int
    centre: Array
    scale: Array
    column: int | None

    def __call__(self, block: designs.RowBlock) -> list[Any] | None:
        X, Y, weights = select_present_rows(block)
        Y = Y if self.column is None else Y[:, self.column : self.column + 1]
        if not len(X):
            return None
        observations = Observations.from_targets((Y - self.centre) / self.scale, weights=weights)
        return HeldRows(X, observations).sum_terms(self.function, self.n_points)
