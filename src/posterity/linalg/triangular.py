"""The triangular factor of a tall matrix: all that its Gram matrix knows, at half the condition.

R stands for A wherever only inner products of columns matter, and factors of row blocks merge: this
is what a design matrix is reduced to, in memory, in chunks or over machines.
"""

import functools
import operator
from collections.abc import Callable, Iterable

import numpy as np
from scipy.linalg import lapack

from posterity.arrays import Array
from posterity.linalg import products, scaling
from posterity.linalg.householder import HouseholderQR

_GRAM_CONDITION_LIMIT = 1e3  # squaring it costs at most eps * 1e6, about 2e-10
_BLOCK_ROWS = 8192


def triangular_factor(A: Array) -> Array:
    """R with R^T R = A^T A, upper triangular with nonnegative diagonal.

    The Cholesky factor of the Gram matrix where that is as good (columns, brought to one scale,
    with condition below 1e3, so that squaring it costs at most about 1e-10), otherwise by
    Householder reflections, block of rows by block of rows: extra memory does not grow with n.

    Parameters
    ----------
    A : array (n, p)
        Never modified. Columns may be of any scale from 1e-300 to 1e300, or zero.

    Returns
    -------
    R : array (min(n, p), p)
        Upper triangular when n > p. When n <= p it is A itself, not a copy, and not triangular:
        A has no more rows than a factor would, and already satisfies R^T R = A^T A.

    Examples
    --------
    >>> triangular_factor(np.array([[3.0, 3.0], [4.0, 4.0], [0.0, 2.0]]))
    array([[5., 5.],
           [0., 2.]])
    """
    A_double = np.asarray(A, dtype=np.float64)
    n, p = A_double.shape
    if n <= p or p == 0:
        return A_double[:p]
    return factor_of_blocks(lambda: [A_double])


def factor_of_blocks(blocks: Callable[[], Iterable[Array]]) -> Array:
    """The triangular factor of more than p rows that come in blocks, as :func:`triangular_factor`.

    Parameters
    ----------
    blocks : callable
        Returns the blocks of rows (n_b, p) from the first on. Called once, or a second time where
        the Gram matrix is not good enough. A block may be overwritten when the next is asked for.

    Examples
    --------
    >>> factor_of_blocks(lambda: [np.array([[3.0]]), np.array([[4.0]])])
    array([[5.]])
    """
    G = functools.reduce(operator.iadd, map(_gram, blocks()))
    R = _gram_factor(G)
    if R is not None:
        return R
    return functools.reduce(_append_rows, blocks(), np.empty((0, len(G))))


def merge_factors(R1: Array, R2: Array) -> Array:
    """The triangular factor of [A1; A2], given those of A1 and A2, always by Householder.

    Examples
    --------
    >>> merge_factors(np.array([[3.0]]), np.array([[4.0]]))
    array([[5.]])
    """
    p = R1.shape[1]
    if len(R1) + len(R2) <= p or p == 0:
        return np.concatenate([R1, R2])[:p]
    return _append_rows(R1, R2)


def _gram(A: Array) -> Array:
    """A^T A, with NaN on its diagonal where the squares of a column vanish by underflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        G = products.gram(A)
    vanished = np.diagonal(G) == 0.0
    if A[:, vanished].any():
        G[vanished, vanished] = np.nan
    return G


def _gram_factor(G: Array) -> Array | None:
    """The Cholesky factor of a Gram matrix, or None where squaring has cost accuracy."""
    empty = np.diagonal(G) == 0.0  # a column of zeros has a zero row and column in R
    squares = np.where(empty, 1.0, np.diagonal(G))
    low, high = scaling.SQUARE_RANGE
    if not np.all((squares > low) & (squares < high)):
        return None
    scale = scaling.power_of_two_scales(np.sqrt(squares))
    G_scaled = scale[:, None] * G * scale
    G_scaled[empty, empty] = 1.0
    R, not_positive = lapack.dpotrf(G_scaled, lower=0)
    if not_positive:
        return None
    rcond, _ = lapack.dpocon(R, np.linalg.norm(G_scaled, 1))
    R[empty, empty] = 0.0
    return R / scale if rcond > _GRAM_CONDITION_LIMIT**-2 else None


def _append_rows(R: Array, A: Array) -> Array:
    """The factor of [R; A] by reflections, block of rows by block of rows.  [GVL 5.2.2]"""
    n, p = A.shape
    largest = np.maximum(scaling.column_magnitudes(R), scaling.column_magnitudes(A))
    scale = scaling.power_of_two_scales(largest)
    rows = max(_BLOCK_ROWS, 4 * p)
    factor = R * scale
    for start in range(0, n, rows):
        block = A[start : start + rows]
        stacked = np.empty((len(factor) + len(block), p), order="F")
        stacked[: len(factor)] = factor
        np.multiply(block, scale, out=stacked[len(factor) :])
        factor = HouseholderQR.factorize(stacked, overwrite=True).R
    signs = np.where(np.diagonal(factor) < 0, -1.0, 1.0)
    return signs[:, None] * factor / scale
