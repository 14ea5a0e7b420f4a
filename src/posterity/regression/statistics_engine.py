"""Relevance vectors among given candidates in normal noise, from statistics of their columns.

A sparse model with normal noise sees its rows by the products of its columns and targets only. Of a
few candidates these are few, whatever the number of rows and wherever they are: one pass over the
rows finds them, and vectors, their number and their weights follow without another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import designs, kernels, models, priors
from posterity.arrays import Array
from posterity.inference.sparse_bayes import Chosen, Fitted, alternate_normal, select_normal
from posterity.regression import sparse_noise
from posterity.regression.sparse_linear import EqualRows
from posterity.regression.sparse_noise import Noise

_COARSE = 0.1  # nats, where only to be compared
_VALUES = 1 << 22  # of a kernel matrix, 32 MiB, that are in memory at a time
_TALL = 2  # times as many rows as columns, at least, where a factor of them is merged


@dataclass(frozen=True)
class StatisticsEngine:
    """What rows say of the columns of one kernel about the candidates, and K outputs."""

    rows: EqualRows
    noise: Noise
    centred: bool
    prior: priors.Sparse
    tol: float = 1e-3
    max_iter: int = 1000

    @property
    def total_weight(self) -> float:
        """How many rows there are when each is repeated by its weight."""
        return self.noise.unit * self.rows.total

    def counted(self, factor: float) -> StatisticsEngine:
        """The same with all rows counted so many times as much."""
        return replace(self, rows=replace(self.rows, total=factor * self.rows.total))

    def confined(self, places: NDArray[np.intp]) -> StatisticsEngine:
        """The same with these as the only candidates, by their order."""
        return replace(self, rows=replace(self.rows, Z=self.rows.Z[:, places]))

    def maximise(
        self, kernel: kernels.Kernel, start: Chosen | None, *, coarse: bool
    ) -> Fitted[None]:
        """The vectors of the largest evidence, of the one kernel that made the columns."""
        del kernel
        units = sparse_noise.units(self.rows.Y)
        chosen = select_normal(
            self._candidates(),
            self.rows.Y / units,
            self._weights(),
            centred=self.centred,
            noise_variance=self.noise.variances(units),
            prior=self.prior,
            start=start,
            reheats=1 if coarse else None,
            tol=_COARSE if coarse else self.tol,
            max_iter=self.max_iter,
        )
        return Fitted(chosen, None, len(chosen.places))

    def price(self, fitted: Fitted[None]) -> float:
        """None: in learned noise a vector of its own earns a row no more than a nat or so."""
        del fitted
        return 0.0

    def alternated(self) -> Chosen:
        """The vectors that the textbook's alternation ends with."""
        units = sparse_noise.units(self.rows.Y)
        return alternate_normal(
            self._candidates(),
            self.rows.Y / units,
            self._weights(),
            centred=self.centred,
            noise_variance=self.noise.variances(units),
            prior=self.prior,
            max_iter=self.max_iter,
        )

    def _candidates(self) -> designs.Candidates:
        columns = designs.MatrixColumns(self.rows.Z)
        return designs.Candidates.of(columns, self._weights(), centred=self.centred)

    def _weights(self) -> Array:
        return self.noise.unit * self.rows.weights


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

    def of(
        self, rows: Any, Y: Array, weights: Array | None, known_noise: Array | None = None
    ) -> designs.Statistics:
        """A few rows at a time: their kernel matrix is much larger than they are."""
        M = kernels.rows.count(self.columns.centres)
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
