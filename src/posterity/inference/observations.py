"""Targets under normal noise, and the rows of a process, as function-space inference sees them."""

from __future__ import annotations

import abc
import functools
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from posterity import arrays
from posterity.arrays import Array, DeviceArray, namespace


@dataclass(frozen=True)
class Observations:
    """Y = F + noise, of variance ``noise_variance * spread[n]`` in row n of every output.

    A row that counts w times is one row with a w-th of the noise; what the w - 1 others would have
    added to the log evidence does not depend on the function, and is kept apart.

    Examples
    --------
    >>> y = Observations.from_targets(np.array([[1.0], [2.0]]), weights=np.array([1.0, 2.0]))
    >>> y.spread
    array([1. , 0.5])
    """

    Y: DeviceArray  # (N, K), the prior mean subtracted
    spread: DeviceArray  # (N,)
    repeats: float = 0.0  # sum of w - 1
    log_constant: float = 0.0  # of the repeats, one output, at noise_variance = 1
    weights: Array | None = None  # (N,), None: one each

    @classmethod
    def from_targets(
        cls, Y: DeviceArray, *, weights: Array | None = None, known_noise: Array | None = None
    ) -> Observations:
        """Make observations with weights that count repetitions, and noise known row by row."""
        n = Y.shape[0]
        w = np.ones(n) if weights is None else weights
        s = np.ones(n) if known_noise is None else known_noise
        apart = -0.5 * np.sum((w - 1.0) * np.log(2.0 * math.pi * s) + np.log(w))
        counts = None if np.all(w == 1.0) else w
        return cls(Y, arrays.like(Y, s / w), float(np.sum(w - 1.0)), float(apart), counts)

    @property
    def n_rows(self) -> int:
        """Number of rows, N."""
        return int(self.Y.shape[0])

    @property
    def n_outputs(self) -> int:
        """Number of outputs, K."""
        return int(self.Y.shape[1])

    def log_apart(self, noise_variance: float) -> tuple[float, float]:
        """Part of the log evidence due to repeated rows, and its slope in log noise_variance."""
        slope = -0.5 * self.repeats * self.n_outputs
        constant = self.log_constant * self.n_outputs
        return (constant + slope * math.log(noise_variance) if self.repeats else constant), slope

    def select_output(self, k: int) -> Observations:
        """Those of one output."""
        return replace(self, Y=self.Y[:, k : k + 1])

    def without_repeats(self) -> Observations:
        """Rows as precise as their weights say, whose repetitions add nothing to the evidence."""
        return replace(self, repeats=0.0, log_constant=0.0)

    def count_once(self) -> Observations:
        """Rows that count once on average, whose repetitions add nothing to the evidence.

        Weights then say which rows are more precise than others, and not that there are more: of
        five copies each, the noise would otherwise be taken to be five times as large.

        Examples
        --------
        >>> y = Observations.from_targets(np.array([[1.0], [2.0]]), weights=np.array([1.0, 3.0]))
        >>> y.count_once().spread.round(2)
        array([2.  , 0.67])
        """
        factor = 1.0 if self.weights is None else float(np.mean(self.weights))
        return replace(self, spread=factor * self.spread, repeats=0.0, log_constant=0.0)

    def select_rows(self, chosen: NDArray[np.intp]) -> Observations:
        """The rows of these numbers alone; repeats of rows are then not counted."""
        xp, i = namespace(self.Y), arrays.like_index(self.Y, chosen)
        return Observations(xp.take(self.Y, i, axis=0), xp.take(self.spread, i, axis=0))


PartFunction: TypeAlias = Callable[[Any, DeviceArray, DeviceArray], list[Any]]
"""Function from X, Y (n, K) and the spread (n,) of rows to terms that add up over all."""

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

    observations: Observations  # without rows where these are elsewhere

    @property
    @abc.abstractmethod
    def n_rows(self) -> int:
        """Number of rows, N."""

    @property
    def n_outputs(self) -> int:
        """Number of outputs, K."""
        return self.observations.n_outputs

    def log_apart(self, noise_variance: float) -> tuple[float, float]:
        """Part of the log evidence due to repeated rows, and its slope in log noise_variance."""
        return self.observations.log_apart(noise_variance)

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
    """Add the terms of a further block, in the memory of the first where that can be."""
    return [operator.iadd(a, b) for a, b in zip(total, terms, strict=True)]
