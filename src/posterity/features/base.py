"""What every feature space answers: fit, transform, and how exact its columns are."""

import abc
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from posterity import validation
from posterity.arrays import Array


class Features(TransformerMixin, BaseEstimator, abc.ABC):
    """A feature space z = f(x), as a scikit-learn transformer.

    A subclass writes ``_learn`` (what the data decide), ``_columns`` (the features of checked
    inputs) and ``_names`` (their names from the names of the inputs).

    Examples
    --------
    >>> from posterity import features
    >>> isinstance(features.Polynomial(3), features.Features)
    True
    """

    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn what the columns need from the data.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D)
            Inputs.
        y : ignored
            Present for pipelines.
        sample_weight : array-like of shape (N,), optional
            How often each row counts.
        """
        X_train = validation.check_X(self, X, reset=True)
        self._learn(X_train, validation.check_sample_weight(sample_weight, len(X_train)))
        return self

    def transform(self, X: ArrayLike) -> Array:
        """The features (N, M) of the inputs (N, D)."""
        check_is_fitted(self)
        return self._columns(validation.check_X(self, X, reset=False))

    def transform_with_error(self, X: ArrayLike) -> tuple[Array, Array | None]:
        """The features Z and what rounding took from them.

        Z + E is the exact feature of the given doubles to about 32 digits; E is None where Z is
        exact, or where its error is not known. A refined least-squares fit gains digits from E.
        """
        check_is_fitted(self)
        return self._columns_with_error(validation.check_X(self, X, reset=False))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """The names of the features, made of the names of the inputs."""
        check_is_fitted(self)
        return np.asarray(self._names(self._input_names(input_features)), dtype=object)

    @abc.abstractmethod
    def _learn(self, X: Array, weights: Array | None) -> None:
        """Set the fitted attributes."""

    @abc.abstractmethod
    def _columns(self, X: Array) -> Array:
        """The features (N, M) of checked inputs (N, D)."""

    @abc.abstractmethod
    def _names(self, inputs: list[str]) -> list[str]:
        """One name a feature, all different."""

    def _columns_with_error(self, X: Array) -> tuple[Array, Array | None]:
        return self._columns(X), None

    def _input_names(self, given: ArrayLike | None) -> list[str]:
        """The names given, those of the fitted data frame, or x0, x1, ..."""
        fitted = getattr(self, "feature_names_in_", None)
        if given is None:
            generated = [f"x{d}" for d in range(self.n_features_in_)]
            return generated if fitted is None else list(fitted)
        names = [str(name) for name in np.asarray(given, dtype=object)]
        if fitted is not None and names != list(fitted):
            raise ValueError("input_features is not equal to feature_names_in_.")
        if len(names) != self.n_features_in_:
            raise ValueError(
                "input_features should have length equal to number of features "
                f"({self.n_features_in_}), got {len(names)}."
            )
        return names


def check_per_column(value: ArrayLike, name: str, n_columns: int) -> Array:
    """One positive number a column; a single number is meant for every column."""
    if np.ndim(value) == 0:
        return np.full(n_columns, validation.check_positive(value, name))
    if np.shape(value) != (n_columns,):
        raise ValueError(
            f"{name} has shape {np.shape(value)}; pass one number, or {n_columns}, one a column."
        )
    return np.array([validation.check_positive(v, name) for v in np.asarray(value)])
