"""Functions that workers evaluate on the predictions of one partition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from posterity import arrays
from posterity.distributions.base import Distribution


@dataclass(frozen=True)
class MethodCall:
    """A call of a method of the predictions, with one value for all rows or one per row."""

    method: str
    constants: tuple[Any, ...]
    shape: tuple[int, ...]  # of what is said of one row
    dtype: DTypeLike

    def __call__(self, number: int, part: Distribution | None, *values: Any) -> Any:
        if part is None:
            return np.empty((0, *self.shape), dtype=self.dtype)
        method = getattr(part, self.method, None)
        if method is None:
            family = type(part).__name__
            raise TypeError(f"These predictions are {family}, which have no {self.method}.")
        own = [_check_rows(value, len(part), number) for value in values]
        return np.asarray(method(*self.constants, *own), dtype=self.dtype)


@dataclass(frozen=True)
class SampleCall:
    """Random draws from the predictions, with a separate random stream for each partition."""

    before: tuple[int, ...]
    seeds: list[np.random.SeedSequence]
    outputs: tuple[int, ...]
    dtype: DTypeLike

    def __call__(self, number: int, part: Distribution | None) -> Any:
        if part is None:
            return np.empty((*self.before, 0, *self.outputs), dtype=self.dtype)
        rng = np.random.default_rng(self.seeds[number])
        return np.asarray(part.sample(self.before, rng=rng), dtype=self.dtype)


@dataclass(frozen=True)
class FunctionCall:
    """A function of the predictions."""

    function: Callable[[Any], Any]
    shape: tuple[int, ...]
    dtype: DTypeLike

    def __call__(self, number: int, part: Distribution | None) -> Any:
        if part is None:
            return np.empty((0, *self.shape), dtype=self.dtype)
        return np.asarray(self.function(part), dtype=self.dtype)


def _check_rows(value: Any, n: int, number: int) -> Any:
    """Check that there is one value for all rows, or one per row, before they are broadcast."""
    own = arrays.to_numpy(value)
    if own.ndim and len(own) != n:
        raise ValueError(
            f"Partition {number} has {n} predictions, but {len(own)} values were given: both must "
            "be partitioned at the same rows."
        )
    return own
