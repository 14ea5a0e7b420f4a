"""Quantiles of mixtures of normals, row by row in compiled code.

Forests average a hundred normals for every row, and a prediction in words asks for five quantiles
of each: here no array is made on the way, and components far from the point cost nothing.
"""

import math

import numpy as np

from posterity import compilation
from posterity.arrays import Array

_EPS = float(np.finfo(np.float64).eps)
_MAX_ITERATIONS = 200
_FAR = 8.5  # deviations beyond which a normal's chance is 0 or 1 to rounding
_ROOT_HALF = math.sqrt(0.5)
_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)


def solve_mixture_quantiles(
    location: Array,
    scale: Array,
    weights: Array,
    p: Array,
    bracket: tuple[Array, Array, Array],
    *,
    sign: float,
) -> Array:
    """The quantiles (n,) below (sign 1) or above (sign -1) which a value has probability p.

    Newton's method inside a bracket, halved where a step would leave it or does not shrink.

    Parameters
    ----------
    location, scale, weights : arrays (n, K)
        Of the components; scales are positive where weights are.
    p : array (n,)
        Common chances: those that need no logarithms.
    bracket : arrays (n,)
        The least quantile of the components, the greatest, and where to begin.
    sign : float
        1.0 or -1.0.
    """
    m, s, w = (np.ascontiguousarray(part) for part in (location, scale, weights))
    low, high, guess = (np.ascontiguousarray(part) for part in bracket)
    x = np.empty(len(p))
    _solve(m, s, w, np.ascontiguousarray(p), low, high, guess, sign, x)
    return x


@compilation.compile_at_first_call
def _probability_and_density(
    x: float, m: np.ndarray, s: np.ndarray, w: np.ndarray, sign: float
) -> tuple[float, float]:
    """The probability of a value on one side of x, and the density at x."""
    chance, density = 0.0, 0.0
    for k in range(m.size):
        if w[k] > 0.0:
            z = sign * (x - m[k]) / s[k]
            if z > _FAR:
                chance += w[k]
            elif z > -_FAR:
                chance += w[k] * 0.5 * math.erfc(-_ROOT_HALF * z)
                density += w[k] * _DENSITY * math.exp(-0.5 * z * z) / s[k]
    return chance, density


@compilation.compile_at_first_call
def _solve(
    location: np.ndarray,
    scale: np.ndarray,
    weights: np.ndarray,
    p: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    guess: np.ndarray,
    sign: float,
    out: np.ndarray,
) -> None:
    for i in range(p.size):
        a, b, step = low[i], high[i], high[i] - low[i]
        rounding = 4.0 * _EPS * (1.0 - math.log(p[i]))
        x = guess[i]
        for _ in range(_MAX_ITERATIONS):
            chance, density = _probability_and_density(x, location[i], scale[i], weights[i], sign)
            value, slope = sign * (chance / p[i] - 1.0), density / p[i]
            if abs(value) <= max(rounding, slope * _EPS * abs(x)):
                break
            if value > 0.0:
                b = x
            else:
                a = x
            if b - a <= 2.0 * _EPS * max(abs(a), abs(b)):
                x = b
                break
            newton = x - value / slope if slope > 0.0 else math.inf
            shrinks = abs(newton - x) <= 0.5 * step
            proposal = newton if shrinks and a < newton < b else 0.5 * a + 0.5 * b
            step = abs(proposal - x)
            x = proposal
        out[i] = x
