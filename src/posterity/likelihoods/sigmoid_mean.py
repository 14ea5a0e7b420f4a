"""The logistic sigmoid of a normal latent value, averaged over it, in both tails.

Where the normal is narrow, the trapezoid rule over it converges faster than any power of the step.
Where it is wide the two change roles: sigmoid(a) = P(b < a) for b logistic, so that the mean over a
is the mean of a normal cdf over b, a smooth function to which Gauss's rule of the logistic density
applies. Either is asked only for values that are not small: sigmoid(a) = exp(a) sigmoid(-a), and
exp(a) moves the mean of the normal by its variance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import erfcx, ndtr

from posterity.arrays import Array
from posterity.linalg import eigen

AVERAGINGS = ("exact", "approximate", "none")

_TINY = 0.01  # the variance up to which six nodes are exact to 1e-13
_BLOCK_VALUES = 1 << 14  # rows times nodes at once, which stay in cache and in memory already had
_LARGEST_EXPONENT = 700.0
_SQRT_2PI = float(np.sqrt(2.0 * np.pi))


def _trapezoid_rule(step: float, end: float) -> tuple[Array, Array]:
    """Nodes, as a column, and weights for a standard normal."""
    t = np.arange(-end, end + 0.5 * step, step)
    w = np.exp(-0.5 * t**2)
    return t[:, None], w / np.sum(w)


def _hermite_rule(n: int) -> tuple[Array, Array]:
    """Nodes, as a column, and weights of Gauss's rule for a standard normal."""
    t, w = np.polynomial.hermite_e.hermegauss(n)
    return t[:, None], w / np.sum(w)


def _logistic_rule(n: int) -> tuple[Array, Array]:
    """Nodes and weights, as columns, of Gauss's rule for the standard logistic density."""
    k = np.arange(1.0, n)
    nodes, weights = eigen.gauss_rule(np.pi * k**2 / np.sqrt(4.0 * k**2 - 1.0))
    return nodes[:, None], weights[:, None]


_LOGISTIC_NODES, _LOGISTIC_WEIGHTS = _logistic_rule(48)


def check_averaging(averaging: str) -> None:
    """Raise where the way to average is not known."""
    if averaging not in AVERAGINGS:
        raise ValueError(f"averaging={averaging!r} must be one of {AVERAGINGS}.")


def log_mean_probabilities(mean: Array, variance: Array) -> tuple[Array, Array]:
    """Logs of the means of sigmoid(-a) and of sigmoid(a) over a ~ N(mean, variance).

    The error is below 1e-13, or 1e-13 of the result where that is larger, at any variance.
    """
    log_p, _, _ = _log_mean_negative(-np.abs(mean), variance)
    log_q = np.log1p(-np.exp(log_p))
    negative = np.broadcast_to(mean < 0.0, log_p.shape)
    return np.where(negative, log_q, log_p), np.where(negative, log_p, log_q)


def log_mean_sigmoid(mean: Array, variance: Array) -> tuple[Array, Array, Array]:
    """log of the mean of sigmoid(a) over a ~ N(mean, variance), with d/dmean and d^2/dmean^2."""
    log_p, s, k = _log_mean_negative(-np.abs(mean), variance)
    p = np.exp(log_p)
    q = 1.0 - p
    of_larger = np.log1p(-p), p * s / q, -p * (k + s**2) / q - (p * s / q) ** 2
    negative = np.broadcast_to(mean < 0.0, log_p.shape)
    first, second, third = (
        np.where(negative, small, large)
        for small, large in zip((log_p, s, k), of_larger, strict=True)
    )
    return first, second, third


def mean_derivatives(mean: Array, variance: Array) -> tuple[Array, Array, Array]:
    """Means of log sigmoid(a), sigmoid(-a) and sigmoid(a) sigmoid(-a) over a ~ N(mean, variance).

    The second is the slope of the first in the mean, and the third minus the slope of the second.
    """
    log_p, s, _ = _log_mean_negative(-np.abs(mean), variance)
    p = np.exp(log_p)
    return _mean_log(mean, variance), np.where(mean < 0.0, 1.0 - p, p), p * s


def _mean_log(mean: Array, variance: Array) -> Array:
    """Mean of log sigmoid(a), to 1e-9."""
    m, v = np.broadcast_arrays(mean, variance)
    return _evaluate_by_width(m.ravel(), v.ravel(), _MEAN_LOG_RULES)[0].reshape(m.shape)


def _mean_log_over_normal(t: Array, w: Array, m: Array, v: Array) -> Array:
    """Mean of log sigmoid(a) by a rule for the standard normal."""
    a = m + np.sqrt(v) * t
    return w @ (np.minimum(a, 0.0) - np.log1p(np.exp(-np.abs(a))))


