"""One-dimensional integrals, each with the range in which it holds.

Two routes lead to the expectation of a function of a ~ Normal(mean, variance). Gauss-Hermite
(``expect_hermite``) takes 64 evaluations, and suffices where the normal is not much wider than the
features of the function. The composite rule (``expect_wide``, ``log_expect_wide``) takes about a
thousand and resolves both scales, whatever their ratio.

Functions are evaluated on arrays of shape (nodes, *batch) and must return the same shape; one
parameter per prediction broadcasts against that.
"""

import itertools
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from posterity.arrays import Array

Function = Callable[[Array], Array]

_HERMITE_NODES, _HERMITE_WEIGHTS = np.polynomial.hermite_e.hermegauss(64)
_NORMAL_WEIGHTS = _HERMITE_WEIGHTS / _HERMITE_WEIGHTS.sum()
_LEGENDRE_NODES, _LEGENDRE_WEIGHTS = np.polynomial.legendre.leggauss(12)
_LAGUERRE_NODES, _LAGUERRE_WEIGHTS = np.polynomial.laguerre.laggauss(24)
_LAGUERRE_LOG_WEIGHTS = np.log(_LAGUERRE_WEIGHTS) + _LAGUERRE_NODES

_LOG_SQRT_2PI = 0.5 * float(np.log(2.0 * np.pi))
_NORMAL_GRID = np.arange(-10.0, 11.0)  # outside ten standard deviations lies 1.5e-23
_PEAK_GRID = np.array([*range(1, 13), 16, 24, 32, 48, 64], dtype=np.float64)
_FARTHEST = 2.0**20  # standard deviations: how far log_g may pull the integrand from the mean
_NARROWEST = 2.0**-20  # standard deviations: how narrow it may make it


def expect_hermite(g: Function, mean: ArrayLike, variance: ArrayLike) -> Array:
    """Integral of g(a) N(a | mean, variance) da by 64-point Gauss-Hermite.

    Exact for polynomials of degree up to 127. For a function with features of width 1, such as the
    logistic sigmoid, the error is below 1e-12 for variances up to 2, 1e-9 up to 4 and 1e-6 up to
    10, but 0.03 at 1e3: there use ``expect_wide``.

    Parameters
    ----------
    g : callable
        Takes and returns an array (64, *batch).
    mean, variance : array-like
        Broadcast to the batch shape. A variance of zero gives g(mean).

    Examples
    --------
    >>> float(expect_hermite(lambda a: a**2, 1.0, 3.0).round(12))
    4.0
    """
    m, sd = _moments(mean, variance)
    return np.tensordot(_NORMAL_WEIGHTS, g(m + sd * _as_column(_HERMITE_NODES, m.ndim)), axes=1)


def expect_wide(
    g: Function,
    mean: ArrayLike,
    variance: ArrayLike,
    *,
    centre: ArrayLike = 0.0,
    width: ArrayLike = 1.0,
) -> Array:
    """Integral of g(a) N(a | mean, variance) da by a composite Gauss-Legendre rule of two scales.

    Segments are one standard deviation long around the mean, and double in length from ``width``
    on around ``centre``. For variances from 0 to 1e6 times the square of the width the error is
    below 1e-12 of the largest |g| within ten standard deviations of the mean, where g is smooth
    but for features of that width at the centre and grows no faster than a polynomial.

    Parameters
    ----------
    g : callable
        Takes and returns an array (12, *batch).
    mean, variance : array-like
        Broadcast, with the others, to the batch shape.
    centre, width : array-like
        Where the features of g are, and how wide: 0 and 1 for the logistic sigmoid.

    Examples
    --------
    >>> from scipy.special import expit
    >>> float(expect_wide(expit, 0.0, 1e6).round(12))
    0.5
    """
    m, sd, c, h = _two_scales(mean, variance, centre, width)
    grid = np.concatenate([_repeat_over_batch(_NORMAL_GRID, m), _feature_grid(m, sd, c, h)])

    def weigh_integrand(t: Array) -> Array:
        return g(m + sd * t) * np.exp(-0.5 * t**2 - _LOG_SQRT_2PI)

    return integrate(weigh_integrand, np.sort(grid, axis=0))


