"""What a search for kernels asks of whatever chooses the vectors of one kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from posterity import kernels
from posterity.inference.sparse_bayes.chosen import Chosen
from posterity.inference.sparse_bayes.kernel_climb import Climb

F = TypeVar("F")


@dataclass(frozen=True)
class Fitted(Generic[F]):
    """A sparse model of one kernel."""

    chosen: Chosen
    fit: F  # what else the engine says of it
    n_precisions: int


class Chooser(Protocol[F]):
    """What was observed, and how vectors are chosen for one kernel."""

    @property
    def total_weight(self) -> float:
        """How many rows there are when each is repeated by its weight."""

    def maximise(self, kernel: kernels.Kernel, start: Chosen | None, *, coarse: bool) -> Fitted[F]:
        """The vectors of the largest evidence; coarsely where only to be compared."""

    def price(self, fitted: Fitted[Any]) -> float:
        """Nats that its vectors have to earn beside the cost of their precisions."""

    def counted(self, factor: float) -> Self:
        """The same with all rows counted so many times as much."""

    def confined(self, places: NDArray[np.intp]) -> Self:
        """The same with these as the only candidates, by their order."""


class Engine(Chooser[F], Protocol[F]):
    """One for any kernel, and for parts of the rows."""

    @property
    def rows(self) -> Any:
        """Rows, which are the candidates too where there are no others."""

    def among(self, places: NDArray[np.intp]) -> Self:
        """The same on these rows."""

    def climb(
        self, kernel: kernels.Kernel, moving: NDArray[np.bool_], fitted: Fitted[Any]
    ) -> Climb | None:
        """The evidence in precisions and parameters, vectors fixed; None: no gradient is known."""


def nothing(engine: Chooser[F], kernel: kernels.Kernel) -> Fitted[F]:
    """The model that has no vectors, because there are none to choose from."""
    none = engine.confined(np.empty(0, dtype=np.intp)).maximise(kernel, None, coarse=True)
    reason = "no vectors raise the evidence by as much as they cost"
    return replace(none, chosen=replace(none.chosen, stop_reason=reason))
