"""Predictions of a count: 0, 1, 2 and so on without end."""

import abc
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import quadrature
from posterity.arrays import Array
from posterity.distributions.univariate import Univariate

_SUMMED = 200  # counts from here on are so dense that their sum is an integral
_LEVELS = np.array([1e-16, 1e-12, 1e-9, 1e-6, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4])
_LARGEST = 1e303  # beyond, logs of probabilities overflow
_LARGEST_DRAWN = 1e15  # beyond, counts are further apart than float64 can tell, and normal


class CountDistribution(Univariate):
    """A batch of predictions of one count each."""

    @abc.abstractmethod
    def _log_mass(self, y: Array) -> Array:
        """Log-probability of y from 0 on, smooth between the counts."""

    @abc.abstractmethod
    def _log_lower(self, y: Array) -> Array:
        """log P(Y <= y), of whole numbers from 0 on."""

    @abc.abstractmethod
    def _log_upper(self, y: Array) -> Array:
        """log P(Y > y), of whole numbers from 0 on."""

    @abc.abstractmethod
    def _typical_count(self) -> Array:
        """Typical size of the counts, from which the search for a quantile starts."""

    def logpmf(self, y: ArrayLike) -> Array:
        """Log-probability of y; -inf where y is not a count."""
        k = np.asarray(y, dtype=np.float64)
        is_count = (k >= 0.0) & (k == np.floor(k)) & (k < np.inf)
        log_p = self._log_mass(np.where(is_count, k, 0.0))
        return np.where(is_count, log_p, np.where(np.isnan(k), np.nan, -np.inf))

    def pmf(self, y: ArrayLike) -> Array:
        """Probability of y."""
        return np.exp(self.logpmf(y))

    def log_prob(self, y: ArrayLike) -> Array:
        """Log-probability of y: the same as ``logpmf``."""
        return self.logpmf(y)

    def cdf(self, y: ArrayLike) -> Array:
        return np.exp(self.logcdf(y))

    def ccdf(self, y: ArrayLike) -> Array:
        return np.exp(self.logccdf(y))

    def logcdf(self, y: ArrayLike) -> Array:
        return self._evaluate_within_range(self._log_lower, y, -np.inf, 0.0)

    def logccdf(self, y: ArrayLike) -> Array:
        return self._evaluate_within_range(self._log_upper, y, 0.0, -np.inf)

    def entropy(self) -> Array:
        """Expected -log probability: small counts one by one, large ones by quadrature."""
        counts = np.arange(float(_SUMMED)).reshape(-1, *(1,) * len(self.shape))
        levels = _LEVELS.reshape(-1, *(1,) * len(self.shape))
        quantiles = [self.icdf(levels), self.median()[None], self.iccdf(levels[::-1])]
        edges = np.maximum(np.concatenate(quantiles), _SUMMED - 0.5)
        start = np.full((1, *self.shape), _SUMMED - 0.5)
        beyond = quadrature.integrate(self._surprise, np.concatenate([start, edges]))
        last, first = self._surprise(
            np.array([[_SUMMED - 1.0], [_SUMMED]]).reshape(levels[:2].shape)
        )
        # a sum of midpoints is the integral and a 24th of the slope where it begins
        return np.sum(self._surprise(counts), axis=0) + beyond + (first - last) / 24.0

    def _surprise(self, y: Array) -> Array:
        """-p log p."""
        log_p = self._log_mass(y)
        return -np.exp(log_p) * np.maximum(log_p, np.finfo(np.float64).min)

    def _evaluate_within_range(
        self, log_f: Callable[[Array], Array], y: ArrayLike, below: float, beyond: float
    ) -> Array:
        """log_f at the largest count not above y, or its limit where y is negative or infinite."""
        k = np.floor(np.asarray(y, dtype=np.float64))
        inside = (k >= 0.0) & (k < np.inf)
        outside = np.where(np.isnan(k), np.nan, np.where(k < 0.0, below, beyond))
        return np.where(inside, np.minimum(log_f(np.where(inside, k, 0.0)), 0.0), outside)

    def _icdf(self, p: Array) -> Array:
        with np.errstate(divide="ignore"):
            log_p = np.log(p)
        return self._find_first_count(lambda y: self._log_lower(y) >= log_p, p < 1.0)

    def _iccdf(self, p: Array) -> Array:
        with np.errstate(divide="ignore"):
            log_p = np.log(p)
        return self._find_first_count(lambda y: self._log_upper(y) <= log_p, p > 0.0)

    def _find_first_count(
        self, reached: Callable[[Array], NDArray[np.bool_]], sought: NDArray[np.bool_]
    ) -> Array:
        """The first count at which a condition that stays true once it is becomes true.

        inf where it is not sought, or lies beyond the largest number.
        """
        shape = np.broadcast_shapes(sought.shape, self.shape)
        low, done = np.full(shape, -1.0), np.zeros(shape, dtype=bool)
        high = np.floor(np.broadcast_to(np.minimum(self._typical_count(), _LARGEST), shape))
        while True:
            done = reached(high) | ~sought
            if np.all(done | (high >= _LARGEST)):
                break
            beyond = 4.0 * np.minimum(high, 0.25 * _LARGEST) + 4.0
            low, high = np.where(done, low, high), np.where(done, high, beyond)
        low = np.where(done, low, high)
        while np.any(high - low > np.maximum(1.0, np.spacing(high))):
            middle = np.floor(0.5 * low + 0.5 * high)
            below = (middle < 0.0) | ~reached(np.maximum(middle, 0.0))
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.where(done & sought, high, np.inf)


def draw_counts(rate: Array, rng: np.random.Generator) -> Array:
    """Draw counts as float64, by the normal limit where doubles cannot resolve them."""
    small = rng.poisson(np.minimum(rate, _LARGEST_DRAWN)).astype(np.float64)
    large = np.rint(rng.normal(rate, np.sqrt(rate)))
    return np.where(rate <= _LARGEST_DRAWN, small, large)
