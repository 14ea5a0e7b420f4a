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
