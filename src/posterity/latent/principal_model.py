"""What transformers share that know rows by their mean and covariance alone."""

from __future__ import annotations

import abc
import warnings
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from posterity import designs, progress, validation
from posterity.arrays import Array
from posterity.inference import principal_sources as sources
from posterity.inference.principal import Principal

AnySource: TypeAlias = sources.InMemory | sources.Streamed | sources.Factored

_MISSING = "Or use GPLVM(kernel=kernels.Linear()), principal components that know missing values."


class PrincipalModel(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, metaclass=abc.ABCMeta
):
    """A transformer by principal axes, learned from an array, from chunks, or bit by bit."""

    mean_: Array
    n_components_: int
    _principal: Principal
    _statistics: designs.Statistics | None

    def fit(
        self,
        X: ArrayLike | designs.Chunks,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn the mean and the axes.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D), or :class:`posterity.designs.Chunks`
            Rows; those of chunks never sit in memory at once, and bring their own weights.
        y : ignored
            For pipelines.
        sample_weight : array-like of shape (N,), optional
            How often each row counts: an integer weight equals repeating the row.
        """
        self._check_parameters()
        self._statistics = None
        if isinstance(X, designs.Chunks):
            self._learn(self._chunked(X, sample_weight))
        else:
            self._learn(sources.InMemory(*self._checked(X, sample_weight, reset=True)))
        return self

    def partial_fit(
        self,
        X: ArrayLike | designs.Chunks,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add rows to those of earlier calls; the result is that of one fit on all of them.

        It keeps a factor of at most D + 1 rows. The parameters are those of ``fit``, which keeps
        nothing of the kind: rows of a ``fit`` before are forgotten, with a warning.
        """
        self._check_parameters()
        before = getattr(self, "_statistics", None)
        if before is None and getattr(self, "_principal", None) is not None:
            warnings.warn(
                f"This {type(self).__name__} was fitted by fit, which keeps nothing that rows "
                "could be added to: the rows of that fit are forgotten. Begin with partial_fit.",
                stacklevel=2,
            )
        new = self._summed(X, sample_weight, first=before is None)
        statistics = new if before is None else before.merge(new)
        self._learn(sources.Factored.of(statistics))
        self._statistics = statistics
        return self

    @abc.abstractmethod
    def _check_parameters(self) -> None:
        """Refuse what no rows could make sense of."""

    @abc.abstractmethod
    def _decompose(self, source: AnySource) -> Principal:
        """The axes of the rows."""

    def _learn(self, source: AnySource) -> None:
        """Decompose, and publish what all such models have."""
        self._principal = self._decompose(source)
        self.mean_ = self._principal.mean
        self.n_components_ = len(self._principal.axes)
        count = self._principal.spectrum.count
        self.n_samples_seen_ = int(count) if count.is_integer() else count
        self._publish()

    @abc.abstractmethod
    def _publish(self) -> None:
        """Set the attributes of this model."""

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def _query(self, X: ArrayLike) -> Array:
        """Rows to transform."""
        check_is_fitted(self)
        return self._readable(X, reset=False, min_rows=1)

    def _latent_query(self, Z: ArrayLike) -> Array:
        """Coordinates to transform back."""
        check_is_fitted(self)
        return validation.check_coordinates(self, Z, self._n_features_out)

    def _checked(
        self, X: ArrayLike, sample_weight: ArrayLike | None, *, reset: bool
    ) -> tuple[Array, Array | None]:
        """Rows that count, and their weights."""
        rows = self._readable(X, reset=reset, min_rows=2 if reset else 1)
        weights = validation.check_sample_weight(sample_weight, len(rows))
        return sources.counting(rows, weights)

    def _readable(self, X: ArrayLike, *, reset: bool, min_rows: int) -> Array:
        return validation.check_X(self, X, reset=reset, min_rows=min_rows, advice=_MISSING)

    def _chunked(self, chunks: designs.Chunks, sample_weight: ArrayLike | None) -> AnySource:
        """Moments of many rows, read again where need be; a factor of few, or of a generator."""
        n_rows = chunks.n_rows
        if n_rows is None or n_rows <= chunks.n_features or not chunks.rereadable:
            return sources.Factored.of(self._summed(chunks, sample_weight, first=True))
        self._open(chunks, sample_weight, first=True)
        return sources.Streamed(chunks, n_rows)

    def _summed(
        self, X: ArrayLike | designs.Chunks, sample_weight: ArrayLike | None, *, first: bool
    ) -> designs.Statistics:
        """Statistics of rows that will not be seen again."""
        if not isinstance(X, designs.Chunks):
            return _statistics(*self._checked(X, sample_weight, reset=first))
        self._open(X, sample_weight, first=first)
        total: designs.Statistics | None = None
        for block in progress.track(X, total=X.n_rows, description="Reading rows"):
            rows, weights = sources.counting(block.X, block.sample_weight)
            if len(rows):
                part = _statistics(rows, weights)
                total = part if total is None else total.merge(part)
        if total is None:
            raise ValueError("The chunks hold no rows of positive weight.")
        return total

    def _open(
        self, chunks: designs.Chunks, sample_weight: ArrayLike | None, *, first: bool
    ) -> None:
        """Learn or compare the columns, without reading a row."""
        if sample_weight is not None:
            raise ValueError("Chunks bring their own weights: pass nothing else.")
        names = chunks.feature_names
        fitted = getattr(self, "feature_names_in_", None)
        if first:
            validation.check_X(self, np.zeros((1, chunks.n_features)), reset=True)
            if names is not None:
                self.feature_names_in_ = np.asarray(names, dtype=object)
        elif chunks.n_features != self.n_features_in_:
            raise ValueError(
                f"The chunks have {chunks.n_features} features, but {type(self).__name__} is "
                f"expecting {self.n_features_in_} features."
            )
        elif names is not None and fitted is not None and list(names) != list(fitted):
            raise ValueError(
                f"The feature names of the chunks, {list(names)}, are not those that were fitted, "
                f"{list(fitted)}: name the columns in that order with features=[...]."
            )


def _statistics(rows: Array, weights: Array | None) -> designs.Statistics:
    return designs.Statistics.of(rows, np.empty((len(rows), 0)), sample_weight=weights)
