"""Special functions where SciPy's lose digits: logs of tails, and gamma functions at large a."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import (
    betainc,
    betaincc,
    betaln,
    digamma,
    expit,
    gammainc,
    gammaincc,
    gammaincinv,
    gammaln,
    log_expit,
    polygamma,
    xlogy,
)

from posterity import quadrature
from posterity.arrays import Array

TINY = 1e-280
"""Below this a probability is too near underflow to take its log."""

_SERIES_LIMIT = 1e5
_NEWTON_STEPS = 6
_SMALL, _TERMS = 0.1, 12  # below, so many terms of the exponential series suffice
_STEEP = 30.0  # logits beyond which nothing cancels
_LARGE = 20.0  # from here on four terms of the asymptotic series suffice


def log_probability(p: Array, complement: Array) -> Array:
    """log p, also where p rounds to 1, from p and 1 - p each computed without cancellation."""
    with np.errstate(divide="ignore"):
        return np.where(p < 0.5, np.log(p), np.log1p(-np.minimum(complement, 0.5)))


def replace_where(
    values: Array, where: NDArray[np.bool_], function: Callable[..., Array], *arguments: Array
) -> Array:
    """The values, with function(*arguments) in their place where the mask is set."""
    if not np.any(where):
        return values
    result = np.array(values)
    result[where] = function(*(np.broadcast_to(x, where.shape)[where] for x in arguments))
    return result


def log_gamma_half_step(a: Array) -> Array:
    """log Gamma(a + 1/2) - log Gamma(a), without cancellation at large a."""
    b = np.maximum(a, _LARGE)
    c = np.minimum(a, _LARGE)
    r = 1.0 / b**2
    series = 0.5 * np.log(b) - (1 / 8 - r * (1 / 192 - r * (1 / 640 - r * 17 / 14336))) / b
    return np.where(a > _LARGE, series, gammaln(c + 0.5) - gammaln(c))


def digamma_half_step(a: Array) -> Array:
    """digamma(a + 1/2) - digamma(a), without cancellation at large a."""
    b = np.maximum(a, _LARGE)
    c = np.minimum(a, _LARGE)
    r = 1.0 / b**2
    series = 0.5 / b + r * (1 / 8 - r * (1 / 64 - r * (1 / 128 - r * 17 / 2048)))
    return np.where(a > _LARGE, series, digamma(c + 0.5) - digamma(c))


def log_gamma_density(a: Array, x: Array) -> Array:
    """log of x^(a-1) exp(-x) / Gamma(a) for x >= 0, without cancellation at large a."""
    b = np.maximum(a, _LARGE)
    c = np.minimum(a, _LARGE)
    ratio, e = x / b, (x - b) / b
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratio = np.where(np.abs(e) < 0.5, np.log1p(np.maximum(e, -0.5)), np.log(ratio))
        deviance = b * (e - log_ratio)
        large = -deviance - _stirling_error(b) + 0.5 * np.log(b / (2.0 * np.pi)) - np.log(x)
        small = xlogy(c - 1.0, x) - x - gammaln(c)
    nowhere = (x == np.inf) | ((x == 0.0) & (a > 1.0))
    return np.where(nowhere, -np.inf, np.where(a > _LARGE, large, small))


def lower_gamma(a: Array, x: Array) -> Array:
    """P(a, x), regularised lower incomplete gamma, also where SciPy's series ends early."""
    return replace_where(
        gammainc(a, x), _series_fails(a, x), lambda *tail: np.exp(_log_lower_tail(*tail)), a, x
    )


def upper_gamma(a: Array, x: Array) -> Array:
    """Q(a, x) = 1 - P(a, x), also where SciPy's series for P ends early."""
    return replace_where(
        gammaincc(a, x), _series_fails(a, x), lambda *tail: -np.expm1(_log_lower_tail(*tail)), a, x
    )


def inverse_lower_gamma(a: Array, p: Array) -> Array:
    """x with P(a, x) = p, also where SciPy's series ends early."""
    x = gammaincinv(a, p)
    return replace_where(
        x, (a > _SERIES_LIMIT) & (p > 0.0) & (p < 1e-5), _refine_by_newton, a, p, x
    )


def log_gammainc(a: Array, x: Array) -> Array:
    """log P(a, x), also where P underflows."""
    p = gammainc(a, x)
    far = ((p < TINY) & (x > 0.0)) | _series_fails(a, x)
    return replace_where(log_probability(p, gammaincc(a, x)), far, _log_lower_tail, a, x)


def log_gammaincc(a: Array, x: Array) -> Array:
    """log Q(a, x) = log(1 - P(a, x)), also where Q underflows."""
    q = gammaincc(a, x)
    far = (q < TINY) & (x < np.inf)
    return replace_where(log_probability(q, lower_gamma(a, x)), far, _log_upper_tail, a, x)


def _series_fails(a: Array, x: Array) -> NDArray[np.bool_]:
    """Where SciPy sums 2000 terms for P(a, x) though it takes more."""
    return (a > _SERIES_LIMIT) & (x > 0.0) & (x < a - 4.4 * np.sqrt(a))


