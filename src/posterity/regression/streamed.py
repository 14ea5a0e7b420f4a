"""Linear models that also learn bit by bit, or from rows that never sit in memory at once."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from posterity import designs, models, progress, validation
from posterity.arrays import Array
from posterity.regression.linear_model import LinearModel, Rows

_SAMPLE_ROWS = 100_000  # features such as k-means centres are fitted on this many rows of a stream


class StreamedLinearModel(LinearModel):
    """A linear model whose columns do not depend on the rows, so that statistics merge."""

    def fit(
        self,
        X: ArrayLike | designs.Chunks,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        noise_variance: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D), or :class:`posterity.designs.Chunks`
            Inputs; chunks bring their own targets and weights and never sit in memory at once.
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
        X: ArrayLike | designs.Chunks,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        noise_variance: ArrayLike | None = None,
    ) -> Self:
        """Add rows to those seen so far; the result is that of one fit on all of them.

        Features are fitted on the rows of the first call. The parameters are those of ``fit``.
        """
        if getattr(self, "_statistics", None) is None:
            return self.fit(X, y, sample_weight, noise_variance)
        return self._add(X, y, sample_weight, noise_variance)

    def _add(
        self,
        X: ArrayLike | designs.Chunks,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None,
        noise_variance: ArrayLike | None,
    ) -> Self:
        if isinstance(X, designs.Chunks):
            if y is not None or sample_weight is not None or noise_variance is not None:
                raise ValueError("Chunks bring their own targets and weights: pass nothing else.")
            self._merge(self._statistics_of_chunks(X))
            return self
        first = self._statistics is None
        rows = self._check_rows(X, y, sample_weight, noise_variance, first=first)
        self._begin_or_continue(rows)
        self._merge(self._statistics_of(rows))
        if first:
            self._polish(rows)
        return self

    def _merge(self, new: designs.Statistics) -> None:
        merged = new if self._statistics is None else self._statistics.merge(new)
        self._statistics = merged
        self._conclude(merged)

    def _statistics_of_chunks(self, chunks: designs.Chunks) -> designs.Statistics:
        total: designs.Statistics | None = None
        for block in progress.track(chunks, total=chunks.n_rows, description="Reading rows"):
            rows = Rows(block.X, _targets(block), block.sample_weight, None)
            if total is None:
                self._open(chunks, rows)
            part = self._statistics_of(rows)
            total = part if total is None else total.merge(part)
        if total is None:
            raise ValueError("The chunks hold no rows.")
        return total

    def _open(self, chunks: designs.Chunks, rows: Rows) -> None:
        """Learn the columns from the first block; the features from a sample of all blocks."""
        names = chunks.feature_names
        if self._statistics is not None:
            self._check_columns(rows.X.shape[1], names)
            self._begin_or_continue(rows)
            return
        models.refuse_learned(self)
        validation.check_X_y(self, rows.X, rows.y)
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        sampled = self.features is not None and chunks.rereadable
        X = chunks.sample(_SAMPLE_ROWS, np.random.default_rng(0)).X if sampled else rows.X
        self._begin_or_continue(Rows(X, rows.y, None, None))

    def _check_columns(self, n_columns: int, names: tuple[str, ...] | None) -> None:
        """Chunks that come later must have the columns of the first rows, in their order."""
        if n_columns != self.n_features_in_:
            raise ValueError(
                f"The chunks have {n_columns} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features."
            )
        fitted = getattr(self, "feature_names_in_", None)
        if names is not None and fitted is not None and list(names) != list(fitted):
            raise ValueError(
                f"The feature names of the chunks, {list(names)}, are not those that were fitted, "
                f"{list(fitted)}: name the columns in that order with features=[...]."
            )

    def _begin_or_continue(self, rows: Rows) -> None:
        if self._statistics is None:
            self._begin(rows)
            return
        if self._known_noise != (rows.noise_variance is not None):
            raise ValueError("Give noise_variance in every call of partial_fit, or in none.")
        if self._single_output != (rows.y.ndim == 1):
            raise ValueError("The targets changed between one and two dimensions.")


def _targets(block: designs.Block) -> Array:
    if block.y is None:
        raise ValueError("The chunks hold no targets: give them a y, or name the target column.")
    return block.y
