"""Predictions of a count: 0, 1, 2 and so on without end."""

import abc
from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammainccinv, gammaincinv, ndtri

from posterity import quadrature
from posterity.arrays import Array
from posterity.distributions.base import Univariate

_SUMMED = 200  # counts from here on are so dense that their sum is an integral
_LEVELS = np.array([1e-16, 1e-12, 1e-9, 1e-6, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4])
_LOG_NOTHING = -44.0  # of a tail whose -p log p is below rounding
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
        total, rows, first, last = np.zeros(self.size), np.arange(self.size), 0, 8
        while rows.size and first < _SUMMED:
            own = self._take(rows)
            total[rows] += np.sum(own._surprise(np.arange(float(first), last)[:, None]), axis=0)
            rows = rows[own._log_upper(np.full(rows.shape, last - 1.0)) > _LOG_NOTHING]
            first, last = last, min(2 * last, _SUMMED)
        if rows.size:
            total[rows] += self._take(rows)._sum_large_counts()
        return total.reshape(self.shape)

    def _sum_large_counts(self) -> Array:
        """Part of the entropy that is due to counts from _SUMMED on, of one axis of rows."""
        levels = _LEVELS[:, None]
        quantiles = [self.icdf(levels), self.median()[None], self.iccdf(levels[::-1])]
        edges = np.maximum(np.concatenate(quantiles), _SUMMED - 0.5)
        start = np.full((1, *self.shape), _SUMMED - 0.5)
        beyond = quadrature.integrate(self._surprise, np.concatenate([start, edges]))
        last, first = self._surprise(np.array([[_SUMMED - 1.0], [_SUMMED]]))
        # a sum of midpoints is the integral and a 24th of the slope where it begins
        return beyond + (first - last) / 24.0

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
        def reaches(own: Self, y: Array, log_p: Array) -> NDArray[np.bool_]:
            return own._log_lower(y) >= log_p

        return self._find_first_count(reaches, p, p < 1.0, self._guess_quantile(p))

    def _iccdf(self, p: Array) -> Array:
        def reaches(own: Self, y: Array, log_p: Array) -> NDArray[np.bool_]:
            return own._log_upper(y) <= log_p

        return self._find_first_count(reaches, p, p > 0.0, self._guess_quantile(p, upper=True))

    def _guess_quantile(self, p: Array, *, upper: bool = False) -> Array:
        """The quantile, about: of a gamma or log-normal variable of the same moments."""
        inverse, sign = (gammainccinv, -1.0) if upper else (gammaincinv, 1.0)
        with np.errstate(all="ignore"):
            mean, variance = self.mean(), self.variance()
            ratio = variance / mean / mean
            log_variance = np.log1p(ratio)
            normal = sign * ndtri(p) * np.sqrt(log_variance) - 0.5 * log_variance
            skewed = mean * np.exp(normal)
            guess = np.ceil(
                np.where(ratio > 1.0, skewed, inverse(1 / ratio, p) * ratio * mean) - 0.5
            )
        return np.where(np.isfinite(guess), guess, np.floor(self._typical_count()))

    def _find_first_count(
        self,
        reaches: Callable[[Self, Array, Array], NDArray[np.bool_]],
        p: Array,
        sought: NDArray[np.bool_],
        guess: Array,
    ) -> Array:
        """The first count at which a condition that stays true once it is becomes true.

        inf where it is not sought, or lies beyond the largest number. From the guess on steps
        grow until the count is bracketed, then the bracket is halved.
        """
        shape = np.broadcast_shapes(p.shape, self.shape)
        own = self._broadcast_to(shape)
        with np.errstate(divide="ignore"):
            log_p = np.log(np.broadcast_to(p, shape)).ravel()
        y = np.clip(np.broadcast_to(guess, shape).ravel(), 0.0, _LARGEST) + 0.0  # no -0.0
        low, high, step = np.full(y.shape, -1.0), np.full(y.shape, np.inf), np.ones(y.shape)
        rows = np.flatnonzero(np.broadcast_to(sought, shape))
        while rows.size:
            reached = reaches(own._take(rows), y[rows], log_p[rows])
            high[rows] = np.where(reached, y[rows], high[rows])
            low[rows] = np.where(reached, low[rows], y[rows])
            a, b = low[rows], high[rows]
            open_ended = (b - a > np.maximum(1.0, np.spacing(a))) & (a < _LARGEST)
            rows, a, b = rows[open_ended], a[open_ended], b[open_ended]
            up, down = a + step[rows], np.maximum(b - step[rows], 0.0)
            middle = np.floor(0.5 * a + 0.5 * np.minimum(b, _LARGEST))
            outward = np.where(np.isinf(b), np.minimum(up, _LARGEST), down)
            y[rows] = np.where(np.isinf(b) | (a < 0.0), outward, middle)
            step[rows] = np.maximum(4.0 * np.minimum(step[rows], _LARGEST), np.spacing(y[rows]))
        return high.reshape(shape)


def draw_counts(rate: Array, rng: np.random.Generator) -> Array:
    """Draw counts as float64, by the normal limit where doubles cannot resolve them."""
    small = rng.poisson(np.minimum(rate, _LARGEST_DRAWN)).astype(np.float64)
    large = np.rint(rng.normal(rate, np.sqrt(rate)))
    return np.where(rate <= _LARGEST_DRAWN, small, large)
