"""The base of estimators that are linear in features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, copies, likelihoods, page_forms, validation
from posterity import features as feature_spaces
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.inference import rows
from posterity.inference.learned_features import fit_learned_features
from posterity.models.training import refuse_noise_of_rows
from posterity.page_forms import Form


@declare_parameters
class FeatureModel(BaseEstimator):
    """An estimator that is linear in features of the inputs.

    Parameters
    ----------
    features : transformer, optional
        What the model is linear in: one of :mod:`posterity.features` or any scikit-learn
        transformer. None: the columns as they are.

    Attributes
    ----------
    features_ : transformer or None
        The fitted features.
    """

    features: Any = None

    features_: Any = field(init=False)
    coef_: Any = field(init=False)

    @property
    def _is_linear_in_columns(self) -> bool:
        """Whether each column of the inputs has one weight."""
        return self.features is None

    def _fit_features(self, X: Array, sample_weight: Array | None) -> None:
        """Let the features learn what they need from rows that count by their weights."""
        if self.features is None:
            self.features_ = None
        elif isinstance(self.features, feature_spaces.Features):
            self.features_ = clone(self.features).fit(X, sample_weight=sample_weight)
        else:
            self.features_ = clone(self.features).fit(X, None)  # which a frozen one asks for

    def _move_units(
        self,
        X: Array,
        y: Array,
        sample_weight: Array | None,
        likelihood: likelihoods.Likelihood | likelihoods.Coupled,
    ) -> None:
        """Let units that are learned find their best places, together with their weights."""
        if not isinstance(self.features_, feature_spaces.LearnedFeatures):
            return
        if y.ndim != 1:
            raise ValueError("Features are learned for one target: fit one model for each.")
        counts = np.ones(len(y)) if sample_weight is None else sample_weight
        found = fit_learned_features(
            self.features_,
            *rows.merge_equal_rows(X, y, counts),
            likelihood.search_start(y, counts)[0],
            rng=arrays.generator(self.features_.random_state),
        )
        self.features_ = found.units

    @property
    def _counts_copies_once(self) -> bool:
        """Whether the model could pass through copies, as a kernel of rows does."""
        return False

    def _weigh_copies(
        self, X: Array, y: Array, weights: Array | None, *, is_class: bool = False
    ) -> Array | None:
        """Weights of rows; copies count once, or are warned of: streamed sums cannot find them."""
        if self._counts_copies_once:
            return copies.weigh_copies_once(X, y, weights, is_class=is_class)
        linear = self._is_linear_in_columns
        copies.warn_of_counted_copies(X, y, weights, is_class=is_class, is_linear=linear)
        return weights

    def _learn_columns(
        self,
        X: Array,
        y: Array,
        sample_weight: Array | None,
        likelihood: likelihoods.Likelihood | likelihoods.Coupled,
    ) -> Array:
        """Let features learn from checked rows, and return the columns that inference sees."""
        self._fit_features(X, sample_weight)
        self._move_units(X, y, sample_weight, likelihood)
        return self._training_columns(X)

    def _training_columns(self, X: Array) -> Array:
        """Return the columns of the rows of a fit."""
        return self._design_of(self._transform_features(X))

    def _transform_features(self, X: Array) -> Array:
        if self.features_ is None:
            return X
        return np.asarray(self.features_.transform(X), dtype=np.float64)

    def _design_of(self, Z: Array) -> Array:
        """The columns that have a weight each, from the features."""
        return Z

    def _queries(self, X: ArrayLike) -> Array:
        """The design at the rows of X."""
        return self._design_of(self._query_features(X))

    def _query_features(self, X: ArrayLike) -> Array:
        check_is_fitted(self)
        return self._transform_features(validation.check_X(self, X, reset=False))

    def _answer_queries(self, answer: Callable[..., Any], X: ArrayLike, *noise: Any) -> Any:
        """Return the answer to the design at the rows of X, and to the noise at these, if any."""
        return answer(self._queries(X), *noise)

    def _page_columns(self) -> Form:
        """Return the form of the columns that have a weight each."""
        return page_forms.form_columns(self.features_)

    def _page_coef(self) -> Array:
        """Return the weights of these columns, one row for each latent value."""
        return np.atleast_2d(np.asarray(self.coef_))


def check_variance(value: float | None, name: str) -> float | None:
    """A variance that is positive, or None where it is to be learned."""
    if value is not None and name == "noise_variance":
        refuse_noise_of_rows(value)
    return None if value is None else validation.check_positive(value, name)
