"""Models whose mean is linear in the features, fitted from rows in memory."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags

from posterity import copies, designs, distributions, likelihoods, models, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters
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
            linear = self._is_linear_in_columns
            copies.warn_of_counted_copies(X_rows, targets, weight, is_linear=linear)
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
            self._design_of(self._transform_features(rows.X)),
            rows.Y,
            sample_weight=rows.sample_weight,
            noise_variance=rows.noise_variance,
            shift=self._is_centred,
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
