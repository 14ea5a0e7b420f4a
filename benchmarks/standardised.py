"""Estimators that see standardised targets, and answer in the units of the targets.

Log evidences compare only between densities of the same numbers, and some packages start their
search where targets have mean zero and variance one.
"""

from dataclasses import dataclass
from typing import Any

from benchmarks.cases import Array, Prediction


@dataclass(frozen=True)
class Standardised:
    """A fitted model, and what its targets were divided by."""

    model: Any
    center: float
    scale: float


def fit(model: Any, X: Array, y: Array) -> Standardised:
    """Fit in scikit-learn's way."""
    center, scale = float(y.mean()), float(y.std())
    return Standardised(model.fit(X, (y - center) / scale), center, scale)


def predict_mean(fitted: Standardised, X: Array) -> Prediction:
    """The mean alone, in scikit-learn's way."""
    return fitted.model.predict(X) * fitted.scale + fitted.center, None


def predict_with_std(fitted: Standardised, X: Array) -> Prediction:
    """Mean and standard deviation, in scikit-learn's way."""
    mean, std = fitted.model.predict(X, return_std=True)
    return mean * fitted.scale + fitted.center, std * fitted.scale
