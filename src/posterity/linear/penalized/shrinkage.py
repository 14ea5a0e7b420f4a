"""The scalar problem inside every L_q penalty: min over w of 0.5 h (w - u)^2 + lam |w|^q.

Soft threshold at q = 1, ridge at q = 2, a jump from zero below q = 1. Written for single numbers:
coordinate descent visits one weight at a time.
"""

import math

from posterity.arrays import Array

_LARGEST_LOG = 600.0  # beyond it, either way, the minimiser is u or next to nothing
_MAX_STEPS = 200
_ROUNDING = 2.0**-53


def shrink_weights(u: float, h: float, lam: float, q: float) -> float:
    """The w that minimises 0.5 h (w - u)^2 + lam |w|^q, globally, to rounding.

    With w = u x only one number matters, k = lam |u|^(q-2) / h, and x lies in [0, 1]. The root of
    the derivative is found by Newton's method from the side where it converges monotonically, so
    no safeguard is needed.

    Parameters
    ----------
    u : float
        Where the quadratic has its minimum.
    h : float
        Its curvature, > 0.
    lam : float
        Weight of the penalty, >= 0.
    q : float
        Power of the penalty, > 0.

    Examples
    --------
    >>> [round(shrink_weights(3.0, 1.0, 1.0, q), 3) for q in (0.5, 1.0, 2.0)]
    [2.695, 2.0, 1.0]
    >>> shrink_weights(1.4, 1.0, 1.0, 0.5)
    0.0
    """
    if u == 0.0 or lam == 0.0:
        return u
    if q == 1.0:
        rest = abs(u) - lam / h
        return math.copysign(rest, u) if rest > 0.0 else 0.0
    if q == 2.0:
        return u / (1.0 + 2.0 * lam / h)
    log_k = math.log(lam) - math.log(h) + (q - 2.0) * math.log(abs(u))
    k = math.exp(max(-_LARGEST_LOG, min(log_k, _LARGEST_LOG)))
    if q < 1.0:
        return 0.0 if k >= jump_threshold(q) else u * _root_in_x(k, q, 1.0)
    if q < 2.0:
        return u * _root_in_power(k, q)
    return u * _root_in_x(k, q, min(1.0, (k * q) ** (-1.0 / (q - 1.0))))


def jump_threshold(q: float) -> float:
    """For q <= 1, the k = lam |u|^(q-2) / h at and above which the minimiser is zero.

    There zero and x = 2 (1 - q) / (2 - q) are equally good.
    """
    return float((2.0 * (1.0 - q) / (2.0 - q)) ** (1.0 - q) / (2.0 - q))


def zero_threshold(h: Array, lam: Array, q: float) -> Array:
    """The largest |u| that is sent to zero, for each weight; zero where q > 1."""
    if q > 1.0:
        return 0.0 * h
    return (lam / (h * jump_threshold(q))) ** (1.0 / (2.0 - q))


def _root_in_x(k: float, q: float, start: float) -> float:
    """The largest root of x - 1 + k q x^(q-1), convex and increasing up to ``start`` above it."""
    x = start
    for _ in range(_MAX_STEPS):
        slope = k * q * x ** (q - 1.0)
        step = (x - 1.0 + slope) / (1.0 + (q - 1.0) * slope / x)
        if step <= _ROUNDING * x:
            break
        x -= step
    return x


def _root_in_power(k: float, q: float) -> float:
    """The same root for 1 < q < 2, where the equation is convex in t = x^(q-1) instead."""
    e = 1.0 / (q - 1.0)
    t = min(1.0, 1.0 / (k * q))
    for _ in range(_MAX_STEPS):
        x = t**e
        step = (x - 1.0 + k * q * t) / (e * x / t + k * q)
        if step <= _ROUNDING * t:
            break
        t -= step
    return float(t**e)
