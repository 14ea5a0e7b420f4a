"""The gamma distribution, one per prediction, for positive quantities."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, gammainccinv, gammaln

from posterity.arrays import Array
from posterity.distributions import base, parameters, special
from posterity.distributions.base import Continuous

_LARGE = 1e3
_HALF_LOG_PI = 0.5 * float(np.log(np.pi))


@dataclass(frozen=True, repr=False, eq=False)
class Gamma(Continuous):
    """A batch of gamma distributions.

    Parameters
    ----------
    shape : array-like
        Positive; kept as ``concentration``, since ``shape`` is that of the batch.
    rate : array-like
        Positive. The mean is ``shape / rate``.

    Examples
    --------
    >>> from posterity import distributions
    >>> prediction = distributions.Gamma(shape=[2.0, 8.0], rate=4.0)
    >>> prediction.mean(), prediction.variance()
    (array([0.5, 2. ]), array([0.125, 0.5  ]))
    >>> prediction.cdf([-1.0, 0.0])
    array([0., 0.])
    """

    concentration: Array
    rate: Array

    def __init__(self, shape: ArrayLike, rate: ArrayLike) -> None:
        self._store(
            concentration=parameters.check_positive("shape", shape),
            rate=parameters.check_positive("rate", rate),
        )

    def mean(self) -> Array:
        return self.concentration / self.rate

    def variance(self) -> Array:
        return self.concentration / self.rate / self.rate

    def entropy(self) -> Array:
        return _standard_entropy(self.concentration) - np.log(self.rate)

    def logpdf(self, y: ArrayLike) -> Array:
        x = self._scale_by_rate(y)
        inside = special.log_gamma_density(self.concentration, x) + np.log(self.rate)
        return np.where(np.less(y, 0.0), -np.inf, inside)

    def cdf(self, y: ArrayLike) -> Array:
        return special.lower_gamma(self.concentration, self._scale_by_rate(y))

    def ccdf(self, y: ArrayLike) -> Array:
        return special.upper_gamma(self.concentration, self._scale_by_rate(y))

    def logcdf(self, y: ArrayLike) -> Array:
        return special.log_gammainc(self.concentration, self._scale_by_rate(y))

    def logccdf(self, y: ArrayLike) -> Array:
        return special.log_gammaincc(self.concentration, self._scale_by_rate(y))

    def crps(self, y: ArrayLike) -> Array:
        a, x = self.concentration, self._scale_by_rate(y)
        below = np.maximum(-self.rate * np.asarray(y, dtype=np.float64), 0.0)
        half_spread = np.exp(special.log_gamma_half_step(a) - _HALF_LOG_PI)  # 1 / B(1/2, a)
        mean_distance = x * _central_probability(a, x) - a * _central_probability(a + 1.0, x)
        return (mean_distance + below - half_spread) / self.rate

    def sample(
        self, shape: int | tuple[int, ...] = (), *, rng: np.random.Generator
    ) -> NDArray[Any]:
        return (
            rng.standard_gamma(self.concentration, base.draw_shape(shape, self.shape)) / self.rate
        )

    def _icdf(self, p: Array) -> Array:
        return special.inverse_lower_gamma(self.concentration, p) / self.rate

    def _iccdf(self, p: Array) -> Array:
        return gammainccinv(self.concentration, p) / self.rate

    def _scale_by_rate(self, y: ArrayLike) -> Array:
        """y in units of 1 / rate, and zero where it is negative."""
        with np.errstate(over="ignore"):
            return self.rate * np.maximum(np.asarray(y, dtype=np.float64), 0.0)


def _central_probability(a: Array, x: Array) -> Array:
    """P(X <= x) - P(X > x) for a standard gamma X."""
    return special.lower_gamma(a, x) - special.upper_gamma(a, x)


def _standard_entropy(a: Array) -> Array:
    """Entropy at rate 1, by its series where the terms of the closed form cancel."""
    small, large = np.minimum(a, _LARGE), np.maximum(a, _LARGE)
    closed = small + gammaln(small) + (1.0 - small) * digamma(small)
    correction = (1 / 3 + (1 / 12 + 1 / (90 * large)) / large) / large
    series = 0.5 * np.log(2.0 * np.pi * np.e * large) - correction
    return np.where(a < _LARGE, closed, series)
