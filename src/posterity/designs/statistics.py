"""Sufficient statistics of linear models with normal noise, which can be merged.

The statistic is a factor R of the weighted rows [1, Z - shift, Y - shift], with R.T @ R their Gram
matrix. Merging two of them stacks their factors and takes a QR decomposition, so rounding errors
grow with the condition of the rows and not with its square, and fitting two halves equals fitting
the whole. R never has more rows than it was given: few rows of many columns stay few.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from posterity import linalg
from posterity.arrays import Array

_BLOCK_VALUES = 1 << 19  # 4 MiB of float64: enough work for BLAS, small enough for the cache


@dataclass(frozen=True)
class Statistics:
    """A factor of the weighted rows [1, Z - shift, Y - shift], and their count.

    Parameters
    ----------
    factor : array of shape (r, 1 + M + K)
        ``factor.T @ factor`` is the weighted Gram matrix of the rows; r <= min(N, 1 + M + K).
    shift : array of shape (M + K,)
        Shift subtracted from each column.
    n_features : int
        M, the number of columns that are features; the rest are targets.
    count : float
        N, the sum of the sample weights.
    log_noise : float
        Weighted sum of the log of known noise variances; 0 if unknown.
    noise_sum : float
        Weighted sum of known noise variances; ``count`` if unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.designs import Statistics
    >>> Z, Y = np.array([[1.0], [2.0], [4.0]]), np.array([[1.0], [3.0], [5.0]])
    >>> halves = Statistics.from_rows(Z[:1], Y[:1]).merge(Statistics.from_rows(Z[1:], Y[1:]))
    >>> np.allclose(halves.gram(), Statistics.from_rows(Z, Y).gram())
    True
    """

    factor: Array
    shift: Array
    n_features: int
    count: float
    log_noise: float
    noise_sum: float

    @classmethod
    def from_rows(
        cls,
        Z: Array,
        Y: Array,
        *,
        sample_weight: Array | None = None,
        noise_variance: Array | None = None,
        shift: bool = True,
    ) -> Statistics:
        """Compute the statistics of rows in memory: Z (N, M), Y (N, K).

        ``shift=False`` does not shift columns, for models without an intercept.
        """
        origin = np.concatenate([Z[0], Y[0]]) if shift else np.zeros(Z.shape[1] + Y.shape[1])
        weight = np.ones(len(Z)) if sample_weight is None else sample_weight
        variance = np.ones(len(Z)) if noise_variance is None else noise_variance
        all_alike = sample_weight is None and noise_variance is None
        rows = _WeightedRows(Z, Y, origin, None if all_alike else np.sqrt(weight / variance))
        return cls(
            factor=rows.factor(),
            shift=origin,
            n_features=Z.shape[1],
            count=float(weight.sum()),
            log_noise=float(weight @ np.log(variance)),
            noise_sum=float(weight @ variance),
        )

    def merge(self, other: Statistics) -> Statistics:
        """Return the statistics of both sets of rows together."""
        if self.factor.shape[1] != other.factor.shape[1] or self.n_features != other.n_features:
            raise ValueError(
                f"Cannot merge statistics of {self.n_features} features with {other.n_features}: "
                "both sets of rows must have the same columns."
            )
        return replace(
            self,
            factor=_stack_factor(self.factor, _move_origin(other, self.shift)),
            count=self.count + other.count,
            log_noise=self.log_noise + other.log_noise,
            noise_sum=self.noise_sum + other.noise_sum,
        )

    def select_features(self, places: NDArray[np.intp]) -> Statistics:
        """Return the statistics of selected features and all targets."""
        n_targets = len(self.shift) - self.n_features
        columns = np.concatenate([places, self.n_features + np.arange(n_targets)])
        factor = np.hstack([self.factor[:, :1], self.factor[:, 1 + columns]])
        return replace(self, factor=factor, shift=self.shift[columns], n_features=len(places))

    def gram(self) -> Array:
        """Return the weighted Gram matrix of the rows [1, Z, Y], without the shift."""
        A = _move_origin(self, np.zeros_like(self.shift))
        return A.T @ A

    def compute_centred_factor(self) -> tuple[Array, Array, float]:
        """Return a factor of the centred rows, their mean, and the total weight.

        One Householder reflection turns the column of ones into a multiple of the first unit
        vector: what is left in the other rows is orthogonal to it, hence centred.
        """
        a, A = self.factor[:, 0], self.factor[:, 1:]
        total = float(a @ a)
        mean = self.shift + (a @ A) / total
        v = a.copy()
        v[0] += np.copysign(np.sqrt(total), a[0])
        B = np.outer(v[1:] * (-2.0 / (v @ v)), v @ A)  # [GVL 5.1]
        B += A[1:]
        return B, mean, total

    def compute_uncentred_factor(self) -> tuple[Array, Array, float]:
        """Return a factor of the rows about the origin, the origin, and the total weight."""
        A = _move_origin(self, np.zeros_like(self.shift))
        return A[:, 1:], np.zeros_like(self.shift), float(A[:, 0] @ A[:, 0])


@dataclass(frozen=True)
class _WeightedRows:
    """The rows [1, Z - shift, Y - shift], times the roots of their weights."""

    Z: Array  # (N, M)
    Y: Array  # (N, K)
    shift: Array  # (M + K,)
    root: Array | None  # (N,)

    def factor(self) -> Array:
        """Return the triangular factor, or the rows if there are no more rows than columns."""
        width = 1 + len(self.shift)
        if len(self.Z) <= width:
            return next(self.blocks(width))
        n_block = max(width, _BLOCK_VALUES // width)
        return linalg.factor_of_blocks(lambda: self.blocks(n_block))

    def blocks(self, n_block: int) -> Iterator[Array]:
        """Yield blocks of rows in one reused buffer."""
        N, M = self.Z.shape
        order: Literal["C", "F"] = "F" if self.Z.flags.f_contiguous else "C"
        buffer = np.empty((min(N, n_block), 1 + len(self.shift)), order=order)
        for i in range(0, N, n_block):
            A = buffer[: min(n_block, N - i)]
            rows = slice(i, i + n_block)
            A[:, 0] = 1.0
            np.subtract(self.Z[rows], self.shift[:M], out=A[:, 1 : 1 + M])
            np.subtract(self.Y[rows], self.shift[M:], out=A[:, 1 + M :])
            if self.root is not None:
                A *= self.root[rows, None]
            yield A


def _stack_factor(factor: Array, rows: Array) -> Array:
    """Return a factor of both, or all rows if there are no more rows than columns."""
    if len(factor) + len(rows) <= rows.shape[1]:
        return np.vstack([factor, rows])
    return linalg.merge_factors(factor, rows)


def _move_origin(statistics: Statistics, shift: Array) -> Array:
    """Return the factor of the same rows relative to another origin."""
    A = statistics.factor.copy()
    A[:, 1:] += np.outer(A[:, 0], statistics.shift - shift)
    return A
