"""How good predictions are: on held-out rows, and against numbers known to more digits."""

from decimal import Decimal, localcontext

import numpy as np
from scipy import special

from benchmarks.cases import Data, Prediction, Scores

MOST_DIGITS = 15.0


def predictive(data: Data, prediction: Prediction) -> Scores:
    """Mean log score, RMSE and coverage of the central 90 % interval, the predictive normal."""
    mean, std = prediction
    error = data.y_test - mean
    scores = {"rmse": float(np.sqrt(np.mean(error**2)))}
    if std is None:
        return scores
    z = error / std
    return scores | {
        "log_score": float(np.mean(-0.5 * (z**2 + np.log(2.0 * np.pi)) - np.log(std))),
        "coverage_90": float(np.mean(np.abs(z) <= special.ndtri(0.95))),
    }


def numerical(data: Data, prediction: Prediction) -> Scores:
    """RMSE, and the correct digits of the predictions beside the reference ones."""
    if data.reference is None:
        raise ValueError("These data carry no reference predictions to count digits against.")
    worst = np.max(np.abs(prediction[0] - data.reference)) / np.max(np.abs(data.reference))
    digits = MOST_DIGITS if worst == 0.0 else min(-float(np.log10(worst)), MOST_DIGITS)
    return predictive(data, prediction) | {"digits": digits}


def log_relative_error(estimate: float, exact: str) -> float:
    """The correct decimal digits of an estimate, between 0 and 15.

    -log10 |estimate - exact| / |exact|, with the absolute error where the exact value is zero, and
    none where the estimate is not a number. ``exact`` is given in decimal digits, so that
    rounding it to a double costs nothing.

    Examples
    --------
    >>> round(log_relative_error(1.0001, "1"), 6)
    4.0
    >>> log_relative_error(0.25, "0.25"), log_relative_error(-3.0, "1")
    (15.0, 0.0)
    """
    if not np.isfinite(estimate):
        return 0.0
    with localcontext(prec=60):
        target = Decimal(exact)
        error = abs(Decimal(float(estimate)) - target)
        if target != 0:
            error /= abs(target)
        digits = MOST_DIGITS if error == 0 else float(-error.log10())
    return min(max(digits, 0.0), MOST_DIGITS)
