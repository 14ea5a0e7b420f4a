"""A batch of predictions of several families."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity.arrays import Array
from posterity.distributions import base
from posterity.distributions.base import Continuous


@dataclass(frozen=True, repr=False, eq=False)
class Assortment(Continuous):
    """Continuous predictions of several families in one batch.

    ``Mixture`` uses it to average components of different families.

    Parameters
    ----------
    members : tuple of Continuous
        One batch of each family, of one axis.
    which, place : ndarray of int
        The member of each prediction, and its position in that member.

    Examples
    --------
    >>> from posterity import distributions
    >>> pair = [distributions.Normal([0.0, 1.0], 1.0), distributions.Gamma([2.0, 6.0], 2.0)]
    >>> distributions.Assortment.align(pair).mean()
    array([[0., 1.],
           [1., 3.]])
    """

    members: tuple[Continuous, ...]
    which: NDArray[np.intp]
    place: NDArray[np.intp]

    def __init__(
        self,
        members: tuple[Continuous, ...],
        which: NDArray[np.intp],
        place: NDArray[np.intp],
    ) -> None:
        for name, value in (("which", which), ("place", place)):
            value = np.array(value)
            value.flags.writeable = False
            object.__setattr__(self, name, value)
        object.__setattr__(self, "members", members)

    @classmethod
    def align(cls, members: Sequence[Continuous]) -> Self:
        """Return a batch whose last axis lists the members, of shape ``(*batch, K)``."""
        shape = np.broadcast_shapes(*(member.shape for member in members))
        flat = np.arange(int(np.prod(shape))).reshape(shape)
        alike = tuple(
            member
            if member.shape == shape == flat.ravel().shape
            else member._broadcast_to(shape)._take(flat.ravel())
            for member in members
        )
        which = np.broadcast_to(np.arange(len(alike)), (*shape, len(alike)))
        return cls(alike, which, np.broadcast_to(flat[..., None], which.shape))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.which.shape

    def mean(self) -> Array:
        return self._ask(lambda member: member.mean())

    def variance(self) -> Array:
        return self._ask(lambda member: member.variance())

    def entropy(self) -> Array:
        return self._ask(lambda member: member.entropy())

    def logpdf(self, y: ArrayLike) -> Array:
        return self._ask_at(y, lambda member, at: member.logpdf(at))

    def cdf(self, y: ArrayLike) -> Array:
        return self._ask_at(y, lambda member, at: member.cdf(at))

    def ccdf(self, y: ArrayLike) -> Array:
        return self._ask_at(y, lambda member, at: member.ccdf(at))

    def logcdf(self, y: ArrayLike) -> Array:
        return self._ask_at(y, lambda member, at: member.logcdf(at))

    def logccdf(self, y: ArrayLike) -> Array:
        return self._ask_at(y, lambda member, at: member.logccdf(at))

    def crps(self, y: ArrayLike) -> Array:
        return self._ask_at(y, lambda member, at: member.crps(at))

    def sample(
        self, shape: int | tuple[int, ...] = (), *, rng: np.random.Generator
    ) -> NDArray[Any]:
        size = base.draw_shape(shape, self.shape)
        return self._broadcast_to(size)._ask(lambda member: member.sample(rng=rng))

    def _icdf(self, p: Array) -> Array:
        return self._ask_at(p, lambda member, at: member.icdf(at))

    def _iccdf(self, p: Array) -> Array:
        return self._ask_at(p, lambda member, at: member.iccdf(at))

    def _take(self, positions: NDArray[np.intp]) -> Self:
        return type(self)(
            self.members, self.which.ravel()[positions], self.place.ravel()[positions]
        )

    def _ask(self, answer: Callable[[Continuous], Array]) -> Array:
        """Let each member answer for its own predictions."""
        return self._ask_at(0.0, lambda member, _: answer(member))

    def _ask_at(self, y: ArrayLike, answer: Callable[[Continuous, Array], Array]) -> Array:
        """Let each member answer at points that broadcast against the batch."""
        points = np.asarray(y, dtype=np.float64)
        shape = np.broadcast_shapes(points.shape, self.shape)
        points = np.broadcast_to(points, shape)
        which, place = np.broadcast_to(self.which, shape), np.broadcast_to(self.place, shape)
        found = np.empty(shape)
        for k, member in enumerate(self.members):
            own = which == k
            if own.any():
                at = place[own]
                whole = np.array_equal(at, np.arange(member.size))
                found[own] = answer(member if whole else member._take(at), points[own])
        return found
