"""Matrix products through the same BLAS as the factorisations beside them.

NumPy and SciPy each bring a BLAS with threads of its own, which keep waiting actively for a while
after a call. Where a product stands between two factorisations, one of each makes the threads of
the one wait for the cores of the other: three times slower here on two cores.
"""

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
