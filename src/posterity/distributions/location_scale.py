"""Symmetric families y = location + scale z, where z has a standard form."""

import abc
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity.arrays import Array
from posterity.distributions import base
from posterity.distributions.base import Continuous


class LocationScale(Continuous):
    """A symmetric family; a scale of zero puts all probability on the location.

    A subclass says what it knows of the standard form. There z is finite or infinite, and
    parameters of the shape broadcast against it.
    """

    location: Array
    scale: Array

    def mean(self) -> Array:
        return self.location.copy()

    def median(self) -> Array:
        return self.location.copy()

    def variance(self) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.where(self.scale > 0.0, self.scale**2 * self._standard_variance(), 0.0)

    def standard_deviation(self) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            sd = self.scale * np.sqrt(self._standard_variance())
        return np.where(self.scale > 0.0, sd, 0.0)

    def entropy(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.scale) + self._standard_entropy()

    def logpdf(self, y: ArrayLike) -> Array:
        d, z = self._deviation(y)
        log_scale = np.log(np.where(self.scale > 0.0, self.scale, 1.0))
        mass = np.where(d == 0.0, np.inf, -np.abs(z))
        with np.errstate(over="ignore"):
            return np.where(self.scale > 0.0, self._standard_logpdf(z) - log_scale, mass)

    def cdf(self, y: ArrayLike) -> Array:
        return self._standard_cdf(self._deviation(y)[1])

    def ccdf(self, y: ArrayLike) -> Array:
        return self._standard_cdf(-self._deviation(y)[1])

    def logcdf(self, y: ArrayLike) -> Array:
        return self._standard_logcdf(self._deviation(y)[1])

    def logccdf(self, y: ArrayLike) -> Array:
        return self._standard_logcdf(-self._deviation(y)[1])

    def crps(self, y: ArrayLike) -> Array:
        d, z = self._deviation(y)
        near = np.where(np.isfinite(z), z, 0.0)
        standard = self._standard_mean_distance(near) - self._standard_half_spread()  # [GR 21]
        return np.where(np.isfinite(z), self.scale * standard, np.abs(d))

    def sample(
        self, shape: int | tuple[int, ...] = (), *, rng: np.random.Generator
    ) -> NDArray[Any]:
        size = base.draw_shape(shape, self.shape)
        return self.location + self.scale * self._standard_sample(size, rng)

    def _icdf(self, p: Array) -> Array:
        with np.errstate(over="ignore"):
            return self._from_standard(self._standard_icdf(p))

    def _iccdf(self, p: Array) -> Array:
        with np.errstate(over="ignore"):
            return self._from_standard(-self._standard_icdf(p))

    def _from_standard(self, z: Array) -> Array:
        """location + scale z, where an infinite z stays at the location if the scale is zero."""
        with np.errstate(invalid="ignore"):
            return np.where(self.scale > 0.0, self.location + self.scale * z, self.location)

    def _deviation(self, y: ArrayLike) -> tuple[Array, Array]:
        """d = y - location and z = d / scale; z is infinite, and positive at d = 0, for scale 0."""
        d = np.asarray(y, dtype=np.float64) - self.location
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            z = d / self.scale
        step = np.where(d >= 0.0, np.inf, np.where(d < 0.0, -np.inf, np.nan))
        return d, np.where(self.scale > 0.0, z, step)

    @abc.abstractmethod
    def _standard_variance(self) -> Array:
        """Variance of z."""

    @abc.abstractmethod
    def _standard_entropy(self) -> Array:
        """Entropy of z."""

    @abc.abstractmethod
    def _standard_logpdf(self, z: Array) -> Array:
        """Log density of z."""

    @abc.abstractmethod
    def _standard_cdf(self, z: Array) -> Array:
        """P(Z <= z), accurate for negative z."""

    @abc.abstractmethod
    def _standard_logcdf(self, z: Array) -> Array:
        """log P(Z <= z)."""

    @abc.abstractmethod
    def _standard_icdf(self, p: Array) -> Array:
        """The p-quantile of z, accurate for small p."""

    @abc.abstractmethod
    def _standard_mean_distance(self, z: Array) -> Array:
        """E|Z - z| for finite z."""

    @abc.abstractmethod
    def _standard_half_spread(self) -> Array:
        """E|Z - Z'| / 2 for two independent Z."""

    @abc.abstractmethod
    def _standard_sample(self, size: tuple[int, ...], rng: np.random.Generator) -> Array:
        """Draws of z."""
