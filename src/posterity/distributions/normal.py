"""The normal distribution, the log-normal, and normals of other powers than two."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, erf, gammaincc, gammainccinv, gammaln, log_ndtr, ndtr, ndtri

from posterity.arrays import Array
from posterity.distributions import parameters, special
from posterity.distributions.base import Continuous
from posterity.distributions.location_scale import LocationScale

_HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))
_HALF_SPREAD = float(1.0 / np.sqrt(np.pi))


@dataclass(frozen=True, repr=False, eq=False)
class Normal(LocationScale):
    """A batch of normal distributions.

    Parameters
    ----------
    location : array-like
        Means.
    scale : array-like
        Standard deviations. Zero is allowed and puts all probability on the location: there the
        log density is +inf, elsewhere -inf, and the cdf is a step.

    Examples
    --------
    >>> from posterity import distributions
    >>> prediction = distributions.Normal([0.0, 10.0], 2.0)
    >>> prediction
    Normal(shape=(2,))
    >>> prediction.variance()
    array([4., 4.])
    >>> low, high = prediction.interval(0.95)
    >>> high.round(2)
    array([ 3.92, 13.92])
    >>> float(prediction[0].logcdf(-80.0).round(1))
    -804.6
    """

    location: Array
    scale: Array

    def __init__(self, location: ArrayLike, scale: ArrayLike) -> None:
        self._store(
            location=parameters.check_finite("location", location),
            scale=parameters.check_non_negative("scale", scale),
        )

    def _standard_variance(self) -> Array:
        return np.ones(())

    def _standard_entropy(self) -> Array:
        return np.array(0.5 + _HALF_LOG_2PI)

    def _standard_logpdf(self, z: Array) -> Array:
        return -0.5 * z**2 - _HALF_LOG_2PI

    def _standard_cdf(self, z: Array) -> Array:
        return ndtr(z)

    def _standard_logcdf(self, z: Array) -> Array:
        return log_ndtr(z)

    def _standard_icdf(self, p: Array) -> Array:
        return ndtri(p)

    def _standard_mean_distance(self, z: Array) -> Array:
        return mean_distance(z)

    def _standard_half_spread(self) -> Array:
        return np.array(_HALF_SPREAD)

    def _standard_sample(self, size: tuple[int, ...], rng: np.random.Generator) -> Array:
        return rng.standard_normal(size)


def mean_distance(z: Array) -> Array:
    """E|Z - z| for a standard normal Z."""
    with np.errstate(over="ignore"):
        return z * (ndtr(z) - ndtr(-z)) + 2.0 * np.exp(-0.5 * z**2 - _HALF_LOG_2PI)


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


_LOG_2 = float(np.log(2.0))


@dataclass(frozen=True, repr=False, eq=False)
class GeneralNormal(LocationScale):
    """Predictions with density proportional to exp(-|(y - location) / scale|^power).

    Parameters
    ----------
    location : array-like
        Means and medians.
    scale : array-like
        Zero or positive. The normal of standard deviation s has scale ``sqrt(2) * s``.
    power : array-like
        Positive: 1 is the Laplace distribution, 2 the normal; towards infinity, the uniform.

    Examples
    --------
    >>> from posterity import distributions
    >>> laplace = distributions.GeneralNormal(0.0, scale=1.0, power=1.0)
    >>> float(laplace.pdf(0.0)), float(laplace.variance().round(12))
    (0.5, 2.0)
    """

    location: Array
    scale: Array
    power: Array

    def __init__(self, location: ArrayLike, scale: ArrayLike, power: ArrayLike) -> None:
        self._store(
            location=parameters.check_finite("location", location),
            scale=parameters.check_non_negative("scale", scale),
            power=parameters.check_positive("power", power),
        )

    def variance(self) -> Array:
        # in logs: at small powers a tiny scale meets a huge variance of the standard form
        with np.errstate(divide="ignore", over="ignore"):
            return np.exp(2.0 * np.log(self.scale) + self._log_standard_variance())

    def standard_deviation(self) -> Array:
        with np.errstate(divide="ignore", over="ignore"):
            return np.exp(np.log(self.scale) + 0.5 * self._log_standard_variance())

    def _standard_variance(self) -> Array:
        with np.errstate(over="ignore"):
            return np.exp(self._log_standard_variance())

    def _log_standard_variance(self) -> Array:
        return gammaln(3.0 / self.power) - gammaln(1.0 / self.power)

    def _standard_entropy(self) -> Array:
        return 1.0 / self.power - self._log_constant()

    def _standard_logpdf(self, z: Array) -> Array:
        return self._log_constant() - np.abs(z) ** self.power

    def _standard_cdf(self, z: Array) -> Array:
        outside = 0.5 * self._upper_gamma(1.0, z)
        return np.where(z > 0.0, 1.0 - outside, outside)

    def _standard_logcdf(self, z: Array) -> Array:
        a, x = 1.0 / self.power, self._exponent(z)
        log_upper = special.replace_where(
            special.log_gammaincc(a, x), x < special.TINY, np.log, self._upper_gamma(1.0, z)
        )
        log_outside = log_upper - _LOG_2
        return np.where(z > 0.0, np.log1p(-np.exp(log_outside)), log_outside)

    def _standard_icdf(self, p: Array) -> Array:
        a, outside = 1.0 / self.power, np.minimum(p, 1.0 - p)
        x = gammainccinv(a, 2.0 * outside)
        flat = (1.0 - 2.0 * outside) * np.exp(gammaln(1.0 + a))
        distance = np.where(x < special.TINY, flat, x**a)
        return np.where(p > 0.5, distance, -distance)

    def _standard_mean_distance(self, z: Array) -> Array:
        central = self._standard_cdf(z) - self._standard_cdf(-z)
        return z * central + self._mean_magnitude() * self._upper_gamma(2.0, z)

    def _standard_half_spread(self) -> Array:
        # |Z|^p is gamma: given the sum of two, the share of the smaller is beta
        return self._mean_magnitude() * betainc(1.0 / self.power, 2.0 / self.power, 0.5)

    def _standard_sample(self, size: tuple[int, ...], rng: np.random.Generator) -> Array:
        # |Z|^p is Gamma(1/p) = Gamma(1 + 1/p) U^p with U uniform
        magnitude = rng.standard_gamma(1.0 + 1.0 / self.power, size) ** (1.0 / self.power)
        return magnitude * rng.uniform(-1.0, 1.0, size)

    def _exponent(self, z: Array) -> Array:
        """The power |z|^p of each standardised value."""
        with np.errstate(over="ignore"):
            return np.abs(z) ** self.power

    def _upper_gamma(self, k: float, z: Array) -> Array:
        """The share of E|Z|^(k - 1) that is due to values beyond z: Q(k / p, |z|^p)."""
        a, x = k / self.power, self._exponent(z)
        # Where |z|^p underflows the density is that of the centre.
        within = np.minimum(np.abs(z), 1.0) ** k * np.exp(-gammaln(1.0 + a))
        return np.where(x < special.TINY, 1.0 - within, gammaincc(a, x))

    def _mean_magnitude(self) -> Array:
        """The mean E|Z| of the standardised magnitude."""
        return np.exp(gammaln(2.0 / self.power) - gammaln(1.0 / self.power))

    def _log_constant(self) -> Array:
        """log of the density at z = 0."""
        return -_LOG_2 - gammaln(1.0 + 1.0 / self.power)
