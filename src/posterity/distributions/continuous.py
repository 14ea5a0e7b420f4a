"""Predictions with a density."""

import abc

import numpy as np
from numpy.typing import ArrayLike

from posterity import quadrature
from posterity.arrays import Array
from posterity.distributions.univariate import Univariate

_TAIL_LEVELS = np.array([1e-16, 1e-12, 1e-9, 1e-6, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4])


class Continuous(Univariate):
    """A batch of predictions with a density each."""

    @abc.abstractmethod
    def logpdf(self, y: ArrayLike) -> Array:
        """Log density at y."""

    def pdf(self, y: ArrayLike) -> Array:
        """Density at y."""
        return np.exp(self.logpdf(y))

    def log_prob(self, y: ArrayLike) -> Array:
        """Log density at y: the same as ``logpdf``."""
        return self.logpdf(y)

    def crps(self, y: ArrayLike) -> Array:
        """Continuous ranked probability score of each prediction at y; lower is better.

        In the units of y: the integral of (cdf(x) - [x >= y])^2 over x, which is |y - mean| for a
        prediction without uncertainty.
        """
        return self._crps_by_quadrature(np.asarray(y, dtype=np.float64))

    def _crps_by_quadrature(self, y: Array) -> Array:
        """The integral of cdf^2 below y and of ccdf^2 above it.  [GR 20]"""
        shape = np.broadcast_shapes(y.shape, self.shape)
        quantiles = self._breakpoints()
        points = quantiles.reshape(-1, *(1,) * (len(shape) - len(self.shape)), *self.shape)
        end = np.broadcast_to(y, shape)[None]
        below = np.concatenate([np.minimum(points, end), end])
        above = np.concatenate([end, np.maximum(points, end)])
        return quadrature.integrate(lambda x: self.cdf(x) ** 2, below) + quadrature.integrate(
            lambda x: self.ccdf(x) ** 2, above
        )

    def _breakpoints(self) -> Array:
        """Increasing points (J, *shape) between which the cdf is smooth, tail to tail."""
        levels = _TAIL_LEVELS.reshape(-1, *(1,) * len(self.shape))
        return np.concatenate([self.icdf(levels), self.median()[None], self.iccdf(levels[::-1])])
