"""Matrix products through the same BLAS as the factorisations.

NumPy and SciPy each bring a BLAS with threads of its own, which keep waiting actively for a while
after a call. Where a product stands between two factorisations, one of each makes the threads of
the one wait for the cores of the other: three times slower here on two cores.
"""

from collections.abc import Iterable

import numpy as np
from scipy.linalg import blas

from posterity.arrays import Array


def gram(A: Array) -> Array:
    """A^T A, symmetric to the last bit; no copy of A in C or Fortran order.

    Examples
    --------
    >>> gram(np.array([[3.0, 0.0], [4.0, 2.0]]))
    array([[25.,  8.],
           [ 8.,  4.]])
    """
    if not A.size:
        return np.zeros((A.shape[1], A.shape[1]))
    upper = blas.dsyrk(1.0, A, trans=1) if A.flags.f_contiguous else blas.dsyrk(1.0, A.T)
    return np.triu(upper) + np.triu(upper, 1).T


def sums_and_gram(blocks: Iterable[tuple[Array, Array]], p: int) -> tuple[Array, Array]:
    """The sums of A^T r and of A^T A over blocks (r, A) of rows, in the memory of one of each.

    Parameters
    ----------
    blocks : iterable of (array (n,), array (n, p))
        A in C or Fortran order; it may be overwritten when the next block is asked for.
    p : int
        The number of columns.

    Examples
    --------
    >>> A = np.array([[3.0, 0.0], [4.0, 2.0]])
    >>> sums_and_gram([(np.ones(1), A[:1]), (np.ones(1), A[1:])], 2)
    (array([7., 2.]), array([[25.,  8.],
           [ 8.,  4.]]))
    """
    total, upper = np.zeros(p), np.zeros((p, p), order="F")
    for r, A in blocks:
        columns = A.flags.f_contiguous
        M, flag = (A, 1) if columns else (A.T, 0)
        total = blas.dgemv(1.0, M, r, beta=1.0, y=total, trans=flag, overwrite_y=1)
        upper = blas.dsyrk(1.0, M, beta=1.0, c=upper, trans=flag, overwrite_c=1)
    return total, np.triu(upper) + np.triu(upper, 1).T


def product(A: Array, B: Array) -> Array:
    """A B; no copy of A in C or Fortran order, nor of B in Fortran order.

    Examples
    --------
    >>> product(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]]))
    array([[11.]])
    """
    if not (A.size and B.size):
        return A @ B
    return blas.dgemm(1.0, A, B) if A.flags.f_contiguous else blas.dgemm(1.0, A.T, B, trans_a=1)


def update_lower_triangle(C: Array, A: Array, *, keep: float, scale: float) -> None:
    """keep C + scale A A^T in place of C, below its diagonal and on it; C in Fortran order.

    What stands above the diagonal is neither read nor written.

    Examples
    --------
    >>> C = np.eye(2, order="F")
    >>> update_lower_triangle(C, np.array([[1.0], [2.0]]), keep=-1.0, scale=2.0)
    >>> C
    array([[1., 0.],
           [4., 7.]])
    """
    if not (C.flags.f_contiguous and C.dtype == np.float64):
        raise ValueError("C must be an array of doubles in Fortran order, to be updated in place")
    M, trans = (A, 0) if A.flags.f_contiguous else (A.T, 1)
    if C.size:
        blas.dsyrk(scale, M, beta=keep, c=C, trans=trans, lower=1, overwrite_c=1)
