"""Observed rows, wherever they are: whoever holds them adds up what is asked of them."""

from __future__ import annotations

import abc
import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import array_api_compat

from posterity.arrays import DeviceArray
from posterity.inference.observations import Observations

PartFunction: TypeAlias = Callable[[Any, DeviceArray, DeviceArray], list[Any]]
"""From X, Y (n, K) and the spread (n,) of some rows to terms that add up over all of them."""

_CPU_VALUES = 1 << 19  # of K_uf at a time: 4 MiB
_DEVICE_VALUES = 1 << 25
_LEAST_ROWS = 64


def cut_rows(n_rows: int, n_points: int, like: DeviceArray) -> list[slice]:
    """Blocks of rows whose kernel with the points fits a cache, or fills a device."""
    values = _CPU_VALUES if array_api_compat.is_numpy_array(like) else _DEVICE_VALUES
    size = max(_LEAST_ROWS, values // n_points)
    return [slice(i, min(i + size, n_rows)) for i in range(0, n_rows, size)]


class ObservedRows(abc.ABC):
    """N rows and what was observed there, of which only sums are ever asked."""

    @property
    @abc.abstractmethod
    def n_rows(self) -> int:
        """Number of rows, N."""

    @property
    @abc.abstractmethod
    def n_outputs(self) -> int:
        """Number of outputs, K."""

    @abc.abstractmethod
    def log_apart(self, noise_variance: float) -> tuple[float, float]:
        """What repeated rows add to the log evidence, and its slope in log noise_variance."""

    @abc.abstractmethod
    def select_output(self, k: int) -> ObservedRows:
        """The same rows with one output of theirs."""

    @abc.abstractmethod
    def without_repeats(self) -> ObservedRows:
        """Rows as precise as their weights say, whose repetitions add nothing to the evidence."""

    @abc.abstractmethod
    def sum_terms(self, function: PartFunction, n_points: int) -> list[Any]:
        """The sums of the terms that ``function`` returns of blocks of rows; lists are joined.

        The blocks are of such a size that one value for each of ``n_points`` fits beside a row.
        """


@dataclass(frozen=True)
class HeldRows(ObservedRows):
    """Rows in memory, or on a device.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> rows = HeldRows(X, Observations.from_targets(np.ones((3, 1))))
    >>> rows.sum_terms(lambda X, Y, spread: [X.sum(axis=0), float(Y.sum())], 10)
    [array([6., 9.]), 3.0]
    """

    X: Any  # (N, D), or a sequence of N objects
    observations: Observations

    @property
    def n_rows(self) -> int:
        """Number of rows, N."""
        return self.observations.n_rows

    @property
    def n_outputs(self) -> int:
        """Number of outputs, K."""
        return self.observations.n_outputs

    def log_apart(self, noise_variance: float) -> tuple[float, float]:
        """What repeated rows add to the log evidence, and its slope in log noise_variance."""
        return self.observations.log_apart(noise_variance)

    def select_output(self, k: int) -> HeldRows:
        """The same rows with one output of theirs."""
        return HeldRows(self.X, self.observations.select_output(k))

    def without_repeats(self) -> HeldRows:
        """Rows as precise as their weights say, whose repetitions add nothing to the evidence."""
        return HeldRows(self.X, self.observations.without_repeats())

    def sum_terms(self, function: PartFunction, n_points: int) -> list[Any]:
        """One block after the other."""
        y = self.observations
        places = cut_rows(y.n_rows, n_points, y.Y)
        return functools.reduce(
            add_in_place, (function(self.X[i], y.Y[i], y.spread[i]) for i in places)
        )


def add_in_place(total: list[Any], terms: list[Any]) -> list[Any]:
    """With the terms of a further block, in the memory of the first where that can be."""
    return [operator.iadd(a, b) for a, b in zip(total, terms, strict=True)]
