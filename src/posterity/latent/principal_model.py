"""Methods of transformers that know rows by their mean and covariance alone."""

from __future__ import annotations

import abc
import numbers
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from posterity import callers, designs, models, validation
from posterity.arrays import Array
from posterity.latent.components import (
    FactoredSource,
    MemorySource,
    Principal,
    RowSource,
    Spectrum,
    StreamedSource,
    select_counted_rows,
    sum_over_blocks,
)

Number: TypeAlias = int | float | Literal["evidence"] | None


def is_count(n_components: Number) -> TypeGuard[int]:
    """Whether it is a whole number."""
    return isinstance(n_components, numbers.Integral) and not isinstance(n_components, bool)


def check_n_components(n_components: Number) -> None:
    """Refuse what no rows could make sense of."""
    if n_components is None or (is_count(n_components) and n_components >= 0):
        return
    if isinstance(n_components, str) and n_components == "evidence":
        return
    fraction = isinstance(n_components, numbers.Real) and not is_count(n_components)
    if not fraction or isinstance(n_components, bool) or not 0.0 < n_components < 1.0:
        raise ValueError(
            f"n_components={n_components!r} must be a whole number of at least 0, a share of the "
            "variance between 0 and 1, 'evidence', or None for all."
        )


def choose_number(n_components: Number, spectrum: Spectrum) -> int:
    """The number of axes, given their variances."""
    most = min(int(spectrum.count), spectrum.n_features)
    if n_components is None:
        return most
    if isinstance(n_components, str):
        distinct = min(most, spectrum.n_features - 1)  # with all D the model is that of D - 1
        return int(np.argmax(spectrum.log_evidences[: distinct + 1]))
    if not is_count(n_components):
        return min(spectrum.enough_for(float(n_components)), most)
    if n_components > most:
        raise ValueError(
            f"n_components={n_components} is more than {most}, the least of {spectrum.count:g} "
            f"rows and {spectrum.n_features} columns: there are no more axes than that."
        )
    return int(n_components)


