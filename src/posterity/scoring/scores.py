"""Scores of predictions: log score, CRPS, Brier score and RMSE, also as scorers of scikit-learn.

A scorer is callable(estimator, X, y), higher is better. An estimator has ``predict_dist``, or is a
pipeline, a search or another of scikit-learn's wrappers around one that has it. Classifiers with
``predict_proba`` are scored, too.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, is_classifier

from posterity import distributions, models, validation
from posterity.arrays import Array


def log_score(
    dist: distributions.Distribution, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean log density or log probability of the outcomes; higher is better.

    For a joint prediction, this is the joint log density divided by the number of rows.

    Examples
    --------
    >>> from posterity import distributions, scoring
    >>> round(scoring.log_score(distributions.Normal([0.0, 1.0], 1.0), [0.0, 2.0]), 4)
    -1.1689
    """
    happened = check_outcomes(dist.shape, y)
    if isinstance(dist, distributions.MultivariateNormal):
        if sample_weight is not None:
            raise ValueError("sample_weight cannot be used with a joint prediction.")
        return float(np.sum(dist.log_prob(happened)) / dist.size)
    return weighted_mean(dist.log_prob(happened), sample_weight)


def crps(
    dist: distributions.Distribution, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean continuous ranked probability score, in the units of y; lower is better.

    For predictions without uncertainty, this is the mean absolute error.

    Examples
    --------
    >>> from posterity import distributions, scoring
    >>> round(scoring.crps(distributions.Normal([0.0, 1.0], 0.0), [0.5, 1.0]), 4)
    0.25
    """
    rows = marginals_of(dist)
    if not isinstance(rows, distributions.Continuous):
        raise TypeError(
            f"The CRPS needs continuous predictions, not {type(dist).__name__}; use brier."
        )
    return weighted_mean(rows.crps(check_outcomes(rows.shape, y)), sample_weight)


def brier(
    prediction: distributions.Discrete | ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean squared error of class probabilities; lower is better.

    For two classes it is the error of one of them, from 0 to 1; for more it is the sum over
    classes, from 0 to 2, as in scikit-learn.

    Parameters
    ----------
    prediction : Discrete, or array of shape (n,) or (n, C)
        Predictions of classes, probabilities of class 1, or probabilities of all classes.
    y : array-like of shape (n,)
        Class codes from 0.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows in the mean.

    Examples
    --------
    >>> from posterity import scoring
    >>> round(scoring.brier([0.8, 0.4], [1, 0]), 4)
    0.1
    """
    p = class_probabilities(prediction)
    k = check_codes(p, y)
    squares = np.sum((p - (k[..., None] == np.arange(p.shape[-1]))) ** 2, axis=-1)
    return weighted_mean(squares / 2.0 if p.shape[-1] == 2 else squares, sample_weight)


def rmse(
    prediction: distributions.Distribution | ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the root mean squared error of the mean, in the units of y; lower is better.

    Examples
    --------
    >>> from posterity import distributions, scoring
    >>> scoring.rmse(distributions.Normal([0.0, 0.0], 1.0), [3.0, -3.0])
    3.0
    """
    if isinstance(prediction, distributions.Distribution):
        return rmse(prediction.mean(), y, sample_weight)
    mean = np.asarray(prediction, dtype=np.float64)
    error = mean - check_outcomes(mean.shape, y)
    return float(np.sqrt(weighted_mean(error**2, sample_weight)))


def class_probabilities(prediction: distributions.Discrete | ArrayLike) -> Array:
    """Return the probabilities of all classes, (n, C)."""
    if isinstance(prediction, distributions.Discrete):
        return prediction.probabilities()
    if isinstance(prediction, distributions.Distribution):
        raise TypeError(
            f"This score needs predictions of classes, not {type(prediction).__name__}."
        )
    p = np.asarray(prediction, dtype=np.float64)
    if p.ndim not in (1, 2) or not np.all((p >= 0.0) & (p <= 1.0)):
        raise ValueError("Probabilities must be in [0, 1] and have shape (n,) or (n, C).")
    return np.stack([1.0 - p, p], axis=-1) if p.ndim == 1 else p


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
    return log_score(models.predict_dist(estimator, X), _encode_labels(estimator, y))


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
    return -crps(models.predict_dist(estimator, X), y)


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
    return -brier(models.predict_dist(estimator, X), _encode_labels(estimator, y))


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
    return -rmse(models.predict_dist(estimator, X), y)


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


def marginals_of(dist: distributions.Distribution) -> distributions.Univariate:
    """Return the marginal predictions of single rows."""
    if isinstance(dist, distributions.MultivariateNormal):
        return dist.marginals()
    if isinstance(dist, distributions.Univariate):
        return dist
    raise TypeError(f"Predictions must be univariate distributions, not {type(dist).__name__}.")


def check_outcomes(shape: tuple[int, ...], y: ArrayLike) -> Array:
    """Check that outcomes have exactly this shape; broadcasting would mix rows."""
    outcomes = np.asarray(y)
    if outcomes.dtype.kind not in "biuf":
        raise TypeError(f"y must be numeric (classes as codes from 0), not {outcomes.dtype}.")
    if outcomes.shape != shape:
        raise ValueError(f"y has shape {outcomes.shape}, but the predictions have {shape}.")
    if np.any(np.isnan(outcomes)):
        raise ValueError("y contains NaN; remove rows without an outcome.")
    return outcomes.astype(np.float64)


def check_codes(p: Array, y: ArrayLike) -> NDArray[Any]:
    """Check that there is one class code for each row of class probabilities."""
    k = np.asarray(y)
    if k.shape != p.shape[:-1] or not np.all(np.isin(k, np.arange(p.shape[-1]))):
        raise ValueError(
            f"y must have {p.shape[0]} class codes from 0 to {p.shape[-1] - 1}, one per row."
        )
    return k


def weighted_mean(values: Any, sample_weight: ArrayLike | None) -> float:
    """Return the weighted mean over rows, after averaging all other axes."""
    rows = np.atleast_1d(values)
    per_row = np.mean(rows.reshape(len(rows), -1), axis=1)
    weights = validation.check_sample_weight(sample_weight, len(per_row))
    return float(np.average(per_row, weights=weights))
