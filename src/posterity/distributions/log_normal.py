"""The log-normal distribution, one per prediction, for positive quantities."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity.arrays import Array
from posterity.distributions import parameters
from posterity.distributions.continuous import Continuous
from posterity.distributions.normal import Normal


@dataclass(frozen=True, repr=False, eq=False)
class LogNormal(Continuous):
    """A batch of distributions of positive numbers whose logarithm is normal.

    Parameters
    ----------
    location, scale : array-like
        Mean and standard deviation of the logarithm; the scale is positive.

    Examples
    --------
    >>> from posterity import distributions
    >>> prediction = distributions.LogNormal([0.0, 3.0], 0.5)
    >>> prediction.mean().round(2), prediction.interval(0.9)[1].round(2)
    (array([ 1.13, 22.76]), array([ 2.28, 45.72]))
    """

    location: Array
    scale: Array

    def __init__(self, location: ArrayLike, scale: ArrayLike) -> None:
        self._store(
            location=parameters.check_finite("location", location),
            scale=parameters.check_positive("scale", scale),
        )

    def mean(self) -> Array:
        with np.errstate(over="ignore"):
            return np.exp(self.location + 0.5 * self.scale**2)

    def variance(self) -> Array:
        with np.errstate(over="ignore"):
            return self.mean() ** 2 * np.expm1(self.scale**2)

    def standard_deviation(self) -> Array:
        with np.errstate(over="ignore"):
            return self.mean() * np.sqrt(np.expm1(self.scale**2))

    def entropy(self) -> Array:
        return self._logarithm.entropy() + self.location

    def logpdf(self, y: ArrayLike) -> Array:
        log_y = _log(y)
        inside = self._logarithm.logpdf(log_y) - np.where(np.isfinite(log_y), log_y, 0.0)
        return np.where(log_y == -np.inf, -np.inf, inside)

    def cdf(self, y: ArrayLike) -> Array:
        return self._logarithm.cdf(_log(y))

    def ccdf(self, y: ArrayLike) -> Array:
        return self._logarithm.ccdf(_log(y))

    def logcdf(self, y: ArrayLike) -> Array:
        return self._logarithm.logcdf(_log(y))

    def logccdf(self, y: ArrayLike) -> Array:
        return self._logarithm.logccdf(_log(y))

    def crps(self, y: ArrayLike) -> Array:
        # E|Y - y| - E|Y - Y'| / 2, of which means above and below a point are those of a normal
        # logarithm moved by its variance  [GR 21]
        x, moved = (
            np.asarray(y, dtype=np.float64),
            Normal(self.location + self.scale**2, self.scale),
        )
        half = Normal(0.0, 1.0).cdf(self.scale / np.sqrt(2.0))
        nearer = x * (self.cdf(x) - self.ccdf(x))
        return nearer + self.mean() * (moved.ccdf(_log(x)) - moved.cdf(_log(x)) - 2.0 * half + 1.0)

    def sample(
        self, shape: int | tuple[int, ...] = (), *, rng: np.random.Generator
    ) -> NDArray[Any]:
        return _exp(self._logarithm.sample(shape, rng=rng))

    def _icdf(self, p: Array) -> Array:
        return _exp(self._logarithm.icdf(p))

    def _iccdf(self, p: Array) -> Array:
        return _exp(self._logarithm.iccdf(p))

    @property
    def _logarithm(self) -> Normal:
        """The distribution of log y."""
        return Normal(self.location, self.scale)


def _log(y: ArrayLike) -> Array:
    """log y, and -inf where y is not positive."""
    x = np.asarray(y, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.log(np.where(x > 0.0, x, np.where(np.isnan(x), np.nan, 0.0)))


def _exp(z: Array) -> Array:
    """exp(z), infinite where that is not a number."""
    with np.errstate(over="ignore"):
        return np.exp(z)
