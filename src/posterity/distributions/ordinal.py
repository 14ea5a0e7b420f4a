"""One of several numbers in increasing order, such as ratings and grades."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity.arrays import Array
from posterity.distributions import discrete, parameters
from posterity.distributions.categorical import Categorical
from posterity.distributions.discrete import Discrete


@dataclass(frozen=True, repr=False, eq=False)
class Ordinal(Discrete):
    """Predictions of one of K numbers, whose probabilities are listed.

    Parameters
    ----------
    log_p : array-like of shape (..., K)
        Log-probabilities of the numbers, which sum to 1 along the last axis.
    levels : array-like of shape (K,)
        The numbers, in increasing order.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import distributions
    >>> stars = distributions.Ordinal(np.log([[0.1, 0.2, 0.7]]), levels=[1, 2, 5])
    >>> stars.mean().round(6), stars.median(), stars.cdf(2).round(6)
    (array([4.]), array([5.]), array([0.3]))
    """

    _event_axes: ClassVar[int] = 1

    log_p: Array
    levels: Array

    def __init__(self, log_p: ArrayLike, levels: ArrayLike) -> None:
        ordered = parameters.check_finite("levels", levels)
        if np.any(np.diff(ordered, axis=-1) <= 0.0):
            raise ValueError(f"levels={ordered.tolist()} must increase; sort them, once each.")
        self._store(log_p=parameters.check_log_probabilities("log_p", log_p), levels=ordered)

    def mean(self) -> Array:
        return np.sum(self.probabilities() * self.levels, axis=-1)

    def variance(self) -> Array:
        away = self.levels - self.mean()[..., None]
        return np.sum(self.probabilities() * away**2, axis=-1)

    def mode(self) -> NDArray[Any]:
        """The most probable number; the smallest of equals."""
        return self._level_at(super().mode())

    def log_probabilities(self) -> Array:
        return self.log_p

    def average(self, log_weights: ArrayLike | None = None) -> Self:
        mixed = Categorical(self.log_p).average(log_weights)
        return type(self)(mixed.log_p, self.levels[..., 0, :])

    def logpmf(self, y: ArrayLike) -> Array:
        """Log-probability of y; -inf where y is not one of the numbers."""
        k = self._count_up_to(y) - 1.0
        is_level = np.where(k < 0.0, np.nan, self._level_at(np.maximum(k, 0.0))) == y
        return super().logpmf(np.where(is_level | np.isnan(k), k, -1.0))

    def logcdf(self, y: ArrayLike) -> Array:
        return super().logcdf(self._count_up_to(y) - 1.0)

    def logccdf(self, y: ArrayLike) -> Array:
        return super().logccdf(self._count_up_to(y) - 1.0)

    def sample(
        self, shape: int | tuple[int, ...] = (), *, rng: np.random.Generator
    ) -> NDArray[Any]:
        return self._level_at(super().sample(shape, rng=rng))

    def _icdf(self, p: Array) -> Array:
        return self._level_at(super()._icdf(p))

    def _iccdf(self, p: Array) -> Array:
        return self._level_at(super()._iccdf(p))

    def _count_up_to(self, y: ArrayLike) -> Array:
        """How many of the numbers are not above y."""
        numbers = discrete.as_numbers(y)
        count = np.sum(self.levels <= numbers[..., None], axis=-1, dtype=np.float64)
        return np.where(np.isnan(numbers), np.nan, count)

    def _level_at(self, k: NDArray[Any]) -> Array:
        filled = np.where(np.isnan(k), 0.0, k)
        return discrete.lookup(self.levels, filled)
