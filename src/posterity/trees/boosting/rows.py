"""What boosting asks of rows whose classes are known, of two classes or of many."""

from __future__ import annotations

import abc
import copy
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array

Sides: TypeAlias = NDArray[np.bool_]
"""Whether each row is on the left of a step, (N,)."""

TURNS = 100  # of Newton's method
SETTLED = 1e-9  # the last change of a side's value
LARGEST_STEP = 4.0  # of a side's value: rows far on the wrong side have hardly any curvature


class BoostedRows(abc.ABC):
    """Rows at their latent values; ``move`` changes these, and nothing else does.

    A side's value has a normal prior of mean zero. It keeps the value finite where all rows of the
    side are of one class, and is worth a fraction of a row.
    """

    latents: Array
    """(N, L)"""

    weights: Array
    """How often each row counts, (N,)."""

    prior_precision: float
    """Of the value of a side, for each latent value."""

    @property
    def screening_precision(self) -> float:
        """The same, where latent values are looked at one by one."""
        return self.prior_precision

    def gain(self, left: Sides, values: Array) -> float:
        """What such a step would add to log-likelihood and log prior."""
        moved = copy.deepcopy(self)
        moved.move(left, values)
        log_prior = -0.5 * self.prior_precision * float(np.sum(values**2))
        return moved.log_likelihood() - self.log_likelihood() + log_prior

    @abc.abstractmethod
    def log_likelihood(self) -> float:
        """Return the log-likelihood of all rows, weighted."""

    @abc.abstractmethod
    def derivatives(self) -> Iterator[tuple[Array, Array]]:
        """Slope and curvature (N,) of each row's log-probability, by latent value."""

    @abc.abstractmethod
    def optimum(self, left: Sides) -> Array:
        """The most probable value of the rows on the left and on the right, (2, L)."""

    @abc.abstractmethod
    def move(self, left: Sides, values: Array) -> None:
        """Add to each row the value of its side."""
