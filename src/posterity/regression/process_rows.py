"""The rows of a fit of a Gaussian process: in memory, or on the workers of Dask."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from posterity import designs, models
from posterity.arrays import Array
from posterity.regression.process_likelihood import LikelihoodProcess


class RowsProcess(LikelihoodProcess):
    """A process that takes in rows wherever they are."""

    def _fit_rows(
        self, rows: Any, y: Array, sample_weight: ArrayLike | None, known_noise: Array | None
    ) -> Self:
        """Of rows in memory that have been checked."""
        weights = models.checked_weights(sample_weight, len(y))
        self._single_output, self._n_outputs = y.ndim == 1, y[0].size
        given = models.Training.present(rows, y.reshape(len(y), -1), weights, known_noise)
        self._settle(self._distinct(given))
        return self

    def _fit_source(self, source: models.Source, known_noise: Any) -> Self:
        """Of rows on the workers of Dask; so few as a search would look at are brought here."""
        for sentence in self._refusals(source, known_noise):
            raise ValueError(sentence)
        assert isinstance(source, designs.Partitions)
        if source.n_rows <= self._shown_rows:
            return self._fit_few(source)
        models.learn_columns(self, source)
        shape = source.form.target_shape
        self._single_output, self._n_outputs = shape == (), math.prod(shape or ())
        merges = not self._kernel_given().tells_rows_apart
        self._settle(models.PartitionedTraining(source, merges))
        return self

    def _fit_few(self, source: designs.Partitions) -> Self:
        """Of all rows, brought here."""
        block = source.chosen(np.arange(source.n_rows))
        least = self._least_rows(noise_is_known=False)
        rows, y = self._check_training(block.X, block.y, reset=True, min_rows=least)
        models.learn_columns(self, source)  # their names, which an array has not
        return self._fit_rows(rows, y, block.sample_weight, None)

    def _refusals(self, source: models.Source, known_noise: Any) -> Iterator[str]:
        """Why rows that are not in memory cannot be fitted with these settings."""
        if not isinstance(source, designs.Partitions):
            yield (
                "A process asks for its rows many times: pass arrays, or Dask arrays or data "
                "frames with inducing_points=512."
            )
        elif source.form.target_shape is None:
            yield "y is missing: pass one target for each row of X, as a Dask collection."
        if self.inducing_points is None:
            yield (
                "A process of all rows keeps them in memory, and X is a Dask collection: pass "
                "inducing_points=512, through which rows are summed up where they lie, or "
                "X.compute() where they fit."
            )
        if self.likelihood is not None:
            yield (
                "With a likelihood rows are kept in memory, and X is a Dask collection: pass "
                "X.compute() or a sample of the rows, or likelihood=None for normal noise."
            )
        if known_noise is not None or self.noise_variance == 0.0:
            yield (
                "On Dask the noise of all rows has one variance above zero: set noise_variance of "
                "the model, or let it be learned."
            )
        if self.device is not None or self._takes_objects:
            yield (
                "On Dask rows are vectors, and a worker computes on its host: use device=None and "
                "a kernel of vectors."
            )

    def _distinct(self, given: models.Training) -> models.Training:
        """Equal rows made one where the kernel cannot tell them apart."""
        exact = self.noise_variance == 0.0 and given.known_noise is None
        if exact:
            given.require_single()
            self._require_all_rows()
        if self._kernel_given().tells_rows_apart:
            return given
        return given.interpolated() if exact else given.merged()

    def _require_all_rows(self) -> None:
        """Refuse points where there is no noise."""
        if self.inducing_points is not None:
            raise ValueError(
                "Inducing points sum up rows under noise, and noise_variance=0.0 leaves none: use "
                "inducing_points=None to interpolate, or a small noise_variance."
            )

    def _least_rows(self, *, noise_is_known: bool) -> int:
        """One row tells nothing of parameters."""
        learns_noise = self.noise_variance is None and not noise_is_known
        return 2 if learns_noise or self._kernel_given().names else 1
