"""Predicted probabilities of classes, and how good they are on held-out rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.cases import Array, Data, Prediction, Scores
from posterity import distributions, scoring

BINS = 10
_SEED = 0  # of the calibration of classes, which is randomised
_LEAST = np.finfo(np.float64).tiny  # some packages round the improbable to nothing


def predict(model: Any, X: Array) -> Prediction:
    """One column a class, in scikit-learn's way."""
    return model.predict_proba(X), None


def score(data: Data, prediction: Prediction) -> Scores:
    """Errors in percent, mean log loss, and two measures of calibration; lower is better.

    The calibration error is that of the cumulative distribution, the confidence error that of the
    probability of the class which is predicted.
    """
    P, y = prediction[0], data.y_test.astype(np.intp)
    log_p = np.log(np.maximum(P, _LEAST))
    stated = distributions.Categorical.from_logits(log_p)
    rng = np.random.default_rng(_SEED)
    return {
        "error_percent": 100.0 * float(np.mean(P.argmax(axis=1) != y)),
        "log_loss": -float(np.mean(log_p[np.arange(len(y)), y])),
        "calibration_error": scoring.calibration_error(stated, y, rng=rng),
        "confidence_error": confidence_error(P, y),
    }


def confidence_error(P: Array, y: NDArray[np.intp]) -> float:
    """Mean distance of the share that is right from the probability stated, in equal bins.

    Examples
    --------
    >>> import numpy as np
    >>> round(confidence_error(np.array([[0.2, 0.8], [0.2, 0.8]]), np.array([1, 0])), 3)
    0.3
    """
    stated, right = P.max(axis=1), P.argmax(axis=1) == y
    place = np.minimum((stated * BINS).astype(np.intp), BINS - 1)
    excess = np.bincount(place, weights=right - stated, minlength=BINS)
    return float(np.abs(excess).sum() / len(y))


def dense_codes(labels: Any) -> Array:
    """Classes as numbers from 0, in their order."""
    return np.unique(labels, return_inverse=True)[1].astype(np.float64)
