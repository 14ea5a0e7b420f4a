"""Counts of categories under Dirichlet priors: evidence, its slope, and the best concentration.

A table has one row of counts for each of R independent sets of probabilities over C categories.
Each set has the prior Dirichlet(concentration * base), where base is the prior mean of the
probabilities and the concentration is the number of observations that the prior is worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, digamma, gammaln

from posterity import optimize
from posterity.arrays import Array

_LOG_RANGE = (-12.0, 16.0)  # beyond, differences of gamma functions lose their digits
_LEAST_GAIN = 1e-7  # nats


@dataclass(frozen=True)
class CategoryCounts:
    """Counts (R, C), how often each category was seen in each row, and the base (C,), > 0.

    Examples
    --------
    >>> table = CategoryCounts(np.array([[3.0, 0.0]]), np.array([0.5, 0.5]))
    >>> round(float(np.exp(table.log_evidence(2.0))), 4)  # 1/2 * 2/3 * 3/4
    0.25
    """

    counts: Array
    base: Array

    def log_evidence(self, concentration: float) -> float:
        """Log-probability of the categories in the order they came, all constants included."""
        s, n = concentration, self.counts  # [PRML 2.38] integrated over the probabilities
        return float(
            np.sum(_log_rising_factorial(s * self.base, n))
            - np.sum(_log_rising_factorial(s, n.sum(axis=1)))
        )

    def log_evidence_slope(self, concentration: float) -> float:
        """Derivative of the log evidence in the log of the concentration."""
        s, n, a = concentration, self.counts, concentration * self.base
        rise = np.sum(a * (digamma(a + n) - digamma(a)))
        return float(rise - s * np.sum(digamma(s + n.sum(axis=1)) - digamma(s)))


def compute_log_mean(counts: Array, base: Array, concentration: float) -> Array:
    """Logs of the posterior means of probabilities, (..., C)."""
    total = np.sum(counts, axis=-1, keepdims=True)
    return np.log(counts + concentration * base) - np.log(total + concentration)


def apply_rule_of_succession(counts: Array) -> Array:
    """Return the mean probabilities of categories with these counts under a uniform prior."""
    return (counts + 1.0) / np.sum(counts + 1.0)


def learn_concentration(tables: Sequence[CategoryCounts]) -> optimize.Optimum:
    """The log of the most probable concentration that all tables share.

    The evidence alone may have its maximum at zero, where a row seen once is certain for ever, or
    at infinity. Before the data, the share 1 / (1 + concentration) that one observation has in the
    mean of its row has a uniform prior between 0 and 1.
    """

    def value_and_gradient(x: Array) -> tuple[float, Array]:
        t = float(x[0])
        s = np.exp(t)
        value = sum(table.log_evidence(s) for table in tables) + t - 2.0 * np.log1p(s)
        slope = sum(table.log_evidence_slope(s) for table in tables) + 1.0 - 2.0 * s / (1.0 + s)
        return -value, np.array([-slope])

    return optimize.minimise_lbfgs(
        value_and_gradient,
        np.zeros(1),
        bounds=[_LOG_RANGE],
        names=["concentration"],
        least_gain=_LEAST_GAIN,
    )


def _log_rising_factorial(a: Array | float, n: Array) -> Array:
    """log of a (a + 1) ... (a + n - 1), for any n >= 0, without a difference of large logs."""
    safe = np.where(n > 0.0, n, 1.0)
    return np.where(n > 0.0, gammaln(safe) - betaln(a, safe), 0.0)
