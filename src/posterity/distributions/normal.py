"""The normal distribution, one per prediction."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr, ndtri

from posterity.arrays import Array
from posterity.distributions import parameters
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
