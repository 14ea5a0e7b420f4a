"""Linear models that also learn bit by bit, or from rows that never sit in memory at once."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from posterity import designs, models, progress
from posterity.arrays import Array
from posterity.linear.linear_model import FeatureRows, LinearModel


class StreamedLinearModel(LinearModel):
    """A linear model whose columns do not depend on the rows, so that statistics merge."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        noise_variance: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D), :class:`posterity.designs.Chunks`, or Dask's
            Inputs; chunks bring their own targets and weights and never sit in memory at once.
            Rows of a Dask array or data frame stay on the workers, with those of y and weights.
        y : array-like of shape (N,) or (N, K)
            Targets.
        sample_weight : array-like of shape (N,), optional
            How often each row counts: an integer weight equals repeating the row.
        noise_variance : array-like of shape (N,), optional
            Known variance of the noise of each row. The noise is then not learned.
        """
        self._statistics: designs.Statistics | None = None
        return self._add(X, y, sample_weight, noise_variance)

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        noise_variance: ArrayLike | None = None,
    ) -> Self:
        """Add rows to those seen so far; the result is that of one fit on all of them.

        Features are fitted on the rows of the first call. The parameters are those of ``fit``.
        After a first call with one row, the mean can be predicted, the noise is not known yet.
        """
        self._statistics = getattr(self, "_statistics", None)
        return self._add(X, y, sample_weight, noise_variance, streams=True)

    def _add(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        noise_variance: ArrayLike | None,
        *,
        streams: bool = False,
    ) -> Self:
        source = models.find_streamed_source(X, y, sample_weight)
        if source is not None:
            _refuse_noise(noise_variance)
            self._has_one_row = False
            self._merge(self._statistics_of_source(source))
            return self
        first = self._statistics is None
        # Of one row, features cannot learn where and how wide they must be.
        least = 1 if not first or (streams and self.features is None) else 2
        given = X, y, sample_weight, noise_variance
        rows = self._check_rows(*given, first=first, min_rows=least)
        self._has_one_row = first and len(rows.X) == 1
        self._begin_or_continue(rows)
        self._merge(self._statistics_of(rows))
        if first:
            self._polish(rows)
        return self

    def _merge(self, new: designs.Statistics) -> None:
        merged = new if self._statistics is None else self._statistics.merge(new)
        self._statistics = merged
        self._fit_statistics(merged)

    def _statistics_of_source(self, source: models.Source) -> designs.Statistics:
        """Return the statistics of rows that are not in memory all at once."""
        if isinstance(source, designs.Partitions):
            self._start_source(source, np.empty((0, *(source.form.target_shape or ()))))
            bare = clone(self)  # what travels needs no more than this
            bare.features_ = self.features_
            return source.reduce(bare._statistics_of_block, designs.Statistics.merge)
        total: designs.Statistics | None = None
        for block in progress.track(source, total=source.n_rows, description="Reading rows"):
            if total is None:
                self._start_source(source, _targets(block), block.X)
            part = self._statistics_of_block(block)
            total = part if total is None else total.merge(part)
        if total is None:
            raise ValueError("The chunks hold no rows.")
        return total

    def _statistics_of_block(self, block: designs.RowBlock) -> designs.Statistics:
        return self._statistics_of(FeatureRows(block.X, _targets(block), block.sample_weight, None))

    def _start_source(self, source: models.Source, y: Array, X: Array | None = None) -> None:
        """Learn the columns; the features from a sample of all rows, or from the first of them."""
        if self._statistics is not None:
            models.check_columns(self, source)
            self._begin_or_continue(FeatureRows(np.empty((0, source.n_features)), y, None, None))
            return
        models.refuse_learned(self)
        models.learn_columns(self, source)
        first = models.sample_rows(self, source) if source.rereadable or X is None else X
        self._begin_or_continue(FeatureRows(first, y, None, None))

    def _begin_or_continue(self, rows: FeatureRows) -> None:
        if self._statistics is None:
            self._start_fit(rows)
            return
        if self._known_noise != (rows.noise_variance is not None):
            raise ValueError("Give noise_variance in every call of partial_fit, or in none.")
        if self._single_output != (rows.y.ndim == 1):
            raise ValueError("The targets changed between one and two dimensions.")


def _refuse_noise(noise_variance: ArrayLike | None) -> None:
    """Rows that are read block by block bring targets and weights, and nothing else."""
    if noise_variance is not None:
        raise ValueError(
            "Chunks and Dask collections bring their own targets and weights: noise_variance by "
            "row is for rows in memory."
        )


def _targets(block: designs.RowBlock) -> Array:
    if block.y is None:
        raise ValueError("The rows hold no targets: give them a y, or name the target column.")
    return block.y
