"""The Poisson distribution of counts, of a known rate and of one whose log is normal."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from posterity.arrays import Array
from posterity.distributions import base, log_concave, parameters, special
from posterity.distributions.counts import CountDistribution, draw_counts

_LARGEST_LOG = 700.0
_FAR = 50.0


@dataclass(frozen=True, repr=False, eq=False)
class Poisson(CountDistribution):
    """A batch of Poisson distributions.

    Parameters
    ----------
    rate : array-like
        Expected counts, zero or positive.

    Examples
    --------
    >>> from posterity import distributions
    >>> prediction = distributions.Poisson(rate=[0.5, 4.0])
    >>> prediction.pmf(0).round(3)
    array([0.607, 0.018])
    >>> prediction.interval(0.9)
    (array([0., 1.]), array([2., 8.]))
    """

    rate: Array

    def __init__(self, rate: ArrayLike) -> None:
        self._store(rate=parameters.check_non_negative("rate", rate))

    def mean(self) -> Array:
        return self.rate.copy()

    def variance(self) -> Array:
        return self.rate.copy()

    def sample(
        self, shape: int | tuple[int, ...] = (), *, rng: np.random.Generator
    ) -> NDArray[Any]:
        return draw_counts(np.broadcast_to(self.rate, base.draw_shape(shape, self.shape)), rng)

    def _typical_count(self) -> Array:
        return self.rate

    def _log_mass(self, y: Array) -> Array:
        # the density of a gamma variable of shape y + 1 at the rate
        log_p = special.log_gamma_density(y + 1.0, np.where(self.rate > 0.0, self.rate, 1.0))
        return np.where(self.rate > 0.0, log_p, np.where(y == 0.0, 0.0, -np.inf))

    def _log_lower(self, y: Array) -> Array:
        return special.log_gammaincc(y + 1.0, self.rate)

    def _log_upper(self, y: Array) -> Array:
        return special.log_gammainc(y + 1.0, self.rate)


@dataclass(frozen=True, repr=False, eq=False)
class PoissonLogNormal(CountDistribution):
    """A batch of Poisson distributions whose rate is uncertain: its log is normal.

    Probabilities are integrals over the log of the rate, which hold to 1e-10 at any location and
    scale.

    Parameters
    ----------
    location, scale : array-like
        Mean and standard deviation of the log of the rate; a scale of zero is a known rate.

    Examples
    --------
    >>> from posterity import distributions
    >>> prediction = distributions.PoissonLogNormal(0.0, [0.0, 2.0])
    >>> prediction.mean().round(3)
    array([1.   , 7.389])
    >>> prediction.pmf(0).round(3)
    array([0.368, 0.412])
    """

    location: Array
    scale: Array

    def __init__(self, location: ArrayLike, scale: ArrayLike) -> None:
        self._store(
            location=parameters.check_finite("location", location),
            scale=parameters.check_non_negative("scale", scale),
        )

    def mean(self) -> Array:
        with np.errstate(over="ignore"):
            return np.exp(self.location + 0.5 * self.scale**2)

    def variance(self) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            mu, growth = self.mean(), np.expm1(self.scale**2)
            return mu + np.where(growth > 0.0, growth * mu * mu, 0.0)

    def sample(
        self, shape: int | tuple[int, ...] = (), *, rng: np.random.Generator
    ) -> NDArray[Any]:
        log_rate = rng.normal(self.location, self.scale, base.draw_shape(shape, self.shape))
        return draw_counts(np.exp(np.minimum(log_rate, _LARGEST_LOG)), rng)

    def _typical_count(self) -> Array:
        return np.exp(np.minimum(self.location, _LARGEST_LOG))

    def _log_mass(self, y: Array) -> Array:
        return log_concave.log_expect(_log_mass, _mass_slope, y, self.location, self.scale**2)

    def _log_lower(self, y: Array) -> Array:
        below, log_p = self._log_side(y)
        return np.where(below, log_p, np.log1p(-np.exp(log_p)))

    def _log_upper(self, y: Array) -> Array:
        below, log_p = self._log_side(y)
        return np.where(below, np.log1p(-np.exp(log_p)), log_p)

    def _log_side(self, counts: Array) -> tuple[NDArray[np.bool_], Array]:
        """Whether y is below the median, nearly, and the log-probability of the side it is on."""
        y, m, v = np.broadcast_arrays(counts, self.location, self.scale**2)
        below, log_p = np.log(y + 0.7) < m, np.empty(y.shape)
        sides = ((below, _log_lower, _lower_slope), (~below, _log_upper, _upper_slope))
        for rows, log_g, slope in sides:
            log_p[rows] = log_concave.log_expect(log_g, slope, y[rows], m[rows], v[rows])
        return below, log_p


def _log_mass(y: Array, a: Array) -> Array:
    """y a - exp(a) - log y!, without cancellation between large terms."""
    x = np.exp(np.minimum(a, _LARGEST_LOG))
    near = special.log_gamma_density(y + 1.0, np.maximum(x, np.exp(-_LARGEST_LOG)))
    return np.where(a < -_LARGEST_LOG, y * a - gammaln(y + 1.0), near)


def _mass_slope(y: Array, a: Array) -> Array:
    return y - np.exp(np.minimum(a, _LARGEST_LOG))


def _log_lower(y: Array, a: Array) -> Array:
    return special.log_gammaincc(y + 1.0, np.exp(np.minimum(a, _LARGEST_LOG)))


def _lower_slope(y: Array, a: Array) -> Array:
    x = np.exp(np.minimum(a, _LARGEST_LOG))
    far = x > _FAR * (y + 1.0)  # where both logs are too large to be subtracted
    log_ratio = np.where(far, 0.0, _log_step(y, a)) - np.where(far, 0.0, _log_lower(y, a))
    return -np.where(far, x - y, np.exp(log_ratio))


def _log_upper(y: Array, a: Array) -> Array:
    near = special.log_gammainc(y + 1.0, np.exp(np.clip(a, -_LARGEST_LOG, _LARGEST_LOG)))
    return np.where(a < -_LARGEST_LOG, (y + 1.0) * a - gammaln(y + 2.0), near)


def _upper_slope(y: Array, a: Array) -> Array:
    return np.where(a < -_LARGEST_LOG, y + 1.0, np.exp(_log_step(y, a) - _log_upper(y, a)))


def _log_step(y: Array, a: Array) -> Array:
    """log of how fast P(Y > y) grows with a: of x times the gamma density of shape y + 1 at x."""
    b = np.clip(a, -_LARGEST_LOG, _LARGEST_LOG)
    return b + special.log_gamma_density(y + 1.0, np.exp(b))
