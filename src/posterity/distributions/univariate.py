"""Predictions of one number each: what follows from the distribution function."""

import abc

from numpy.typing import ArrayLike

from posterity.arrays import Array
from posterity.distributions import parameters
from posterity.distributions.base import Distribution


class Univariate(Distribution):
    """A batch of predictions of one number each."""

    @abc.abstractmethod
    def cdf(self, y: ArrayLike) -> Array:
        """P(Y <= y)."""

    @abc.abstractmethod
    def ccdf(self, y: ArrayLike) -> Array:
        """P(Y > y), accurate where it is small."""

    @abc.abstractmethod
    def logcdf(self, y: ArrayLike) -> Array:
        """log P(Y <= y), finite where P itself would round to zero."""

    @abc.abstractmethod
    def logccdf(self, y: ArrayLike) -> Array:
        """log P(Y > y), finite where P itself would round to zero."""

    def icdf(self, p: ArrayLike) -> Array:
        """The p-quantile: the smallest y with P(Y <= y) >= p."""
        return self._icdf(parameters.check_probability("p", p))

    def iccdf(self, p: ArrayLike) -> Array:
        """The smallest y with P(Y > y) <= p; accurate for small p."""
        return self._iccdf(parameters.check_probability("p", p))

    def median(self) -> Array:
        """The 0.5-quantile of each prediction."""
        return self.icdf(0.5)

    def interval(self, coverage: float = 0.9) -> tuple[Array, Array]:
        """Lower and upper end of the central interval: as much outside on either side."""
        outside = 0.5 * (1.0 - parameters.check_coverage(coverage))
        return self.icdf(outside), self.iccdf(outside)

    @abc.abstractmethod
    def _icdf(self, p: Array) -> Array:
        """The p-quantile, for p from 0 to 1."""

    @abc.abstractmethod
    def _iccdf(self, p: Array) -> Array:
        """The (1 - p)-quantile, for p from 0 to 1."""
