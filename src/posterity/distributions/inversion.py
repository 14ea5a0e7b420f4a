"""Roots of increasing functions, one per prediction, that no start and no jump can lead astray."""

from collections.abc import Callable

import numpy as np

from posterity.arrays import Array

_EPS = float(np.finfo(np.float64).eps)
_MAX_ITERATIONS = 200


def solve_increasing(
    evaluate: Callable[[Array], tuple[Array, Array]],
    low: Array,
    high: Array,
    rounding: Array,
    guess: Array,
) -> Array:
    """The smallest x from low to high where an increasing function is not negative.

    Newton's method inside a bracket: where a step would leave it, or is not half as long as the
    one before, the bracket is halved instead. A jump of the function is found like a root.

    Parameters
    ----------
    evaluate : callable
        Gives the values and the slopes at an array of points.
    low, high : array
        Finite; the function is not negative at ``high``.
    rounding : array
        Values of this magnitude count as zero.
    guess : array
        Where to begin, from low to high.
    """
    settled = evaluate(low)[0] >= 0.0
    x = np.where(settled, low, guess)
    step = high - low
    for _ in range(_MAX_ITERATIONS):
        value, slope = evaluate(x)
        high = np.where(value >= 0.0, np.minimum(x, high), high)
        low = np.where(value < 0.0, np.maximum(x, low), low)
        last_digit = np.where(np.isfinite(slope), slope, 0.0) * _EPS * np.abs(x)
        settled = settled | (np.abs(value) <= np.maximum(rounding, last_digit))
        closed = ~settled & (high - low <= 2.0 * _EPS * np.maximum(np.abs(low), np.abs(high)))
        proposal = np.where(closed, high, _proposal(x, value, slope, low, high, step))
        step = np.abs(proposal - x)
        x = np.where(settled, x, proposal)
        settled = settled | closed
        if settled.all():
            break
    return x


def _proposal(
    x: Array, value: Array, slope: Array, low: Array, high: Array, last_step: Array
) -> Array:
    """The next point: Newton's where that converges, else the middle of the bracket."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        newton = x - value / slope
    shrinks = np.abs(newton - x) <= 0.5 * last_step
    inside = (newton > low) & (newton < high) & np.isfinite(slope)
    return np.where(inside & shrinks, newton, 0.5 * low + 0.5 * high)
