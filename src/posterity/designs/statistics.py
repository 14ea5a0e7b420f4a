"""All that a linear model with normal noise needs to know of its rows, in a form that merges.

The statistic is a factor R of the weighted rows [1, Z - shift, Y - shift], with R.T @ R their Gram
matrix. Merging two of them stacks their factors and takes a QR decomposition, so rounding errors
grow with the condition of the rows and not with its square, and fitting two halves equals fitting
the whole. R never has more rows than it was given: few rows of many columns stay few.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from posterity import linalg
from posterity.arrays import Array

_BLOCK_VALUES = 1 << 21  # 16 MiB of float64: large enough for BLAS, small beside the data


@dataclass(frozen=True)
class Statistics:
    """A factor of the weighted rows [1, Z - shift, Y - shift], and how many rows it stands for.

    Parameters
    ----------
    factor : array of shape (r, 1 + M + K)
        ``factor.T @ factor`` is the weighted Gram matrix of the rows; r <= max(N, 1 + M + K).
    shift : array of shape (M + K,)
        What was subtracted from each column before it was squared.
    n_features : int
        M, the number of columns that are features; the rest are targets.
    count : float
        N, the sum of the sample weights.
    log_noise : float
        The weighted sum of the log of the known noise variances; 0 where none are known.
    noise_sum : float
        The weighted sum of the known noise variances; ``count`` where none are known.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.designs import Statistics
    >>> Z, Y = np.array([[1.0], [2.0], [4.0]]), np.array([[1.0], [3.0], [5.0]])
    >>> halves = Statistics.of(Z[:1], Y[:1]).merge(Statistics.of(Z[1:], Y[1:]))
    >>> np.allclose(halves.gram(), Statistics.of(Z, Y).gram())
    True
    """

    factor: Array
    shift: Array
    n_features: int
    count: float
    log_noise: float
    noise_sum: float

    @classmethod
    def of(
        cls,
        Z: Array,
        Y: Array,
        *,
        sample_weight: Array | None = None,
        noise_variance: Array | None = None,
        shift: bool = True,
    ) -> Statistics:
        """The statistics of rows in memory: Z (N, M), Y (N, K).

        ``shift=False`` leaves the origin where it is, for models without an offset.
        """
        first = np.concatenate([Z[0], Y[0]]) if shift else np.zeros(Z.shape[1] + Y.shape[1])
        weight = np.ones(len(Z)) if sample_weight is None else sample_weight
        variance = np.ones(len(Z)) if noise_variance is None else noise_variance
        known = sample_weight is not None or noise_variance is not None
        root = np.sqrt(weight / variance) if known else None
        width = 1 + len(first)
        n_block = max(4 * width, _BLOCK_VALUES // width)
        factor = np.empty((0, width))
        for i in range(0, len(Z), n_block):
            rows = slice(i, i + n_block)
            block = _shifted(Z[rows], Y[rows], first, None if root is None else root[rows])
            factor = _stack(factor, block)
        count = float(weight.sum())
        log_noise = float(weight @ np.log(variance))
        return cls(factor, first, Z.shape[1], count, log_noise, float(weight @ variance))

    def merge(self, other: Statistics) -> Statistics:
        """The statistics of both sets of rows together."""
        if self.factor.shape[1] != other.factor.shape[1] or self.n_features != other.n_features:
            raise ValueError(
                f"Cannot merge statistics of {self.n_features} features with {other.n_features}: "
                "both sets of rows must have the same columns."
            )
        return replace(
            self,
            factor=_stack(self.factor, _reshift(other, self.shift)),
            count=self.count + other.count,
            log_noise=self.log_noise + other.log_noise,
            noise_sum=self.noise_sum + other.noise_sum,
        )

    def gram(self) -> Array:
        """The weighted Gram matrix of the rows [1, Z, Y], with the shift undone."""
        A = _reshift(self, np.zeros_like(self.shift))
        return A.T @ A

    def centred(self) -> tuple[Array, Array, float]:
        """A factor of the rows about their weighted mean; that mean; the total weight.

        One Householder reflection turns the column of ones into a multiple of the first unit
        vector: what is left in the other rows is orthogonal to it, hence centred.
        """
        a, A = self.factor[:, 0], self.factor[:, 1:]
        total = float(a @ a)
        mean = self.shift + (a @ A) / total
        v = a.copy()
        v[0] += np.copysign(np.sqrt(total), a[0])
        B = A[1:] - np.outer(v[1:] * (2.0 / (v @ v)), v @ A)  # [GVL 5.1]
        return B, mean, total

    def uncentred(self) -> tuple[Array, Array, float]:
        """A factor of the rows about the origin; the origin; the total weight."""
        A = _reshift(self, np.zeros_like(self.shift))
        return A[:, 1:], np.zeros_like(self.shift), float(A[:, 0] @ A[:, 0])


def _shifted(Z: Array, Y: Array, shift: Array, root: Array | None) -> Array:
    """The rows [1, Z - shift, Y - shift], each times the root of its weight."""
    n, M = Z.shape
    A = np.empty((n, 1 + len(shift)), order="F" if Z.flags.f_contiguous else "C")
    A[:, 0] = 1.0
    np.subtract(Z, shift[:M], out=A[:, 1 : 1 + M])
    np.subtract(Y, shift[M:], out=A[:, 1 + M :])
    if root is not None:
        A *= root[:, None]
    return A


def _stack(factor: Array, rows: Array) -> Array:
    """A factor of both; the rows themselves as long as they are no more than the columns."""
    if len(factor) + len(rows) <= rows.shape[1]:
        return np.vstack([factor, rows])
    compressed = linalg.triangular_factor(rows)
    return linalg.merge_factors(factor, compressed) if len(factor) else compressed


def _reshift(statistics: Statistics, shift: Array) -> Array:
    """The factor of the same rows measured from another origin."""
    A = statistics.factor.copy()
    A[:, 1:] += np.outer(A[:, 0], statistics.shift - shift)
    return A
