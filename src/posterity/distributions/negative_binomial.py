"""The negative binomial distribution of counts, of a known mean and of one whose log is normal."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit

from posterity.arrays import Array
from posterity.distributions import base, log_concave, parameters, special
from posterity.distributions.counts import CountDistribution, draw_counts

_LARGEST_LOG = 700.0


@dataclass(frozen=True, repr=False, eq=False)
class NegativeBinomial(CountDistribution):
    """A batch of negative binomial distributions: Poisson, of a rate that is gamma distributed.

    Parameters
    ----------
    mean : array-like
        Expected counts, positive; kept as ``expectation``.
    shape : array-like
        Positive; kept as ``concentration``. The variance is ``mean + mean**2 / shape``.

    Examples
    --------
    >>> from posterity import distributions
    >>> prediction = distributions.NegativeBinomial(mean=4.0, shape=[2.0, 1e6])
    >>> prediction.variance().round(2)
    array([12.,  4.])
    >>> prediction.interval(0.9)
    (array([0., 1.]), array([11.,  8.]))
    """

    expectation: Array
    concentration: Array

    def __init__(self, mean: ArrayLike, shape: ArrayLike) -> None:
        self._store(
            expectation=parameters.check_positive("mean", mean),
            concentration=parameters.check_positive("shape", shape),
        )

    def mean(self) -> Array:
        return self.expectation.copy()

    def variance(self) -> Array:
        with np.errstate(over="ignore"):
            return self.expectation * (1.0 + self.expectation / self.concentration)

    def sample(
        self, shape: int | tuple[int, ...] = (), *, rng: np.random.Generator
    ) -> NDArray[Any]:
        factor = _draw_factors(self.concentration, base.draw_shape(shape, self.shape), rng)
        return draw_counts(self.expectation * factor, rng)

    def _typical_count(self) -> Array:
        return self.expectation

    def _log_mass(self, y: Array) -> Array:
        return log_mass(y, np.log(self.expectation), self.concentration)

    def _log_lower(self, y: Array) -> Array:
        return _log_lower(y, np.log(self.expectation), self.concentration)

    def _log_upper(self, y: Array) -> Array:
        return _log_upper(y, np.log(self.expectation), self.concentration)


@dataclass(frozen=True, repr=False, eq=False)
class NegativeBinomialLogNormal(CountDistribution):
    """A batch of negative binomial distributions whose mean is uncertain: its log is normal.

    Probabilities are integrals over the log of the mean, which hold to 1e-9.

    Parameters
    ----------
    location, scale : array-like
        Mean and standard deviation of the log of the mean; a scale of zero is a known mean.
    shape : array-like
        Positive; kept as ``concentration``.

    Examples
    --------
    >>> from posterity import distributions
    >>> prediction = distributions.NegativeBinomialLogNormal(0.0, [0.0, 2.0], shape=2.0)
    >>> prediction.mean().round(3), prediction.pmf(0).round(3)
    (array([1.   , 7.389]), array([0.444, 0.458]))
    """

    location: Array
    scale: Array
    concentration: Array

    def __init__(self, location: ArrayLike, scale: ArrayLike, shape: ArrayLike) -> None:
        self._store(
            location=parameters.check_finite("location", location),
            scale=parameters.check_non_negative("scale", scale),
            concentration=parameters.check_positive("shape", shape),
        )

    def mean(self) -> Array:
        with np.errstate(over="ignore"):
            return np.exp(self.location + 0.5 * self.scale**2)

    def variance(self) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            mu, growth = self.mean(), np.expm1(self.scale**2)
            return mu + (growth + (1.0 + growth) / self.concentration) * mu * mu

    def sample(
        self, shape: int | tuple[int, ...] = (), *, rng: np.random.Generator
    ) -> NDArray[Any]:
        size = base.draw_shape(shape, self.shape)
        log_mean = np.minimum(rng.normal(self.location, self.scale, size), _LARGEST_LOG)
        return draw_counts(np.exp(log_mean) * _draw_factors(self.concentration, size, rng), rng)

    def _typical_count(self) -> Array:
        return np.exp(np.minimum(self.location, _LARGEST_LOG))

    def _log_mass(self, y: Array) -> Array:
        return self._log_expect(log_mass, _mass_slope, y)

    def _log_lower(self, y: Array) -> Array:
        return self._log_expect(_log_lower, _lower_slope, y)

    def _log_upper(self, y: Array) -> Array:
        return self._log_expect(_log_upper, _upper_slope, y)

    def _log_expect(
        self, log_g: log_concave.LogFunction, slope: log_concave.LogFunction, y: Array
    ) -> Array:
        """log of the average of a function over the log of the mean."""
        return log_concave.log_expect(
            log_g, slope, y, self.location, self.scale**2, self.concentration
        )


def log_mass(y: Array, a: Array, shape: Array) -> Array:
    """Log-probability of y counts of mean exp(a)."""
    z = a - np.log(shape)
    beta = special.log_logit_beta_density(y + 1.0, shape, z)
    return beta - log_expit(z) - np.log(y + shape)


def _mass_slope(y: Array, a: Array, shape: Array) -> Array:
    z = a - np.log(shape)
    return y * expit(-z) - shape * expit(z)


def _log_lower(y: Array, a: Array, shape: Array) -> Array:
    return special.log_betainc(shape, y + 1.0, np.log(shape) - a)


def _log_upper(y: Array, a: Array, shape: Array) -> Array:
    return special.log_betainc(y + 1.0, shape, a - np.log(shape))


def _lower_slope(y: Array, a: Array, shape: Array) -> Array:
    return -np.exp(_log_step(y, a, shape) - _log_lower(y, a, shape))


def _upper_slope(y: Array, a: Array, shape: Array) -> Array:
    return np.exp(_log_step(y, a, shape) - _log_upper(y, a, shape))


def _log_step(y: Array, a: Array, shape: Array) -> Array:
    """log of how fast P(Y > y) grows with a."""
    return special.log_logit_beta_density(y + 1.0, shape, a - np.log(shape))


def _draw_factors(shape: Array, size: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Draw what multiplies the mean: gamma variables of mean one."""
    return rng.standard_gamma(shape, size) / shape
