"""Scorers for scikit-learn: callable(estimator, X, y), higher is better.

An estimator has ``predict_dist``, or is a pipeline, a search or another of scikit-learn's wrappers
around one that has it. Classifiers with ``predict_proba`` are scored, too.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, is_classifier

from posterity import models
from posterity.scoring import scores


def log_score_scorer(estimator: Any, X: Any, y: ArrayLike) -> float:
    """Return the log score of the predictions of an estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import distributions, scoring
    >>> class Standard:
    ...     def predict_dist(self, X):
    ...         return distributions.Normal(np.zeros(len(X)), 1.0)
    >>> round(scoring.log_score_scorer(Standard(), np.ones((2, 1)), [0.0, 1.0]), 4)
    -1.1689
    """
    return scores.log_score(models.predict_dist(estimator, X), _encode_labels(estimator, y))


def crps_scorer(estimator: Any, X: Any, y: ArrayLike) -> float:
    """Return the negative CRPS of the predictions of a regressor.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import distributions, scoring
    >>> class Certain:
    ...     def predict_dist(self, X):
    ...         return distributions.Normal(np.zeros(len(X)), 0.0)
    >>> scoring.crps_scorer(Certain(), np.ones((2, 1)), [0.0, 1.0])
    -0.5
    """
    return -scores.crps(models.predict_dist(estimator, X), y)


def brier_scorer(estimator: Any, X: Any, y: ArrayLike) -> float:
    """Return the negative Brier score of the predictions of a classifier.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.base import BaseEstimator, ClassifierMixin
    >>> from posterity import distributions, scoring
    >>> class Undecided(ClassifierMixin, BaseEstimator):
    ...     classes_ = np.array(["cat", "dog"])
    ...     def predict_dist(self, X):
    ...         return distributions.Bernoulli.from_logit(np.zeros(len(X)))
    >>> scoring.brier_scorer(Undecided(), np.ones((2, 1)), ["dog", "dog"])
    -0.25
    """
    return -scores.brier(models.predict_dist(estimator, X), _encode_labels(estimator, y))


def rmse_scorer(estimator: Any, X: Any, y: ArrayLike) -> float:
    """Return the negative root mean squared error of the mean predicted by a regressor.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import distributions, scoring
    >>> class Standard:
    ...     def predict_dist(self, X):
    ...         return distributions.Normal(np.zeros(len(X)), 1.0)
    >>> scoring.rmse_scorer(Standard(), np.ones((2, 1)), [2.0, -2.0])
    -2.0
    """
    return -scores.rmse(models.predict_dist(estimator, X), y)


def _encode_labels(estimator: Any, y: ArrayLike) -> NDArray[Any]:
    """Convert labels to class codes of the estimator; other targets are unchanged."""
    labels = np.asarray(y)
    if not (isinstance(estimator, BaseEstimator) and is_classifier(estimator)):
        return labels
    classes = estimator.classes_
    unknown = labels[~np.isin(labels, classes)]
    if unknown.size:
        raise ValueError(
            f"y contains the label '{unknown[0]}', which was not in the training data."
        )
    return np.searchsorted(classes, labels)
