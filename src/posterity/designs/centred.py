"""Rows relative to an origin, in blocks, without a copy of the data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from posterity.arrays import Array
from posterity.linalg import products

_BLOCK_VALUES = 1 << 17  # a megabyte of float64 stays in cache
_FEW, _MANY = 64, 512  # minimum rows of a block: for products, and for updates of squares


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
    >>> from posterity.designs.centred import Centred
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
    >>> from posterity.designs import centred
    >>> centred.compute_column_means(np.full((3, 1), 0.1)) == 0.1
    array([ True])
    """
    total = len(X) if weights is None else weights.sum()
    sums = np.zeros(X.shape[1])
    for rows, A in Centred(X, X[0], None).row_blocks():
        sums += A.sum(axis=0) if weights is None else weights[rows] @ A
    return X[0] + sums / total