def _mean_log_of_wide(m: Array, v: Array) -> Array:
    """Minus the mean of max(b - a, 0) over b logistic, which is -log sigmoid(a) for a given a."""
    sd = np.sqrt(v)
    t = (_LOGISTIC_NODES - m) / sd
    beyond = t * ndtr(t) + np.exp(-0.5 * t**2) / _SQRT_2PI
    return -sd * (_LOGISTIC_WEIGHTS[:, 0] @ beyond)


def _log_mean_negative(mean: Array, variance: Array) -> tuple[Array, Array, Array]:
    """As ``tilted``, for means that are not positive."""
    if not np.all(variance >= 0.0):
        raise ValueError(f"A variance must not be negative or NaN; got {np.min(variance)}.")
    m, v = np.broadcast_arrays(mean, variance)
    in_tail = m <= -0.5 * v
    log_G, s, k = _evaluate_by_width(
        np.where(in_tail, -(m + v), m).ravel(), v.ravel(), _MEAN_RULES
    ).reshape(3, *m.shape)
    return np.where(in_tail, m + 0.5 * v, 0.0) + log_G, np.where(in_tail, 1.0 - s, s), k


def _evaluate_by_width(m: Array, v: Array, rules: Sequence[_Rule]) -> Array:
    """Evaluate every element by the first rule whose largest variance it does not exceed."""
    result, narrower = np.empty((rules[0].n_results, m.size)), -np.inf
    for rule in rules:
        rows = np.flatnonzero((v > narrower) & (v <= rule.largest_variance))
        size, narrower = _BLOCK_VALUES // rule.n_nodes, rule.largest_variance
        for start in range(0, rows.size, size):
            block = rows[start : start + size]
            result[:, block] = rule.integrate(m[block], v[block])
    return result


def _integrate_over_normal(t: Array, w: Array, m: Array, v: Array) -> tuple[Array, Array, Array]:
    """Integrate by a rule for the standard normal, by one exponential a node."""
    a = m + np.sqrt(v) * t
    e = np.exp(-np.abs(a))
    large = 1.0 / (1.0 + e)  # the sigmoid of |a|
    small = e * large
    is_positive, slopes = a > 0.0, small * large
    G = w @ np.where(is_positive, large, small)
    s = w @ slopes / G
    return (
        np.log(G),
        s,
        w @ (slopes * np.where(is_positive, small - large, large - small)) / G - s**2,
    )


def _integrate_wide(m: Array, v: Array) -> tuple[Array, Array, Array]:
    """Integrate by Gauss's rule over the logistic density, relative to the normal density at c."""
    b, c = _LOGISTIC_NODES, np.minimum(m, 0.0)
    log_scale = 0.5 * c**2 / v
    density = np.exp((c - m + b) * (c + m - b) / (2.0 * v))
    beyond = 0.5 * density * erfcx(np.abs(m - b) / np.sqrt(2.0 * v))
    total = np.exp(np.minimum(log_scale, _LARGEST_EXPONENT))
    G = np.sum(_LOGISTIC_WEIGHTS * np.where(m < b, beyond, total - beyond), axis=0)
    weighted = _LOGISTIC_WEIGHTS * density / (_SQRT_2PI * np.sqrt(v) * G)
    s = np.sum(weighted, axis=0)
    return np.log(G) - log_scale, s, -np.sum(weighted * (m - b), axis=0) / v - s**2


@dataclass(frozen=True)
class _Rule:
    """An integral over a ~ N(m, v), for variances up to the largest that it is exact for."""

    largest_variance: float
    n_nodes: int
    integrate: Callable[[Array, Array], Any]
    n_results: int = 1

    @classmethod
    def over_normal(
        cls, largest_variance: float, terms: Any, rule: tuple[Array, Array], n: int
    ) -> _Rule:
        """Return the integral of terms by nodes and weights for a standard normal."""
        return cls(largest_variance, rule[0].size, partial(terms, *rule), n)


_MEAN_RULES = (
    _Rule.over_normal(_TINY, _integrate_over_normal, _hermite_rule(6), 3),
    _Rule.over_normal(2.0, _integrate_over_normal, _trapezoid_rule(0.35, 8.75), 3),
    _Rule.over_normal(16.0, _integrate_over_normal, _trapezoid_rule(0.125, 8.5), 3),
    _Rule(np.inf, _LOGISTIC_NODES.size, _integrate_wide, 3),
)
_MEAN_LOG_RULES = (
    _Rule.over_normal(_TINY, _mean_log_over_normal, _hermite_rule(6), 1),
    _Rule.over_normal(4.0, _mean_log_over_normal, _hermite_rule(64), 1),
    _Rule(np.inf, _LOGISTIC_NODES.size, _mean_log_of_wide),
)