def _refine_by_newton(a: Array, p: Array, start: Array) -> Array:
    """x with log P(a, x) = log p: Newton's method on a concave function, from a point nearby."""
    x = start
    for _ in range(_NEWTON_STEPS):
        log_value = _log_lower_tail(a, x)
        x = x - (log_value - np.log(p)) * np.exp(log_value - log_gamma_density(a, x))
    return x


def log_less_digamma(a: ArrayLike) -> Array:
    """log(a) - digamma(a), without cancellation at large a."""
    x = np.asarray(a, dtype=np.float64)
    b, c = np.maximum(x, _LARGE), np.minimum(x, _LARGE)
    r = 1.0 / b**2
    series = (0.5 + (1 / 12 - r * (1 / 120 - r * (1 / 252 - r / 240))) / b) / b
    return np.where(x < _LARGE, np.log(c) - digamma(c), series)


def trigamma_excess(a: Array) -> Array:
    """trigamma(a) - 1 / a, without cancellation at large a."""
    b, c = np.maximum(a, _LARGE), np.minimum(a, _LARGE)
    r = 1.0 / b**2
    series = r * (0.5 + (1 / 6 - r * (1 / 30 - r * (1 / 42 - r / 30))) / b)
    return np.where(a < _LARGE, polygamma(1, c) - 1.0 / c, series)


def log_logit_beta_density(a: Array, b: Array, z: Array) -> Array:
    """log of x^a (1 - x)^b / B(a, b) at x = 1 / (1 + exp(-z)): the density of a beta's logit."""
    direct = a * log_expit(z) + b * log_expit(-z) - _log_beta(a, b)
    large = (np.minimum(a, b) > _LARGE) & (np.abs(z) < _STEEP)

    def from_gammas(a: Array, b: Array, z: Array) -> Array:
        # two gamma variables and their sum: large terms cancel inside each of the three
        s, x, rest = a + b, expit(z), expit(-z)
        parts = log_gamma_density(a, s * x) + log_gamma_density(b, s * rest)
        return parts - log_gamma_density(s, s) + np.log(s * x * rest)

    return replace_where(direct, large, from_gammas, a, b, z)


def _log_beta(a: Array, b: Array) -> Array:
    """log B(a, b), without cancellation where one of them is large."""
    few, many = np.minimum(a, b), np.maximum(np.maximum(a, b), _LARGE)
    step = (many + few - 0.5) * np.log1p(few / many) - few + few * np.log(many)
    series = gammaln(few) - step - _stirling_error(many + few) + _stirling_error(many)
    return np.where(np.maximum(a, b) > _LARGE, series, betaln(a, b))


def log_betainc(a: Array, b: Array, z: Array) -> Array:
    """log I_x(a, b) at x = 1 / (1 + exp(-z)), also where the integral underflows."""
    swapped, x = z > 0.0, expit(-np.abs(z))  # which is not 1 to rounding, whatever z is
    first, second = np.where(swapped, b, a), np.where(swapped, a, b)
    # Of numbers near 1e300, SciPy may give only one of both.
    below, above = betainc(first, second, x), betaincc(first, second, x)
    p, rest = np.where(swapped, above, below), np.where(swapped, below, above)
    p, rest = np.where(np.isnan(p), 1.0 - rest, p), np.where(np.isnan(rest), 1.0 - p, rest)
    return replace_where(log_probability(p, rest), p < TINY, _log_beta_tail, a, b, z)


def _log_beta_tail(a: Array, b: Array, z: Array) -> Array:
    """log I_x(a, b) for x far below a / (a + b): t = x exp(-u) under the integral."""
    odds = np.exp(z)

    def log_decay(u: Array) -> Array:
        return (b - 1.0) * np.log1p(-odds * np.expm1(-u)) - a * u

    tail = quadrature.log_integrate_tail(log_decay, a - (b - 1.0) * odds)
    return log_logit_beta_density(a, b, z) - log_expit(-z) + tail


def expm1_excess(d: Array) -> Array:
    """exp(d) - 1 - d, without cancellation at small d."""
    small = np.abs(d) < _SMALL
    x = np.where(small, d, 0.0)
    tail = np.ones_like(x)
    for n in range(_TERMS, 2, -1):
        tail = 1.0 + tail * x / n
    return np.where(small, 0.5 * x**2 * tail, np.expm1(d) - d)


def _log_lower_tail(a: Array, x: Array) -> Array:
    """log P(a, x) for x far below a: t = x exp(-u) under the integral."""
    tail = quadrature.log_integrate_tail(lambda u: -a * u - x * np.expm1(-u), a - x)
    return log_gamma_density(a, x) + np.log(x) + tail


def _log_upper_tail(a: Array, x: Array) -> Array:
    """log Q(a, x) for x far above a: t = x exp(u) under the integral."""
    tail = quadrature.log_integrate_tail(lambda u: a * u - x * np.expm1(u), x - a)
    return log_gamma_density(a, x) + np.log(x) + tail


def _stirling_error(a: Array) -> Array:
    """log Gamma(a) less Stirling's approximation, for large a."""
    r = (1.0 / a) ** 2  # of a number whose square may be infinite
    return (1 / 12 - r * (1 / 360 - r * (1 / 1260 - r / 1680))) / a
