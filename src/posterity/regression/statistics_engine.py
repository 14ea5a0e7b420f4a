"""Relevance vectors among given candidates in normal noise, from statistics of their columns.

A sparse model with normal noise sees its rows by the products of its columns and targets only. Of a
few candidates these are few, whatever the number of rows and wherever they are: one pass over the
rows finds them, and vectors, their number and their weights follow without another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from posterity import designs, kernels, models
from posterity.arrays import Array

_VALUES = 1 << 22  # of a kernel matrix, 32 MiB, that are in memory at a time
_TALL = 2  # times as many rows as columns, at least, where a factor of them is merged


@dataclass(frozen=True)
class BlockStatistics:
    """From a block of rows to the statistics of its columns and targets, wherever the block is."""

    columns: models.CentredColumns
    shift: bool

    def __call__(self, block: designs.Block) -> designs.Statistics:
        """Of one block, whose targets were asked for before."""
        assert block.y is not None
        Y = block.y.reshape(len(block), -1)
        return self.of(block.X, Y, block.sample_weight)

    def of_training(self, training: models.Training) -> designs.Statistics:
        """Of rows in memory."""
        t = training
        return self.of(t.rows, t.Y, t.weights, t.known_noise)

    def of(
        self, rows: Any, Y: Array, weights: Array | None, known_noise: Array | None = None
    ) -> designs.Statistics:
        """A few rows at a time: their kernel matrix is much larger than they are."""
        M = max(1, kernels.rows.count(self.columns.centres))
        step = max(_TALL * M, _VALUES // M)
        total: designs.Statistics | None = None
        for i in range(0, len(Y), step):
            few = slice(i, i + step)
            part = designs.Statistics.of(
                self.columns(kernels.rows.between(rows, i, i + step)),
                Y[few],
                sample_weight=None if weights is None else weights[few],
                noise_variance=None if known_noise is None else known_noise[few],
                shift=self.shift,
            )
            total = part if total is None else total.merge(part)
        assert total is not None  # blocks have rows
        return total
