"""Scores of a batch of predictions: log score, CRPS, Brier score and RMSE."""

import numpy as np
from numpy.typing import ArrayLike

from posterity import distributions
from posterity.arrays import Array
from posterity.scoring import outcomes


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
    happened = outcomes.check_outcomes(dist.shape, y)
    if isinstance(dist, distributions.MultivariateNormal):
        if sample_weight is not None:
            raise ValueError("sample_weight cannot be used with a joint prediction.")
        return float(np.sum(dist.log_prob(happened)) / dist.size)
    return outcomes.weighted_mean(dist.log_prob(happened), sample_weight)


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
    rows = outcomes.marginals_of(dist)
    if not isinstance(rows, distributions.Continuous):
        raise TypeError(
            f"The CRPS needs continuous predictions, not {type(dist).__name__}; use brier."
        )
    return outcomes.weighted_mean(rows.crps(outcomes.check_outcomes(rows.shape, y)), sample_weight)


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
    k = outcomes.check_codes(p, y)
    squares = np.sum((p - (k[..., None] == np.arange(p.shape[-1]))) ** 2, axis=-1)
    return outcomes.weighted_mean(squares / 2.0 if p.shape[-1] == 2 else squares, sample_weight)


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
    error = mean - outcomes.check_outcomes(mean.shape, y)
    return float(np.sqrt(outcomes.weighted_mean(error**2, sample_weight)))


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
