"""Rows that lie in the partitions of Dask collections, and stay there: to fit to, and to sum up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np

from posterity import designs
from posterity.arrays import Array
from posterity.inference.observations import HeldRows, Observations, ObservedRows, PartFunction
from posterity.models.streamed_rows import Source
from posterity.models.training import ColumnMoments, Training


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
    observations : Observations
        Without rows: what weights add to the log evidence.
    column : int, optional
        The one output that is looked at. None: all.
    """

    partitions: designs.Partitions
    centre: Array
    scale: Array
    n_present: int
    observations: Observations
    column: int | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows, N."""
        return self.n_present

    def select_output(self, k: int) -> PartitionedRows:
        """The same rows with one output of theirs."""
        one = slice(k, k + 1)
        centre, scale = self.centre[one], self.scale[one]
        alone = self.observations.select_output(k)
        return replace(self, centre=centre, scale=scale, observations=alone, column=k)

    def without_repeats(self) -> PartitionedRows:
        """Rows as precise as their weights say, whose repetitions add nothing to the evidence."""
        return replace(self, observations=self.observations.without_repeats())

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


def check_process_source(model: Any, source: Source, known_noise: Any) -> designs.Partitions:
    """The partitions on which a process is fitted; refuse rows that it cannot take from there."""
    for sentence in _refusals(model, source, known_noise):
        raise ValueError(sentence)
    assert isinstance(source, designs.Partitions)
    return source


def _refusals(model: Any, source: Source, known_noise: Any) -> Iterator[str]:
    """Why rows that are not in memory cannot be fitted with the settings of a model."""
    if not isinstance(source, designs.Partitions):
        yield (
            "A process asks for its rows many times: pass arrays, or Dask arrays or data "
            "frames with inducing_points=512."
        )
    elif source.form.target_shape is None:
        yield "y is missing: pass one target for each row of X, as a Dask collection."
    if model.inducing_points is None:
        yield (
            "A process of all rows keeps them in memory, and X is a Dask collection: pass "
            "inducing_points=512, through which rows are summed up where they lie, or "
            "X.compute() where they fit."
        )
    if model.likelihood is not None:
        yield (
            "With a likelihood rows are kept in memory, and X is a Dask collection: pass "
            "X.compute() or a sample of the rows, or likelihood=None for normal noise."
        )
    if known_noise is not None or model.noise_variance == 0.0:
        yield (
            "On Dask the noise of all rows has one variance above zero: set noise_variance of "
            "the model, or let it be learned."
        )
    if model.device is not None or model._takes_objects:
        yield (
            "On Dask rows are vectors, and a worker computes on its host: use device=None and "
            "a kernel of vectors."
        )


@dataclass(frozen=True, eq=False)
class PartitionedTraining:
    """Rows on workers, which answer what a process asks of its rows.

    Parameters
    ----------
    partitions : Partitions
        With targets.
    merges : bool
        Whether equal rows of a sample are to be made one.
    """

    known_noise: ClassVar[None] = None  # row by row
    mean_known_noise: ClassVar[None] = None

    partitions: designs.Partitions
    merges: bool

    @property
    def target_moments(self) -> ColumnMoments:
        """Moments of the targets of all rows that count."""
        return self._target_count.moments

    @property
    def total_weight(self) -> float:
        """The number of rows, each counted by its weight."""
        return self._target_count.moments.weight

    def standardise_targets(self, centre: Array, scale: Array) -> PartitionedRows:
        """Return the rows as inference sees them, on the workers."""
        count = self._target_count
        no_rows = np.empty((0, len(centre)))
        repeats = Observations(no_rows, no_rows[:, 0], count.repeats, count.log_constant)
        return PartitionedRows(self.partitions, centre, scale, count.n_rows, repeats)

    def sample_rows(self, n: int, rng: np.random.Generator) -> Training:
        """Return at most n rows, drawn at random, in memory."""
        block = self.partitions.sample(n, rng)
        X, Y, weights = select_present_rows(block)
        if not len(X):
            raise ValueError(
                f"None of {n} rows drawn at random counts: drop the rows of weight zero first."
            )
        sample = Training.from_present_rows(X, Y, weights, None)
        return sample.merge_equal_rows() if self.merges else sample

    @cached_property
    def _target_count(self) -> _TargetCount:
        return self.partitions.reduce(
            _count_partition, _TargetCount.merge, description="Reading targets"
        )


Rows: TypeAlias = Training | PartitionedTraining
"""Rows that a process is fitted to."""


@dataclass(frozen=True)
class _TargetCount:
    """Sums over targets and weights, without their rows."""

    moments: ColumnMoments
    n_rows: int
    repeats: float
    log_constant: float

    def merge(self, other: _TargetCount) -> _TargetCount:
        """Return the counts of both sets of rows together."""
        return _TargetCount(
            self.moments.merge(other.moments),
            self.n_rows + other.n_rows,
            self.repeats + other.repeats,
            self.log_constant + other.log_constant,
        )


def _count_partition(block: designs.RowBlock) -> _TargetCount | None:
    """Count one partition; None where none of its rows counts."""
    X, Y, weights = select_present_rows(block)
    if not len(X):
        return None
    o = Observations.from_targets(Y, weights=weights)
    return _TargetCount(ColumnMoments.from_rows(Y, weights), len(Y), o.repeats, o.log_constant)
