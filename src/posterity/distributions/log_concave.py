"""Integrals of log-concave functions of a normal value, at any ratio of their widths.

The product of a log-concave function and a normal density has one peak and falls faster and
faster on either side. Breakpoints are set where its log has fallen by given amounts, so that it is
smooth between them whatever its scales are.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from posterity.arrays import Array

LogFunction = Callable[..., Array]

_LEGENDRE_NODES, _LEGENDRE_WEIGHTS = np.polynomial.legendre.leggauss(12)
# Of a step at the mean two rules of even size would agree, and be wrong about its slope.
_HERMITE_RULES = tuple(np.polynomial.hermite_e.hermegauss(n) for n in (13, 20))
_AGREED = 1e-9  # where the rules differ by less, the error of the second is far less
_DROPS = np.array([1e-4, 0.005, 0.1, 0.6, 2.5, 7.0, 16.0, 37.0])
_FARTHEST = 9.0  # standard deviations: there the normal alone has fallen by more
_NEAREST = 2.0**-50  # standard deviations
_HALVINGS = 11  # of the log of a distance, from 53 octaves to a few percent
_LARGEST = 1e300
_BLOCK = 2048
_LOG_SQRT_2PI = 0.5 * float(np.log(2.0 * np.pi))


def log_expect(
    log_g: LogFunction,
    d1: LogFunction,
    y: ArrayLike,
    mean: ArrayLike,
    variance: ArrayLike,
    *shapes: ArrayLike,
) -> Array:
    """log of the integral of exp(log_g(y, a)) N(a | mean, variance) da, elementwise.

    Parameters
    ----------
    log_g, d1 : callable
        A function of y, a and the shapes that is concave in a, and its derivative in a.
    y, mean, variance, *shapes : array-like
        Broadcast to one batch.

    Examples
    --------
    >>> float(log_expect(lambda y, a: y * a, lambda y, a: y + 0.0 * a, 2.0, 0.0, 9.0).round(12))
    18.0
    """

    def log_total(y: Array, m: Array, v: Array, *own: Array) -> tuple[Array]:
        coarse, total = (_expect_by_hermite(log_g, rule, y, m, v, *own) for rule in _HERMITE_RULES)
        with np.errstate(invalid="ignore"):
            wide = ~(np.abs(total - coarse) < _AGREED)
        if wide.any():
            total[wide] = _expect_by_drops(log_g, d1, *(x[wide] for x in (y, m, v, *own)))
        return (total,)

    return evaluate_in_blocks(log_total, y, mean, variance, *shapes)[0]


def _expect_by_hermite(
    log_g: LogFunction, rule: tuple[Array, Array], y: Array, m: Array, v: Array, *own: Array
) -> Array:
    """Log of the integral by one Gauss-Hermite rule, for functions smooth within the normal."""
    nodes, weights = rule
    with np.errstate(over="ignore"):
        values = log_g(y, m + np.sqrt(v) * nodes[:, None], *own)
    log_w = np.log(weights)[:, None] - _LOG_SQRT_2PI
    return np.asarray(logsumexp(values + log_w, axis=0))


def _expect_by_drops(
    log_g: LogFunction, d1: LogFunction, y: Array, m: Array, v: Array, *own: Array
) -> Array:
    """Log of the integral by segments about its peak, at any ratio of widths."""

    def log_g_of_block(y: Array, a: Array) -> Array:
        return log_g(y, a, *own)

    def d1_of_block(y: Array, a: Array) -> Array:
        return d1(y, a, *own)

    return np.asarray(logsumexp(place_nodes(log_g_of_block, d1_of_block, y, m, v)[1], axis=0))


def evaluate_in_blocks(
    function: Callable[..., tuple[Array, ...]], *arguments: ArrayLike
) -> tuple[Array, ...]:
    """Evaluate an elementwise function of flat arrays, a bounded number of elements at a time."""
    batch = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in arguments))
    flat = [x.ravel() for x in batch]
    starts = range(0, max(flat[0].size, 1), _BLOCK)
    parts = [function(*(x[start : start + _BLOCK] for x in flat)) for start in starts]
    return tuple(
        np.concatenate(values).reshape(batch[0].shape) for values in zip(*parts, strict=True)
    )


def place_nodes(
    log_g: LogFunction, d1: LogFunction, y: Array, mean: Array, variance: Array
) -> tuple[Array, Array]:
    """Nodes a and log weights, (192, n), for averages over exp(log_g(y, a)) N(a | mean, variance).

    The weights sum to the integral; for flat arrays of n.
    """
    sd = np.sqrt(variance)

    def log_f(t: Array) -> Array:
        with np.errstate(over="ignore"):
            return log_g(y, mean + sd * t) - 0.5 * t**2

    def slope(t: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.where(sd > 0.0, np.clip(d1(y, mean + sd * t), -_LARGEST, _LARGEST), 0.0)

    peak = _find_peak(slope, sd)
    edges = np.concatenate([peak - _measure_drops(log_f, peak, -1.0)[::-1], peak[None]])
    edges = np.concatenate([edges, peak + _measure_drops(log_f, peak, 1.0)])
    length = np.diff(edges, axis=0)[:, None]
    t = edges[:-1, None] + length * (0.5 * (_LEGENDRE_NODES + 1.0))[:, None]
    w = length * (0.5 * _LEGENDRE_WEIGHTS)[:, None]
    with np.errstate(divide="ignore"):  # an empty segment where the fall is too steep to resolve
        log_w = np.concatenate(np.log(w))
    t_flat = np.concatenate(t)
    return mean + sd * t_flat, log_w + log_f(t_flat) - _LOG_SQRT_2PI


def _find_peak(slope: Callable[[Array], Array], sd: Array) -> Array:
    """Where sd slope(t) = t, to a thousandth of its distance from 0: by bisection of its log."""
    at_mean = sd * slope(np.zeros_like(sd))
    side, low = np.sign(at_mean), np.full_like(sd, np.log(_NEAREST))
    high = np.log(np.clip(np.abs(at_mean), _NEAREST, _LARGEST))
    while np.max(high - low, initial=0.0) > 1e-3:
        middle = 0.5 * (low + high)
        t = np.exp(middle)
        rises = side * sd * slope(side * t) > t
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    return side * np.exp(0.5 * (low + high))


def _measure_drops(log_f: Callable[[Array], Array], peak: Array, side: float) -> Array:
    """How far from the peak log_f has fallen by each drop, to a few percent, (drops, n)."""
    bottom = log_f(peak) - _DROPS[:, None]
    low = np.full(bottom.shape, np.log2(_NEAREST))
    high = np.full(bottom.shape, np.log2(_FARTHEST))
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        above = log_f(peak + side * 2.0**middle) > bottom
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return 2.0**high
