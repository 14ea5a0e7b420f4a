"""Rows whose latent points a process over time ties together: their precision, all at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from posterity import linalg
from posterity.arrays import Array

AT_ONCE = 3000  # coordinates of a group whose precision is factorised whole
ALL = slice(None)


def factor_tied_precision(A: Array, P: Array, columns: slice = ALL) -> Array:
    """L L^T = blockdiag(A) + P (x) I, of rows with precisions A (n, Q, Q) of their own.

    P (n, n) ties the coordinates that are among ``columns``, each by itself.

    Examples
    --------
    >>> A = np.array([[[1.0]], [[2.0]]])
    >>> L = factor_tied_precision(A, np.array([[3.0, -1.0], [-1.0, 3.0]]))
    >>> (L @ L.T).round(6)
    array([[ 4., -1.],
           [-1.,  5.]])
    """
    n, Q, _ = A.shape
    H, rows = np.zeros((n, Q, n, Q)), np.arange(n)
    H[rows, :, rows, :] = A
    for q in range(Q)[columns]:
        H[:, q, :, q] += P
    return linalg.cholesky(H.reshape(n * Q, n * Q), overwrite=True)


def marginal_covariances(L: Array, n: int) -> Array:
    """The blocks (n, Q, Q) on the diagonal of (L L^T)^-1: covariances of each row by itself."""
    Q, rows = len(L) // n, np.arange(n)
    return linalg.inverse_from_cholesky(L).reshape(n, Q, n, Q)[rows, :, rows, :]


def split_into_stretches(
    rows: NDArray[np.intp], P: Array, longest: int
) -> Iterator[tuple[NDArray[np.intp], Array]]:
    """Split the rows of a group into stretches of limited length, with their prior precisions.

    Correlations between stretches are neglected.
    """
    if len(rows) <= longest:
        yield rows, P
        return
    C = _inverse(P)
    for i in range(0, len(rows), longest):
        at = slice(i, i + longest)
        yield rows[at], _inverse(C[at, at])


def _inverse(A: Array) -> Array:
    return linalg.inverse_from_cholesky(linalg.cholesky(A))
