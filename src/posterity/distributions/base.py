"""A prediction is a distribution: the value every ``predict_dist`` returns.

One object holds a whole batch of predictions, one per query, in arrays of one shape. It is a value:
frozen, compared by its numbers, indexed like an array (``prediction[3:5]``). Method names are those
of SciPy; ``log_prob`` is the one that discrete and continuous distributions share.

What a distribution can be asked depends on its kind:

- every ``Distribution``: mean, variance, standard_deviation, log_prob, entropy, sample;
- a ``Univariate`` one also: cdf, icdf and their relatives, median, interval;
- a ``Continuous`` one also: pdf, logpdf, crps;
- a ``Discrete`` one also: pmf, logpmf, probabilities, mode, average.
"""

import abc
import dataclasses
import math
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import quadrature
from posterity.arrays import Array
from posterity.distributions import parameters


class Distribution(abc.ABC):
    """A batch of predictions.

    A subclass is a frozen dataclass of arrays, which its ``__init__`` checks and hands to
    ``_store``. The first axes of each array are those of the batch; ``_event_axes`` may follow.
    """

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]
    _event_axes: ClassVar[int] = 0

    @abc.abstractmethod
    def mean(self) -> Array:
        """Expected value of each prediction."""

    @abc.abstractmethod
    def variance(self) -> Array:
        """Variance of each prediction."""

    def standard_deviation(self) -> Array:
        """Square root of the variance of each prediction."""
        return np.sqrt(self.variance())

    @abc.abstractmethod
    def log_prob(self, y: ArrayLike) -> Array:
        """Log density or log probability at y, which broadcasts against the batch."""

    @abc.abstractmethod
    def entropy(self) -> Array:
        """Expected -log_prob of each prediction, in nats."""

    @abc.abstractmethod
    def sample(
        self, shape: int | tuple[int, ...] = (), *, rng: np.random.Generator
    ) -> NDArray[Any]:
        """Independent draws, of shape ``(*shape, *self.shape)``."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the batch."""
        first = next(iter(self._parameters().values()))
        return tuple(first.shape[: first.ndim - self._event_axes])

    @property
    def size(self) -> int:
        """Number of predictions in the batch."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"{self!r} is a single prediction and has no length.")
        return self.shape[0]

    def __getitem__(self, index: Any) -> Self:
        return self._take(np.arange(self.size).reshape(self.shape)[index])

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        theirs = other._parameters()
        return all(_equal(mine, theirs[name]) for name, mine in self._parameters().items())

    def _parameters(self) -> dict[str, Any]:
        """The fields by name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def _store(self, **checked: Array) -> None:
        """Bring the arrays to one shape and keep them; to be called once, at construction."""
        for name, value in parameters.broadcast_parameters(checked).items():
            object.__setattr__(self, name, value)

    def _take(self, positions: NDArray[np.intp]) -> Self:
        """The predictions at flat positions in the batch, in the shape of these positions."""
        event = len(self.shape)
        taken = {
            name: value.reshape(self.size, *value.shape[event:])[positions]
            for name, value in self._parameters().items()
        }
        return self._with(taken)

    def _broadcast_to(self, shape: tuple[int, ...]) -> Self:
        """The predictions repeated to fill a larger batch."""
        if shape == self.shape:
            return self
        return self._take(np.broadcast_to(np.arange(self.size).reshape(self.shape), shape))

    def _with(self, checked: dict[str, Array]) -> Self:
        """A distribution of the same family, from arrays that need no further check."""
        other = object.__new__(type(self))
        other._store(**checked)
        return other


def _equal(a: Any, b: Any) -> bool:
    """Whether two fields hold the same numbers."""
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_equal, a, b))
    return bool(a == b) if isinstance(a, Distribution) else np.array_equal(a, b)


def draw_shape(shape: int | tuple[int, ...], batch: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of draws from a batch: an integer stands for one axis."""
    return (shape, *batch) if isinstance(shape, int) else (*shape, *batch)


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
        noise = rng.gumbel(size=(*draw_shape(shape, self.shape), log_p.shape[-1]))
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
