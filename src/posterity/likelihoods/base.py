"""A likelihood is p(y | a): how a latent value becomes an observation.

``log_prob``, ``d1`` and ``d2`` are all that Newton's method, Laplace's approximation and boosting
ask for; ``predict`` is what is left when the uncertainty about a has been integrated out.
Everything is elementwise: one y for one a, with broadcasting. No likelihood knows where a came
from.

Where a likelihood has a closed form for ``predict``, the contract test holds it against
quadrature; one that has none computes it by :mod:`posterity.quadrature`.
"""

import abc
import dataclasses
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import distributions
from posterity.arrays import Array


class Likelihood(abc.ABC):
    """One observation y from one latent value a, independently of all others.

    A subclass is a frozen dataclass of the parameters that do not depend on a, compared by value.
    """

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    @abc.abstractmethod
    def log_prob(self, y: ArrayLike, a: ArrayLike) -> Array:
        """log p(y | a), with all constants."""

    @abc.abstractmethod
    def d1(self, y: ArrayLike, a: ArrayLike) -> Array:
        """First derivative of ``log_prob`` in a."""

    @abc.abstractmethod
    def d2(self, y: ArrayLike, a: ArrayLike) -> Array:
        """Second derivative of ``log_prob`` in a; -d2 weights the rows in Newton's method."""

    @abc.abstractmethod
    def predict(self, mean: ArrayLike, variance: ArrayLike) -> distributions.Distribution:
        """The distribution of y when a is normal; at variance zero, p(y | a = mean)."""

    def sample(self, a: ArrayLike, *, rng: np.random.Generator) -> NDArray[Any]:
        """One observation for each latent value."""
        return self.predict(a, 0.0).sample(rng=rng)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = [field.name for field in dataclasses.fields(self)]
        return all(np.array_equal(getattr(self, n), getattr(other, n)) for n in names)
