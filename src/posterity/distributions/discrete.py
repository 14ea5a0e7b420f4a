"""Predictions of one of C classes, numbered 0 to C - 1, held as log-probabilities."""

import abc
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity.arrays import Array
from posterity.distributions import base, parameters
from posterity.distributions.univariate import Univariate


class Discrete(Univariate):
    """A batch of predictions of one class each.

    Classes are ordered by their numbers where an order is needed (``cdf``, ``icdf``).
    """

    @abc.abstractmethod
    def log_probabilities(self) -> Array:
        """Log-probability of every class, shape ``(*shape, C)``."""

    @abc.abstractmethod
    def average(self, log_weights: ArrayLike | None = None) -> Self:
        """The mixture of the predictions along the last axis of the batch.

        Weights are equal unless their logs are given; a mixture of this family is again of it.
        """

    def probabilities(self) -> Array:
        """Probability of every class, shape ``(*shape, C)``."""
        return np.exp(self.log_probabilities())

    def mode(self) -> NDArray[np.intp]:
        """The most probable class; the first of equals."""
        return np.argmax(self.log_probabilities(), axis=-1)

    def logpmf(self, y: ArrayLike) -> Array:
        """Log-probability of class y; -inf where y is not the number of a class."""
        log_p, k = self.log_probabilities(), as_numbers(y)
        is_class = (k == np.floor(k)) & (k >= 0.0) & (k < log_p.shape[-1])
        chosen = lookup(log_p, np.where(is_class, k, 0.0))
        return np.where(is_class, chosen, np.where(np.isnan(k), np.nan, -np.inf))

    def pmf(self, y: ArrayLike) -> Array:
        """Probability of class y."""
        return np.exp(self.logpmf(y))

    def log_prob(self, y: ArrayLike) -> Array:
        """Log-probability of class y: the same as ``logpmf``."""
        return self.logpmf(y)

    def entropy(self) -> Array:
        log_p = self.log_probabilities()
        return -np.sum(np.exp(log_p) * np.maximum(log_p, np.finfo(np.float64).min), axis=-1)

    def cdf(self, y: ArrayLike) -> Array:
        return np.exp(self.logcdf(y))

    def ccdf(self, y: ArrayLike) -> Array:
        return np.exp(self.logccdf(y))

    def logcdf(self, y: ArrayLike) -> Array:
        return _lookup_below(self._log_cumulative(), y)

    def logccdf(self, y: ArrayLike) -> Array:
        return _lookup_below(self._log_remaining(), y)

    def sample(
        self, shape: int | tuple[int, ...] = (), *, rng: np.random.Generator
    ) -> NDArray[Any]:
        # the largest of log p + Gumbel noise falls on class k with probability p_k
        log_p = self.log_probabilities()
        noise = rng.gumbel(size=(*base.draw_shape(shape, self.shape), log_p.shape[-1]))
        return np.argmax(log_p + noise, axis=-1)

    def _icdf(self, p: Array) -> Array:
        reached = np.exp(self._log_cumulative()[..., 1:-1])
        return np.sum(p[..., None] > reached, axis=-1).astype(np.float64)

    def _iccdf(self, p: Array) -> Array:
        remaining = np.exp(self._log_remaining()[..., 1:-1])
        return np.sum(p[..., None] < remaining, axis=-1).astype(np.float64)

    def _log_cumulative(self) -> Array:
        """log P(Y < k) for k = 0..C."""
        return _pad_cumulative(np.logaddexp.accumulate(self.log_probabilities(), axis=-1))

    def _log_remaining(self) -> Array:
        """log P(Y >= k) for k = 0..C."""
        reverse = self.log_probabilities()[..., ::-1]
        return _pad_cumulative(np.logaddexp.accumulate(reverse, axis=-1))[..., ::-1]


def average_weights(log_weights: ArrayLike | None, shape: tuple[int, ...]) -> Array:
    """Log weights along the last axis of a batch, equal where none are given."""
    if not shape:
        raise ValueError("A single prediction has no axis to average over.")
    if log_weights is None:
        return np.full(shape[-1], -np.log(shape[-1]))
    return parameters.check_log_probabilities("log_weights", log_weights)


def _pad_cumulative(log_sums: Array) -> Array:
    """-inf, the sums, and exactly 0 in place of the last, which is log 1."""
    start = np.full((*log_sums.shape[:-1], 1), -np.inf)
    return np.concatenate([start, np.minimum(log_sums[..., :-1], 0.0), np.zeros_like(start)], -1)


def _lookup_below(table: Array, y: ArrayLike) -> Array:
    """The entry for the number of classes not above y."""
    k = as_numbers(y)
    count = np.clip(np.floor(k) + 1.0, 0.0, table.shape[-1] - 1.0)
    found = lookup(table, np.where(np.isnan(k), 0.0, count))
    return np.where(np.isnan(k), np.nan, found)


def lookup(table: Array, position: NDArray[Any]) -> Array:
    """table[..., position], where position broadcasts against the batch."""
    shape = np.broadcast_shapes(table.shape[:-1], position.shape)
    columns = np.broadcast_to(position, shape).astype(np.intp)[..., None]
    rows = np.broadcast_to(table, (*shape, table.shape[-1]))
    return np.take_along_axis(rows, columns, axis=-1)[..., 0]


def as_numbers(y: ArrayLike) -> Array:
    """Numbers of classes, or what stands for them, as floats."""
    numbers = np.asarray(y)
    if numbers.dtype.kind not in "biuf":
        raise TypeError(
            "Classes are numbered from 0 here, but y holds labels; "
            "number them first, e.g. numpy.searchsorted(classes, y)."
        )
    return numbers.astype(np.float64)
