"""The maxima of many functions of one variable at once."""

from collections.abc import Callable

import numpy as np

from posterity.arrays import Array

_BISECTIONS = 100  # narrows any bracket of doubles to one part in 1e30


def bisect_derivative(
    derivative: Callable[[Array], Array], lower: Array | float, upper: Array | float
) -> Array:
    """The maxima of K concave (or unimodal) functions on intervals, each to full precision.

    Parameters
    ----------
    derivative : callable
        K points to the K derivatives there, each positive before its maximum and negative after.
    lower, upper : array (K,) or float
        The ends. Where the derivative does not change sign between them, the better end is the
        maximum and is returned.

    Examples
    --------
    >>> bisect_derivative(lambda u: np.array([2.0, 50.0]) - u, np.zeros(2), 10.0)
    array([ 2., 10.])
    """
    ends = (np.asarray(end, dtype=np.float64) for end in (lower, upper))
    left, right = np.broadcast_arrays(*ends)
    low = np.where(_checked(derivative, right) >= 0, right, left)
    high = np.where(_checked(derivative, left) <= 0, left, right)
    for _ in range(_BISECTIONS):
        middle = low + 0.5 * (high - low)
        if np.all((middle == low) | (middle == high)):
            break
        rising = _checked(derivative, middle) > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return low + 0.5 * (high - low)


def _checked(derivative: Callable[[Array], Array], points: Array) -> Array:
    """The derivatives, or a sentence where one is NaN."""
    slopes = derivative(points)
    bad = np.flatnonzero(np.isnan(slopes))
    if bad.size:
        raise ValueError(
            f"{bad.size} of {slopes.size} derivatives are NaN, the first is function {bad[0]} at "
            f"{points.flat[bad[0]]}: check its range"
        )
    return slopes
