"""Prior distributions of the weights.

``log_prob``, ``d1`` and ``d2`` are elementwise: weights are independent, and the log density of a
whole vector is the sum. No prior knows which data or which features its weights belong to.
"""

import abc
import dataclasses
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from posterity.arrays import Array


class Prior(abc.ABC):
    """Independent beliefs, one per weight.

    A subclass is a frozen dataclass of its parameters, compared by value.
    """

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    @abc.abstractmethod
    def log_prob(self, w: ArrayLike) -> Array:
        """Log density of each weight, with all constants."""

    @abc.abstractmethod
    def d1(self, w: ArrayLike) -> Array:
        """First derivative of ``log_prob``."""

    @abc.abstractmethod
    def d2(self, w: ArrayLike) -> Array:
        """Second derivative of ``log_prob``."""

    def precision(self, w: ArrayLike) -> Array:
        """-d2: what the prior adds to the diagonal of the Hessian of a negative log posterior."""
        return -self.d2(w)

    @abc.abstractmethod
    def sample(self, shape: int | tuple[int, ...] = (), *, rng: np.random.Generator) -> Array:
        """Draws of this shape, whose last axis runs over the weights where they differ."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = [field.name for field in dataclasses.fields(self)]
        return all(np.array_equal(getattr(self, n), getattr(other, n)) for n in names)
