"""Models whose mean is linear in the features, which learn from sums over rows alone."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import Tags

from posterity import designs, distributions, likelihoods, models, progress, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters
from posterity.inference.conjugate import LinearProblem, reduce_statistics
from posterity.models.regressor import DISTRIBUTION, Regressor


@dataclass(frozen=True)
class FeatureRows:
    """Validated rows: inputs (N, D), targets (N,) or (N, K), and what is known of each row."""

    X: Array
    y: Array
    sample_weight: Array | None
    noise_variance: Array | None

    @property
    def Y(self) -> Array:
        """The targets as columns."""
        return self.y[:, None] if self.y.ndim == 1 else self.y

    @property
    def root_weight(self) -> Array | None:
        """What each row is multiplied by in least squares; None where all count alike."""
        if self.sample_weight is None and self.noise_variance is None:
            return None
        weight = np.ones(len(self.X)) if self.sample_weight is None else self.sample_weight
        variance = 1.0 if self.noise_variance is None else self.noise_variance
        return np.sqrt(weight / variance)


@declare_parameters
class LinearModel(models.FeatureModel, Regressor):
    """A regressor that learns from its rows only through :class:`posterity.designs.Statistics`.

    A subclass writes ``_fit_statistics``, which turns the statistics into fitted attributes, and
    ``_predict_from_features``.
    """

    fit_intercept: bool = True

    _has_one_row = False  # of a stream that has only begun

    @abc.abstractmethod
    def _fit_statistics(self, statistics: designs.Statistics) -> None:
        """Set the fitted attributes."""

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        noise_variance: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D)
            Inputs.
        y : array-like of shape (N,) or (N, K)
            Targets.
        sample_weight : array-like of shape (N,), optional
            How often each row counts: an integer weight equals repeating the row.
        noise_variance : array-like of shape (N,), optional
            Known variance of the noise of each row. The noise is then not learned.
        """
        rows = self._check_rows(X, y, sample_weight, noise_variance, first=True)
        self._start_fit(rows)
        self._fit_statistics(self._statistics_of(rows))
        self._polish(rows)
        return self

    @models.answer_lazily(DISTRIBUTION)
    def predict_dist(
        self, X: ArrayLike, *, noise_variance: ArrayLike | None = None
    ) -> distributions.Univariate:
        """The predictive distribution at each row.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Query rows.
        noise_variance : float or array-like of shape (n,), optional
            Variance of the noise of the new targets. None: that of the training rows (their
            average where it was known row by row). 0: the noise-free function.
        """
        if self._has_one_row and not self._is_noise_given:
            raise ValueError(
                "The model has seen one row, which does not tell the noise: call partial_fit with "
                "further rows first. The mean is known: predict."
            )
        return self._answer_queries(self._predict_from_features, X, noise_variance)

    @abc.abstractmethod
    def _predict_from_features(
        self, Z: Array, noise_variance: ArrayLike | None
    ) -> distributions.Univariate:
        """The predictive distribution at rows of the design."""

    def _polish(self, rows: FeatureRows) -> None:
        """What can be said more exactly while the rows are at hand."""

    def _check_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        noise_variance: Any,
        *,
        first: bool,
        min_rows: int = 2,
    ) -> FeatureRows:
        """Validated rows; two at least for a fit, since one does not tell the noise."""
        X_rows, targets = validation.check_X_y(self, X, y, reset=first, min_rows=min_rows)
        check = validation.check_repetitions if first else validation.check_sample_weight
        weight = check(sample_weight, len(X_rows))
        if first:
            weight = self._weigh_copies(X_rows, targets, weight)
        if noise_variance is None:
            return FeatureRows(X_rows, targets, weight, None)
        noise = validation.check_positive(noise_variance, "noise_variance", length=len(X_rows))
        return FeatureRows(X_rows, targets, weight, noise)

    def _start_fit(self, rows: FeatureRows) -> None:
        """Remember the form of the targets and fit the features."""
        self._single_output = rows.y.ndim == 1
        self._known_noise = rows.noise_variance is not None
        self._fit_features(rows.X, rows.sample_weight)
        self._move_units(rows.X, rows.y, rows.sample_weight, likelihoods.Normal())

    def _statistics_of(self, rows: FeatureRows) -> designs.Statistics:
        return designs.Statistics.from_rows(
            self._training_columns(rows.X),
            rows.Y,
            sample_weight=rows.sample_weight,
            noise_variance=rows.noise_variance,
            shift=self._is_centred,
        )

    def _reduce_statistics(
        self, statistics: designs.Statistics, *, standardize: bool
    ) -> LinearProblem:
        """Return the problem that the statistics describe, in the columns of the design."""
        return reduce_statistics(
            statistics, fit_intercept=self._is_centred, standardize=standardize
        )

    @property
    def has_known_noise(self) -> bool:
        """Whether the fit was told the variance of the noise of each row."""
        return self._known_noise

    @property
    def _is_noise_given(self) -> bool:
        """Whether the noise was not learned from the rows."""
        return self._known_noise or getattr(self, "noise_variance", None) is not None

    @property
    def _is_centred(self) -> bool:
        """Whether the intercept is free to follow the centre of the rows."""
        return self.fit_intercept

    def _predict_mean_from_features(self, Z: Array) -> Array:
        """The mean prediction at rows of the design."""
        return Z @ self.coef_.T + self.intercept_

    def _predict_mean(self, X: ArrayLike) -> Array:
        return self._answer_queries(self._predict_mean_from_features, X)

    def _publish(self, coef: Array, intercept: Array) -> None:
        """Weights (M, K) and offsets (K,), in the shapes scikit-learn uses."""
        self.coef_ = self._per_output(np.ascontiguousarray(coef.T))
        self.intercept_ = self._per_output(intercept) if self.fit_intercept else 0.0

    def _per_output(self, values: Array) -> Any:
        """One value an output, or the value itself where the target was one-dimensional."""
        if not self._single_output:
            return values
        return float(values[0]) if values.ndim == 1 else values[0]

    def _per_row(self, values: Array) -> Array:
        """(n, K), or (n,) where the target was one-dimensional."""
        return values[:, 0] if self._single_output else values

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


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
