"""Rows relative to an origin, and their mean and scatter in a form that can be merged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from posterity.arrays import Array
from posterity.linalg import products

_BLOCK_VALUES = 1 << 17  # a megabyte of float64 stays in cache
_FEW, _MANY = 64, 512  # minimum rows of a block: for products, and for updates of squares
_SAMPLE_ROWS = 1024
_FAR = 0.25  # of the squares about the origin may be the origin's own error: less than half a bit


@dataclass(frozen=True)
class Centred:
    """The matrix of rows ``root * (x - origin)``, subtracted before any product.

    Correcting products of raw rows afterwards would lose digits if the origin is far from zero.

    Parameters
    ----------
    X : array of shape (N, D)
        The rows.
    origin : array of shape (D,)
        Origin subtracted from each row.
    root : array of shape (N,), optional
        Factor of each row: the square root of its weight.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.designs.moments import Centred
    >>> rows = Centred(np.array([[1e9, 2.0], [1e9 + 2.0, 4.0]]), np.array([1e9, 3.0]), None)
    >>> rows.times(np.eye(2))
    array([[ 0., -1.],
           [ 2.,  1.]])
    """

    X: Array
    origin: Array
    root: Array | None

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (N, D)."""
        return self.X.shape[0], self.X.shape[1]

    def row_blocks(self, least: int = _FEW) -> Iterator[tuple[slice, Array]]:
        """Yield blocks of at least ``least`` rows, in one reused buffer."""
        N, D = self.shape
        n_block = max(least, _BLOCK_VALUES // D)
        buffer = np.empty((min(N, n_block), D))
        for i in range(0, N, n_block):
            rows = slice(i, min(i + n_block, N))
            A = np.subtract(self.X[rows], self.origin, out=buffer[: rows.stop - i])
            if self.root is not None:
                A *= self.root[rows, None]
            yield rows, A

    def column_blocks(self, least: int = _FEW) -> Iterator[tuple[slice, Array]]:
        """Yield blocks of at least ``least`` columns."""
        N, D = self.shape
        n_block = max(least, _BLOCK_VALUES // max(N, 1))
        for j in range(0, D, n_block):
            columns = slice(j, min(j + n_block, D))
            A = self.X[:, columns] - self.origin[columns]
            if self.root is not None:
                A *= self.root[:, None]
            yield columns, A

    def weighted_blocks(self) -> Iterator[tuple[Array, Array]]:
        """Yield roots of the weights and blocks of rows."""
        root = np.ones(len(self.X)) if self.root is None else self.root
        for rows, A in self.row_blocks(_MANY):
            yield root[rows], A

    def times(self, B: Array) -> Array:
        """Return the matrix times B (D, k)."""
        result = np.empty((len(self.X), B.shape[1]))
        B_columns = np.asfortranarray(B)
        for rows, A in self.row_blocks():
            result[rows] = products.product(A, B_columns)
        return result

    def transposed_times(self, C: Array) -> Array:
        """Return the transpose of the matrix times C (N, k)."""
        result = np.empty((self.X.shape[1], C.shape[1]))
        C_columns = np.asfortranarray(C)
        for columns, A in self.column_blocks():
            result[columns] = products.product(A.T, C_columns)
        return result

    def row_gram(self) -> Array:
        """Return the N x N matrix of inner products of rows."""
        N = len(self.X)
        blocks = ((np.zeros(A.shape[1]), A.T) for _, A in self.column_blocks(_MANY))
        return products.sums_and_gram(blocks, N)[1]


def compute_column_means(X: Array, weights: Array | None = None) -> Array:
    """Return the weighted mean of each column; exact for constant columns.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.designs import moments
    >>> moments.compute_column_means(np.full((3, 1), 0.1)) == 0.1
    array([ True])
    """
    total = len(X) if weights is None else weights.sum()
    sums = np.zeros(X.shape[1])
    for rows, A in Centred(X, X[0], None).row_blocks():
        sums += A.sum(axis=0) if weights is None else weights[rows] @ A
    return X[0] + sums / total


@dataclass(frozen=True)
class RowMoments:
    """Total weight, mean and scatter matrix of rows.

    The scatter squares the condition number of the rows, unlike :class:`Statistics`; it is much
    cheaper and accurate for eigenvalues that are not tiny relative to the largest.

    Parameters
    ----------
    count : float
        N, the sum of the weights.
    origin, offset : array of shape (D,)
        A point near the mean, and the mean relative to it: together they have more digits than one
        number, which differences of means need.
    scatter : array of shape (D, D)
        The weighted sum of (x - mean) (x - mean)^T.
    n_rows : int
        Number of rows, regardless of weights: the rank of the scatter is at most one less.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.designs.moments import RowMoments
    >>> X = np.array([[1.0, 0.0], [2.0, 1.0], [6.0, 5.0]])
    >>> halves = RowMoments.from_rows(X[:1]).merge(RowMoments.from_rows(X[1:]))
    >>> halves.count, halves.mean
    (3.0, array([3., 2.]))
    >>> np.allclose(halves.scatter, 2.0 * np.cov(X.T))
    True
    """

    count: float
    origin: Array
    offset: Array
    scatter: Array
    n_rows: int

    @property
    def mean(self) -> Array:
        """The weighted mean, (D,)."""
        return self.origin + self.offset

    @classmethod
    def from_rows(cls, X: Array, sample_weight: Array | None = None) -> RowMoments:
        """Compute the moments of rows in memory in one pass.

        The origin is the mean of a sample of the rows. If it is far from the mean, a second pass
        avoids cancellation.
        """
        root = None if sample_weight is None else np.sqrt(sample_weight)
        total = float(len(X)) if sample_weight is None else float(sample_weight.sum())
        origin = _compute_sample_mean(X)
        with np.errstate(over="ignore", invalid="ignore"):  # whoever decomposes it will say so
            offset, squares = _compute_about(X, origin, root, total)
            if np.any(total * offset**2 > _FAR * np.diagonal(squares)):
                origin = origin + offset
                offset, squares = _compute_about(X, origin, root, total)
            squares -= np.multiply.outer(total * offset, offset)
        return cls(total, origin, offset, squares, len(X))

    def merge(self, other: RowMoments) -> RowMoments:
        """Return the moments of both sets of rows together."""
        if len(self.origin) != len(other.origin):
            raise ValueError(
                f"Cannot merge moments of {len(self.origin)} columns with {len(other.origin)}: "
                "both sets of rows must have the same columns."
            )
        count = self.count + other.count
        share = other.count / count
        difference = (other.origin - self.origin) + (other.offset - self.offset)
        scatter = self.scatter + other.scatter
        scatter += np.multiply.outer(self.count * share * difference, difference)
        offset = self.offset + share * difference
        return RowMoments(count, self.origin, offset, scatter, self.n_rows + other.n_rows)


def _compute_about(
    X: Array, origin: Array, root: Array | None, total: float
) -> tuple[Array, Array]:
    """Return the mean relative to the origin, and the scatter."""
    blocks = Centred(X, origin, root).weighted_blocks()
    sums, squares = products.sums_and_gram(blocks, X.shape[1])
    return sums / total, squares


def _compute_sample_mean(X: Array) -> Array:
    """Return the mean of evenly spaced rows; exact for constant columns."""
    step = -(-len(X) // _SAMPLE_ROWS)
    return X[0] + np.mean(X[::step] - X[0], axis=0)
