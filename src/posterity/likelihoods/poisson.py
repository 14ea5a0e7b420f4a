"""Counts, whose rate is the exponential of the latent value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from posterity import distributions
from posterity.arrays import Array
from posterity.likelihoods import exposed_counts, spread
from posterity.likelihoods.base import Averaged

_LARGEST_LOG = 700.0  # exp(700) is a number


@dataclass(frozen=True, eq=False)
class Poisson(Averaged):
    """y in {0, 1, 2, ...} of a Poisson distribution with rate exp(a).

    Examples
    --------
    >>> from posterity import likelihoods
    >>> likelihood = likelihoods.Poisson()
    >>> float(likelihood.d1(y=3, a=0.0))
    2.0
    >>> likelihood.predict(mean=[0.0, 0.0], variance=[0.0, 4.0]).mean().round(3)
    array([1.   , 7.389])
    """

    takes_exposure: ClassVar[bool] = True
    joins_predictions: ClassVar[bool] = False

    def log_prob(self, y: ArrayLike, a: ArrayLike) -> Array:
        k, eta = exposed_counts.separate(y, a)
        return k * eta - _rate(eta) - gammaln(k + 1.0)

    def d1(self, y: ArrayLike, a: ArrayLike) -> Array:
        k, eta = exposed_counts.separate(y, a)
        return k - _rate(eta)

    def d2(self, y: ArrayLike, a: ArrayLike) -> Array:
        k, eta = exposed_counts.separate(y, a)
        return np.broadcast_to(-_rate(eta), np.broadcast_shapes(k.shape, eta.shape))

    def d3(self, y: ArrayLike, a: ArrayLike) -> Array:
        return self.d2(y, a)

    def information(self, a: ArrayLike) -> Array:
        return _rate(a)[None]

    def expected_derivatives(
        self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike
    ) -> tuple[Array, Array, Array]:
        k, m = exposed_counts.separate(y, mean)
        rate = _mean_rate(m, variance)
        return k * m - rate - gammaln(k + 1.0), k - rate, rate + np.zeros_like(k)

    def expected_d3(self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> Array:
        k, m = exposed_counts.separate(y, mean)
        return -_mean_rate(m, variance) - np.zeros(k.shape)

    def predict(
        self, mean: ArrayLike, variance: ArrayLike
    ) -> distributions.Poisson | distributions.PoissonLogNormal:
        m, v = np.asarray(mean, dtype=np.float64), np.asarray(variance, dtype=np.float64)
        if not np.any(v):
            return distributions.Poisson(_rate(m + v))
        return distributions.PoissonLogNormal(m, np.sqrt(v))

    def check(self, y: Array) -> None:
        spread.require_counts(y, "Poisson")

    def fit_constant(self, y: Array, weights: Array) -> tuple[float, float]:
        return spread.fit_rate(y, weights)


def _rate(a: ArrayLike) -> Array:
    """exp(a), and the largest number where that is not one."""
    return np.exp(np.minimum(np.asarray(a, dtype=np.float64), _LARGEST_LOG))


def _mean_rate(mean: ArrayLike, variance: ArrayLike) -> Array:
    """The average of exp(a) over a normal a."""
    return _rate(np.asarray(mean, dtype=np.float64) + 0.5 * np.asarray(variance, dtype=np.float64))