def pays_to_project(n_components: Number, shape: tuple[int, int]) -> bool:
    """Whether random projection saves three quarters of the work of an exact route.

    An exact one takes N D m operations for squares and the like of 25 m^3 for eigenvectors, m the
    shorter side; a projection of l columns some ten passes of 4 N D l.
    """
    if n_components is None or not is_count(n_components):
        return False
    (N, D), k = shape, int(n_components)
    m, l = min(N, D), k + max(10, k // 2)
    return 4.0 * 40.0 * N * D * l < N * D * m + 25.0 * m**3


_MISSING = "Or use GPLVM(kernel=kernels.Linear()), principal components that know missing values."


@dataclass(frozen=True)
class FittedAxes:
    """Principal axes of rows, and what further rows can be added to."""

    principal: Principal
    explained_variance: Array  # (k,)
    statistics: designs.Statistics | None  # of rows that were added bit by bit

    @property
    def n_components(self) -> int:
        """The number k of axes."""
        return len(self.principal.axes)

    @property
    def n_samples_seen(self) -> int | float:
        """The number of rows, or the sum of their weights."""
        count = self.principal.spectrum.count
        return int(count) if count.is_integer() else count

    @property
    def explained_variance_ratio(self) -> Array:
        """The share of the variance along each axis, (k,)."""
        return self.principal.spectrum.shares[: self.n_components]

    @property
    def singular_values(self) -> Array:
        """The singular values of the rows about their mean, (k,)."""
        return np.sqrt(self.principal.variances * (self.principal.spectrum.count - 1.0))

    @property
    def log_evidence(self) -> float:
        """Log marginal likelihood of all rows for this number of axes."""
        return self.principal.spectrum.log_evidence(self.n_components)


class PrincipalModel(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
    metaclass=abc.ABCMeta,
):
    """A transformer by principal axes, learned from an array, from chunks, or bit by bit.

    Attributes
    ----------
    mean_ : array of shape (D,)
        The mean of the rows.
    n_components_ : int
        k, how many axes there are.
    n_samples_seen_ : int or float
        N, the sum of the weights.
    n_features_in_ : int
        D.
    feature_names_in_ : array of shape (D,)
        The names of the columns, where they have any.
    """

    _fitted: FittedAxes

    components_ = models.FittedAttribute("principal.axes")
    explained_variance_ = models.FittedAttribute()
    mean_ = models.FittedAttribute("principal.mean")
    n_components_ = models.FittedAttribute()
    n_samples_seen_ = models.FittedAttribute()

    @validation.restore_on_error
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Learn the mean and the axes.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D), :class:`posterity.designs.Chunks`, or Dask's
            Rows; those of chunks never sit in memory at once, and bring their own weights. Rows of
            a Dask array or data frame stay on the workers, with those of the weights.
        y : ignored
            For pipelines.
        sample_weight : array-like of shape (N,), optional
            How often each row counts: an integer weight equals repeating the row.
        """
        self._check_parameters()
        rows = models.find_streamed_source(X, None, sample_weight)
        if rows is not None:
            self._learn(self._make_source(rows))
        else:
            self._learn(MemorySource(*self._check_training_rows(X, sample_weight, reset=True)))
        return self

    @validation.restore_on_error
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Add rows to those of earlier calls; the result is that of one fit on all of them.

        It keeps a factor of at most D + 1 rows. The parameters are those of ``fit``, which keeps
        nothing of the kind: rows of a ``fit`` before are forgotten, with a warning.
        """
        self._check_parameters()
        before = self._fitted.statistics if models.is_fitted(self) else None
        if before is None and models.is_fitted(self):
            callers.warn_caller(
                f"This {type(self).__name__} was fitted by fit, which keeps nothing that rows "
                "could be added to: the rows of that fit are forgotten. Begin with partial_fit.",
            )
        new = self._sum_statistics(X, sample_weight, first=before is None)
        statistics = new if before is None else before.merge(new)
        self._learn(FactoredSource.from_statistics(statistics), statistics)
        return self

    @abc.abstractmethod
    def _check_parameters(self) -> None:
        """Refuse what no rows could make sense of."""

    @abc.abstractmethod
    def _decompose(self, source: RowSource) -> Principal:
        """The axes of the rows."""

    def _learn(self, source: RowSource, statistics: designs.Statistics | None = None) -> None:
        """Decompose, and keep the axes with what further rows can be added to."""
        principal = self._decompose(source)
        self._fitted = FittedAxes(principal, self._explained_variance(principal), statistics)

    @abc.abstractmethod
    def _explained_variance(self, principal: Principal) -> Array:
        """The variance along each axis that this model goes by, (k,)."""

    def __sklearn_is_fitted__(self) -> bool:
        return models.is_fitted(self)

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def _check_query(self, X: ArrayLike) -> Array:
        """Rows to transform."""
        check_is_fitted(self)
        return self._check_rows(X, reset=False, min_rows=1)

    def _check_coordinates(self, Z: ArrayLike) -> Array:
        """Coordinates to transform back."""
        check_is_fitted(self)
        return validation.check_coordinates(self, Z, self._n_features_out)

    def _check_training_rows(
        self, X: ArrayLike, sample_weight: ArrayLike | None, *, reset: bool
    ) -> tuple[Array, Array | None]:
        """Rows that count, and their weights."""
        rows = self._check_rows(X, reset=reset, min_rows=2 if reset else 1)
        validation.check_powers(rows, X)
        check = validation.check_repetitions if reset else validation.check_sample_weight
        weights = check(sample_weight, len(rows))
        return select_counted_rows(rows, weights)

    def _check_rows(self, X: ArrayLike, *, reset: bool, min_rows: int) -> Array:
        return validation.check_X(self, X, reset=reset, min_rows=min_rows, advice=_MISSING)

    def _make_source(self, rows: models.Source) -> RowSource:
        """Moments of many rows, read again if necessary; a factor of few, or of a generator."""
        models.learn_columns(self, rows)
        n_rows = rows.n_rows
        if n_rows is None or n_rows <= rows.n_features or not rows.rereadable:
            return FactoredSource.from_statistics(_merge_statistics(rows))
        return StreamedSource(rows)

    def _sum_statistics(self, X: Any, sample_weight: Any, *, first: bool) -> designs.Statistics:
        """Statistics of rows that will not be seen again."""
        rows = models.find_streamed_source(X, None, sample_weight)
        if rows is None:
            return _compute_statistics(*self._check_training_rows(X, sample_weight, reset=first))
        if first:
            models.learn_columns(self, rows)
        else:
            models.check_columns(self, rows)
        return _merge_statistics(rows)


def _merge_statistics(rows: models.Source) -> designs.Statistics:
    return sum_over_blocks(rows, _compute_statistics, designs.Statistics.merge)


def _compute_statistics(rows: Array, weights: Array | None) -> designs.Statistics:
    return designs.Statistics.from_rows(rows, np.empty((len(rows), 0)), sample_weight=weights)