def log_expect_wide(
    log_g: Function,
    mean: ArrayLike,
    variance: ArrayLike,
    *,
    centre: ArrayLike = 0.0,
    width: ArrayLike = 1.0,
) -> Array:
    """Log of the integral of exp(log_g(a)) N(a | mean, variance) da, accurate in the far tails.

    As ``expect_wide``, with further segments around the peak of the integrand, however far log_g
    pulls it from the mean. For variances from 0 to 1e6 times the square of the width the error is
    below 1e-12, or 1e-12 of the result where that is larger, if log_g is concave or departs from
    concavity only at the centre.

    Examples
    --------
    >>> from scipy.special import log_expit
    >>> float(log_expect_wide(log_expit, -3000.0, 100.0))
    -2950.0
    """
    m, sd, c, h = _two_scales(mean, variance, centre, width)

    def log_weighted(t: Array) -> Array:
        return log_g(m + sd * t) - 0.5 * t**2 - _LOG_SQRT_2PI

    around_mean = _repeat_over_batch(_NORMAL_GRID, m)
    around_peak = _peak_grid(log_weighted, m)
    grid = np.concatenate([around_mean, around_peak, _feature_grid(m, sd, c, h)])
    total = np.full(m.shape, -np.inf)
    for t, w in _segments(np.sort(grid, axis=0)):
        with np.errstate(divide="ignore"):
            log_w = np.log(w)
        total = np.logaddexp(total, logsumexp(log_w + log_weighted(t), axis=0))
    return total


def integrate(f: Function, breakpoints: Array) -> Array:
    """Integral of f from the first to the last breakpoint, by 12-point Gauss-Legendre in between.

    Exact where f is a polynomial of degree up to 23 between any two neighbours.

    Parameters
    ----------
    f : callable
        Takes and returns an array (12, *batch).
    breakpoints : array (J, *batch)
        Increasing along the first axis; segments of length zero add nothing.

    Examples
    --------
    >>> float(integrate(np.cos, np.array([0.0, 1.0, np.pi / 2])).round(12))
    1.0
    """
    total = np.zeros(breakpoints.shape[1:])
    for x, w in _segments(breakpoints):
        total = total + np.sum(w * f(x), axis=0)
    return total


def log_integrate_tail(log_f: Function, rate: ArrayLike) -> Array:
    """Log of the integral of exp(log_f(u)) over u > 0, by 24-point Gauss-Laguerre.

    For log_f that falls from log_f(0) = 0 with slope -rate, and whose slope changes slowly on the
    scale 1 / rate. For the tail of a density more than three standard deviations out the error is
    that of rounding.

    Parameters
    ----------
    log_f : callable
        Takes and returns an array (24, *batch).
    rate : array-like
        The batch shape. Positive.

    Examples
    --------
    >>> float(np.exp(log_integrate_tail(lambda u: -5.0 * u, 5.0)).round(12))
    0.2
    """
    r = np.asarray(rate, dtype=np.float64)
    log_terms = log_f(_as_column(_LAGUERRE_NODES, r.ndim) / r)
    return logsumexp(_as_column(_LAGUERRE_LOG_WEIGHTS, r.ndim) + log_terms, axis=0) - np.log(r)


def _moments(mean: ArrayLike, variance: ArrayLike) -> tuple[Array, Array]:
    """Mean and standard deviation, broadcast against each other."""
    m, v = np.broadcast_arrays(
        np.asarray(mean, dtype=np.float64), np.asarray(variance, dtype=np.float64)
    )
    if not np.all(v >= 0.0):
        raise ValueError(f"The variance of a normal must not be negative or NaN; got {np.min(v)}.")
    return m, np.sqrt(v)


