"""Outputs as the bound sees them: columns that have a value in the same rows, together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import linalg
from posterity.arrays import Array
from posterity.latent.gplvm import observed


@dataclass(frozen=True)
class OutputGroup:
    """Columns that have a value in the same rows, as far as they matter to the bound: by Y Y^T."""

    columns: NDArray[np.intp]
    Y: Array  # (N, K), Y Y^T that of the columns, zero in rows that they miss; K <= N
    n_values: int
    squares: float  # sum of all squared outputs

    @property
    def n_outputs(self) -> int:
        """The number of columns."""
        return len(self.columns)


@dataclass(frozen=True)
class ObservedOutputs:
    """All outputs, grouped by the rows in which columns have values.

    Examples
    --------
    >>> Y = np.array([[1.0, 2.0, 3.0], [4.0, np.nan, 5.0]])
    >>> seen = ObservedOutputs.from_outputs(Y)
    >>> seen.weights, [group.columns.tolist() for group in seen.groups]
    (array([[1., 0.], [1., 1.]]), [[1], [0, 2]])
    """

    weights: Array  # (G, N), 1 for rows that a group has, 0 for those it misses
    groups: tuple[OutputGroup, ...]

    @property
    def n_values(self) -> int:
        """The number of outputs, all rows and columns together."""
        return sum(group.n_values for group in self.groups)

    @classmethod
    def from_outputs(cls, Y: Array) -> ObservedOutputs:
        """From outputs (N, D), NaN where one is missing."""
        together = observed.group_columns(Y)
        weights = np.zeros((len(together), len(Y)))
        for w, group in zip(weights, together, strict=True):
            w[group.rows] = 1.0
        return cls(weights, tuple(_among_all(group, len(Y)) for group in together))


def _among_all(group: observed.ObservedGroup, n_rows: int) -> OutputGroup:
    Y = np.zeros((n_rows, group.Y.shape[1]))
    Y[group.rows] = group.Y
    factor = linalg.triangular_factor(Y.T).T  # square where there are more columns than rows
    return OutputGroup(group.columns, factor, group.Y.size, float(np.sum(Y * Y)))
