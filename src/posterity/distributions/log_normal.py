"""The log-normal distribution, one per prediction, for positive quantities."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erf

from posterity.arrays import Array
from posterity.distributions import parameters
from posterity.distributions.continuous import Continuous
from posterity.distributions.normal import Normal

_NARROW = 0.1  # scale below which differences are integrals over few nodes
_NODES, _WEIGHTS = (
    0.5 * (x + c) for x, c in zip(np.polynomial.legendre.leggauss(6), (1.0, 0.0), strict=True)
)


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
        x, s, mean = np.asarray(y, dtype=np.float64), self.scale, self.mean()
        central = self.cdf(x) - self.ccdf(x)
        return self._exceed_mean(x) * central + mean * (self._moved_share(x) - erf(0.5 * s))

    def _exceed_mean(self, x: Array) -> Array:
        """x less the mean, without cancellation where the logarithm hardly varies."""
        log_ratio = _log(x) - self.location - 0.5 * self.scale**2
        with np.errstate(over="ignore", invalid="ignore"):
            near = self.mean() * np.expm1(log_ratio)
            return np.where((x > 0.0) & (self.scale < _NARROW), near, x - self.mean())

    def _moved_share(self, x: Array) -> Array:
        """Change of P(Y < x) - P(Y > x) where the mean of the logarithm moves by its variance."""
        s, z = self.scale, (_log(x) - self.location) / self.scale
        nodes = z[..., None] - s[..., None] * _NODES
        short = s * (np.exp(-0.5 * nodes**2) @ _WEIGHTS) * np.sqrt(2.0 / np.pi)
        return np.where(s < _NARROW, short, erf(z / np.sqrt(2.0)) - erf((z - s) / np.sqrt(2.0)))

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
