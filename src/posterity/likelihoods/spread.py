"""How widely observations scatter, where the search for a likelihood's parameters begins."""

import numpy as np

from posterity.arrays import Array

_EPS = float(np.finfo(np.float64).eps)
_MAD_OF_NORMAL = 0.6744897501960817  # the upper quartile of a standard normal


def scale(y: Array, weights: Array) -> float:
    """Standard deviation of y; the size of y, or else 1, where all are equal."""
    centre = float(np.average(y, weights=weights))
    return _fall_back_on_size(float(np.sqrt(np.average((y - centre) ** 2, weights=weights))), y)


def robust_scale(y: Array, weights: Array) -> float:
    """Scale of y from the median distance from the median; as ``scale`` where that is zero."""
    distances = np.abs(y - median(y, weights))
    deviation = median(distances, weights) / _MAD_OF_NORMAL
    return deviation if deviation > _EPS * np.max(np.abs(y)) else scale(y, weights)


def median(y: Array, weights: Array) -> float:
    """The weighted median: the middle of two values of y where both are medians."""
    order = np.argsort(y, kind="stable")
    reached = np.cumsum(weights[order])
    half = 0.5 * reached[-1]
    last = len(y) - 1
    low, high = (min(int(np.searchsorted(reached, half, side=s)), last) for s in ("left", "right"))
    return 0.5 * float(y[order[low]] + y[order[high]])


def _fall_back_on_size(deviation: float, y: Array) -> float:
    """The deviation; the size of y, or else 1, where it is rounding only."""
    size = float(np.max(np.abs(y)))
    return deviation if deviation > 8.0 * _EPS * size else size or 1.0
