"""The base class of feature spaces, and the space of the columns as they are."""

import abc
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from posterity import validation
from posterity.arrays import Array
from posterity.page_forms import Form


class Features(TransformerMixin, BaseEstimator, abc.ABC):
    """A feature space z = f(x), as a scikit-learn transformer.

    A subclass defines ``_learn`` (fit to the data), ``_columns`` (the features of validated inputs)
    and ``_names`` (feature names from input names).

    Examples
    --------
    >>> from posterity import features
    >>> isinstance(features.Polynomial(3), features.Features)
    True
    """

    @validation.restore_on_error
    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn centres and widths from the data.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D)
            Inputs.
        y : ignored
            Present for pipelines.
        sample_weight : array-like of shape (N,), optional
            Repetitions of each row.
        """
        X_train = validation.check_X(self, X, reset=True)
        self._learn(X_train, validation.check_sample_weight(sample_weight, len(X_train)))
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Return the features (N, M) of the inputs (N, D)."""
        check_is_fitted(self)
        return self._columns(validation.check_X(self, X, reset=False))

    def transform_with_error(self, X: ArrayLike) -> tuple[Array, Array | None]:
        """Return the features Z and their rounding errors E.

        Z + E is the exact feature to about 32 digits; E is None if Z is exact or its error unknown.
        A refined least-squares fit gains digits from E.
        """
        check_is_fitted(self)
        return self._columns_with_error(validation.check_X(self, X, reset=False))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return the names of the features, derived from the names of the inputs."""
        check_is_fitted(self)
        return np.asarray(self._names(self._input_names(input_features)), dtype=object)

    @abc.abstractmethod
    def _learn(self, X: Array, weights: Array | None) -> None:
        """Set the fitted attributes from the data."""

    @abc.abstractmethod
    def _columns(self, X: Array) -> Array:
        """Return the features (N, M) of validated inputs (N, D)."""

    @abc.abstractmethod
    def _names(self, inputs: list[str]) -> list[str]:
        """Return one distinct name a feature."""

    def _columns_with_error(self, X: Array) -> tuple[Array, Array | None]:
        return self._columns(X), None

    def _input_names(self, given: ArrayLike | None) -> list[str]:
        """Return the given names, those of the fitted data frame, or x0, x1, ..."""
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
    """Check one positive number a column; a single number is repeated."""
    if np.ndim(value) == 0:
        return np.full(n_columns, validation.check_positive(value, name))
    if np.shape(value) != (n_columns,):
        raise ValueError(
            f"{name} has shape {np.shape(value)}; pass one number, or {n_columns}, one per column."
        )
    return np.array([validation.check_positive(v, name) for v in np.asarray(value)])


class Identity(Features):
    """z = x: one feature a column, unchanged.

    Examples
    --------
    >>> from posterity import features
    >>> features.Identity().fit_transform([[1, 2], [3, 4]])
    array([[1., 2.],
           [3., 4.]])
    """

    def _learn(self, X: Array, weights: Array | None) -> None:
        """Do nothing: there is nothing to learn."""

    def _columns(self, X: Array) -> Array:
        return X

    def _names(self, inputs: list[str]) -> list[str]:
        return inputs

    def page_form(self) -> Form:
        """Return the form from which a page computes the columns."""
        return {"kind": "identity"}
