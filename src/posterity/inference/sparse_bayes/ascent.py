"""Steps over blocks of candidates, none of which lowers the objective of a sparse model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from posterity.arrays import Array

_HALVINGS = (0.5, 0.25)
_LEAST = 0.1  # of the tolerance: what a step must gain to be taken


class Valued(Protocol):
    """A model with an objective."""

    @property
    def value(self) -> float:
        """Log evidence and prior of the precisions."""


Model = TypeVar("Model", bound=Valued)
Block = TypeVar("Block", covariant=True)
Propose = Callable[[Model, Any, bool], Iterator[Model]]
"""From a model, a block and whether to look at all of its columns, to models, boldest first."""


class Blocks(Protocol[Block]):
    """Columns to choose from, some at a time."""

    def blocks(self) -> Iterator[Block]:
        """Every column once."""


@dataclass(frozen=True)
class Ascent(Generic[Model]):
    """Where steps led."""

    model: Model
    n_iter: int
    converged: bool

    @property
    def stop_reason(self) -> str:
        """In words."""
        if self.converged:
            return "no column promises to raise the evidence"
        return f"the limit of {self.n_iter} on passes over the columns was not enough"


def ascend(
    model: Model,
    candidates: Blocks[Any],
    propose: Propose[Model],
    *,
    tol: float,
    max_iter: int,
) -> Ascent[Model]:
    """Pass over all blocks, by a quick look at each, until none gains; then by a thorough one.

    A thorough look that finds something is followed by quick ones again. Where no thorough look
    gains more than ``tol``, this is the end.
    """
    thorough = False
    for n_iter in range(1, max_iter + 1):
        before = model.value
        for block in candidates.blocks():
            model = _first_better(model, propose(model, block, thorough), _LEAST * tol)
        gained = model.value > before + tol
        if thorough and not gained:
            return Ascent(model, n_iter, converged=True)
        thorough = not gained
    return Ascent(model, max_iter, converged=False)


def partial(h: Array, new: Array) -> Iterator[Array]:
    """Precisions on the way from h to new, ever nearer to h; variances move evenly."""
    for part in _HALVINGS:
        variance = (1.0 - part) / h + part / new
        with np.errstate(divide="ignore"):
            yield 1.0 / variance


def _first_better(model: Model, proposals: Iterator[Model], least: float) -> Model:
    for proposal in proposals:
        if proposal.value > model.value + least:
            return proposal
    return model
