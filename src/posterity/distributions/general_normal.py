"""The exponential-power distribution: normal, Laplace, and what lies between and beyond."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, gammaincc, gammainccinv, gammaln

from posterity.arrays import Array
from posterity.distributions import parameters, special
from posterity.distributions.location_scale import LocationScale

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
