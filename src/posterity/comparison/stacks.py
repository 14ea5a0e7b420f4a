"""Stacking: average the predictive distributions of several models."""

import abc
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from posterity import distributions, models, tables
from posterity.arrays import Array
from posterity.comparison import row_scores
from posterity.constructors import declare_parameters, field
from posterity.models import View

Estimators = tuple[tuple[str, Any], ...]


@declare_parameters
class StackedModel(BaseEstimator, abc.ABC):
    """A mixture of several models with given weights.

    Parameters
    ----------
    estimators : tuple of (str, estimator)
        Names and models.
    weights : tuple of float
        Weight of each model; they sum to 1.
    views : tuple of str, optional
        "plain" for a model that gets all columns but the last, "groups" for one that gets all.
        None: every model gets all columns.

    Attributes
    ----------
    estimators_ : tuple of estimator
        Fitted models.
    """

    estimators: Estimators = field(kw_only=False)
    weights: tuple[float, ...] = field(kw_only=False)
    views: tuple[View, ...] | None = field(default=None, kw_only=False)

    estimators_: tuple[Any, ...] = field(init=False)

    def __sklearn_tags__(self) -> Tags:
        """Say that missing values are taken if all models take them."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = all(tables.accepts_missing(one) for _, one in self.estimators)
        return tags

    def fit(self, X: Any, y: Any, groups: ArrayLike | None = None) -> Self:
        """Fit every model to the rows, of which those of a group depend on each other."""
        self._adopt(
            [
                tables.fit_with_groups(one, self._select_columns(k, X), y, groups)
                for k, (_, one) in enumerate(self.estimators)
            ]
        )
        self.n_features_in_ = X.shape[1]
        return self

    def _adopt(self, fitted: Sequence[Any]) -> None:
        """Take fitted models as members."""
        self.estimators_ = tuple(fitted)

    def _members_with_rows(self, X: Any) -> list[tuple[Any, Any]]:
        """Return each fitted model with the columns that it gets."""
        check_is_fitted(self)
        return [(one, self._select_columns(k, X)) for k, one in enumerate(self.estimators_)]

    def _select_columns(self, k: int, X: Any) -> Any:
        return X[:, :-1] if self.views is not None and self.views[k] == "plain" else X


@declare_parameters
class StackedRegressor(StackedModel, models.Regressor):
    """Average the predictive distributions of several regressors with given weights.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import comparison, linear
    >>> X, y = np.arange(6.0)[:, None], np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    >>> line = linear.LinearRegression()
    >>> model = comparison.StackedRegressor((("one", line), ("other", line)), (0.5, 0.5)).fit(X, y)
    >>> model.predict([[2.5]]).round(3)
    array([2.5])
    """

    def predict_dist(self, X: ArrayLike) -> distributions.Univariate:
        """Return the mixture of the predictions of the models."""
        dists = [one.predict_dist(rows) for one, rows in self._members_with_rows(X)]
        return mix_distributions(dists, self.weights)


@declare_parameters
class StackedClassifier(StackedModel, models.Classifier):
    """Average the class probabilities of several classifiers with given weights.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import comparison, linear
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])
    >>> line = linear.BayesianLogisticRegression()
    >>> model = comparison.StackedClassifier((("one", line), ("other", line)), (0.5, 0.5)).fit(X, y)
    >>> model.predict([[-3.0], [3.0]])
    array([0, 1])
    """

    def _adopt(self, fitted: Sequence[Any]) -> None:
        super()._adopt(fitted)
        self._set_classes(np.asarray(self.estimators_[0].classes_))

    def predict_dist(self, X: Any) -> distributions.Discrete:
        """Return the averaged probabilities, which know how far the models disagree."""
        p = [np.exp(row_scores.log_probabilities(one, R)) for one, R in self._members_with_rows(X)]
        log_weights = np.log(np.asarray(self.weights))
        return distributions.AveragedCategorical.from_members(np.stack(p, axis=-2), log_weights)


def stack_estimators(
    names: Sequence[str],
    models: Sequence[Any],
    weights: Array,
    views: Sequence[View],
    *,
    fitted: Sequence[Any] | None = None,
) -> Any:
    """Return the stack of the models with a weight, fitted if fitted models are given."""
    used = np.flatnonzero(weights).tolist()
    own = tuple(views[k] for k in used) if "groups" in views else None
    members = tuple((names[k], models[k]) for k in used)
    is_classifier = hasattr(models[0], "predict_proba")
    make = StackedClassifier if is_classifier else StackedRegressor
    stack = make(members, tuple(float(weights[k]) for k in used), own)
    if fitted is not None:
        stack._adopt([fitted[k] for k in used])
    return stack


def list_weights(estimator: Any) -> tuple[tuple[str, float], ...]:
    """Return the names and weights of the models of a stack; nothing for other estimators."""
    if not isinstance(estimator, StackedModel):
        return ()
    names = (name for name, _ in estimator.estimators)
    return tuple(zip(names, estimator.weights, strict=True))


def mix_distributions(
    dists: Sequence[distributions.Continuous], weights: Sequence[float] | NDArray[Any]
) -> distributions.Mixture:
    """Return the mixture of one batch of predictions per model."""
    return distributions.Mixture(dists, np.log(np.asarray(weights)))
