"""Mean, variance and range of columns, a row counted by its weight, in a form that merges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posterity.arrays import Array


@dataclass(frozen=True)
class ColumnMoments:
    """What is known of columns without their rows.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.array([[1.0], [2.0], [6.0]])
    >>> parts = [ColumnMoments.from_rows(y, np.ones(len(y))) for y in (Y[:1], Y[1:])]
    >>> both = parts[0].merge(parts[1])
    >>> both.mean, both.variance.round(3), both.high
    (array([3.]), array([4.667]), array([6.]))
    """

    weight: float
    mean: Array  # (K,)
    variance: Array  # (K,)
    low: Array  # (K,)
    high: Array  # (K,)

    @classmethod
    def from_rows(cls, Y: Array, weights: Array) -> ColumnMoments:
        """Compute the moments of rows in memory, each of positive weight."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # the range will tell
            mean = np.average(Y, axis=0, weights=weights)
            variance = np.average((Y - mean) ** 2, axis=0, weights=weights)
        return cls(float(np.sum(weights)), mean, variance, Y.min(axis=0), Y.max(axis=0))

    def select_column(self, k: int) -> ColumnMoments:
        """Return the moments of one column."""
        one = slice(k, k + 1)
        parts = (a[one] for a in (self.mean, self.variance, self.low, self.high))
        return ColumnMoments(self.weight, *parts)

    def merge(self, other: ColumnMoments) -> ColumnMoments:
        """Return the moments of both sets of rows together."""
        weight = self.weight + other.weight
        a, b = self.weight / weight, other.weight / weight
        between = other.mean - self.mean
        return ColumnMoments(
            weight,
            self.mean + b * between,
            a * self.variance + b * other.variance + a * b * between**2,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )
