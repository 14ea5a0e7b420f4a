"""What a search for the largest evidence asks of the problem it solves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from posterity import linalg
from posterity.arrays import Array

Objective = Callable[[Array], tuple[float, Array]]


class Searchable(Protocol):
    """What is searched by stages: log parameters, on ever more rows."""

    @property
    def start(self) -> Array:
        """The log parameters to start from, (P,)."""

    @property
    def limits(self) -> Array:
        """Their log bounds, (P, 2)."""

    @property
    def names(self) -> list[str]:
        """What they are called."""

    @property
    def n_rows(self) -> int:
        """The number N of rows."""

    def resolution(self, theta: Array) -> float:
        """The change of the log evidence below which rounding hides it, about theta."""

    def objective(self) -> Objective:
        """Minus the log evidence and its gradient; infinite where there is none."""

    def among(self, rows: NDArray[np.intp]) -> Self:
        """The same problem on these rows."""

    def order(self, rng: np.random.Generator) -> NDArray[np.intp]:
        """All rows, so that any first few of them stand for all."""

    def eased(self, theta: Array) -> Array | None:
        """Where to try next if the evidence at theta cannot be computed; None: nowhere."""

    def no_start(self, theta: Array) -> str:
        """Why the search cannot start, in a sentence."""


def negated(evidence: Objective) -> Objective:
    """Minus a log evidence and its gradient: infinite where a covariance has no factor."""
    last: list[tuple[Array, tuple[float, Array]]] = []  # asked for again as a search begins

    def value_and_gradient(theta: Array) -> tuple[float, Array]:
        if last and np.array_equal(last[0][0], theta):
            return last[0][1]
        try:
            value, gradient = evidence(theta)
            result = -value, -gradient
        except linalg.NotPositiveDefiniteError:
            result = np.inf, np.zeros_like(theta)
        last[:] = [(theta.copy(), result)]
        return result

    return value_and_gradient