def _two_scales(
    mean: ArrayLike, variance: ArrayLike, centre: ArrayLike, width: ArrayLike
) -> tuple[Array, Array, Array, Array]:
    """Mean, standard deviation, centre and width, broadcast against each other."""
    m, sd = _moments(mean, variance)
    c, h = np.asarray(centre, dtype=np.float64), np.asarray(width, dtype=np.float64)
    if not np.all(h > 0.0):
        raise ValueError(f"The width of a feature must be positive; got {np.min(h)}.")
    batch = np.broadcast_arrays(m, sd, c, h)
    return batch[0], batch[1], batch[2], batch[3]


def _feature_grid(m: Array, sd: Array, c: Array, h: Array) -> Array:
    """Breakpoints c, c +- h, c +- 2 h, c +- 4 h ... up to a standard deviation, standardised."""
    unit = np.maximum(sd, np.finfo(np.float64).tiny)
    levels = int(np.ceil(np.log2(np.max(sd / h, initial=1.0)))) + 1
    steps = 2.0 ** np.arange(levels)
    offsets = _as_column(np.concatenate([-steps[::-1], [0.0], steps]), m.ndim)
    with np.errstate(over="ignore"):
        centre = np.clip((c - m) / unit, -_FARTHEST, _FARTHEST)
        around = np.clip(offsets * np.minimum(h / unit, _FARTHEST), -_FARTHEST, _FARTHEST)
    return centre + around


def _peak_grid(log_f: Function, like: Array) -> Array:
    """Breakpoints around the peak of exp(log_f), at distances in proportion to its two widths."""
    peak = _find_peak(log_f, like)
    grid = _as_column(_PEAK_GRID, like.ndim)
    left = peak - grid * _half_width(log_f, peak, -1.0)
    return np.concatenate([left, peak[None], peak + grid * _half_width(log_f, peak, 1.0)])


def _find_peak(log_f: Function, like: Array) -> Array:
    """Where log_f, which rises and then falls, is largest."""
    middle, reach = np.zeros(like.shape), _FARTHEST
    offsets = _as_column(np.linspace(-1.0, 1.0, 17), like.ndim)
    while reach > _NARROWEST:
        t = middle + reach * offsets
        with np.errstate(over="ignore"):
            highest = np.argmax(log_f(t), axis=0)
        middle = np.take_along_axis(t, highest[None], axis=0)[0]
        reach /= 8.0
    return middle


def _half_width(log_f: Function, peak: Array, side: float) -> Array:
    """The largest power of two, up to 1, at which log_f is less than 1 below its peak."""
    steps = 2.0 ** np.arange(0.0, np.log2(_NARROWEST) - 1.0, -1.0)
    drop = log_f(peak) - log_f(peak + side * _as_column(steps, peak.ndim))
    return steps[np.argmax(drop < 1.0, axis=0)]


def _segments(breakpoints: Array) -> Iterator[tuple[Array, Array]]:
    """Nodes and weights, each (12, *batch), of one segment after the other."""
    x_unit = _as_column(0.5 * (_LEGENDRE_NODES + 1.0), breakpoints.ndim - 1)
    w_unit = _as_column(0.5 * _LEGENDRE_WEIGHTS, breakpoints.ndim - 1)
    for low, high in itertools.pairwise(breakpoints):
        yield low + (high - low) * x_unit, (high - low) * w_unit


def _repeat_over_batch(points: Array, like: Array) -> Array:
    """The points along a new first axis, repeated over the batch."""
    return np.broadcast_to(_as_column(points, like.ndim), points.shape + like.shape)


def _as_column(points: Array, n_batch_axes: int) -> Array:
    """The points along the first axis, with an axis of length one for each axis of the batch."""
    return points.reshape(-1, *(1,) * n_batch_axes)
