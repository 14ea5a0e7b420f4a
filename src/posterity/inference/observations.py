"""Targets under normal noise, as function-space inference sees them: what it may know of y."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

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
        """With row weights that count repetitions, and noise variances known row by row."""
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
        """What repeated rows add to the log evidence, and its slope in log noise_variance."""
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
