"""Solves, quadratic forms, determinants and inverses from a triangular factor.

Every function takes L, a lower Cholesky factor of which only the lower triangle is read, on NumPy,
PyTorch and CuPy arrays alike.

A library that keeps matrices by columns copies a factor kept by rows before it solves, and a copy
of a factor that fills half the device does not fit. Large factors on a device are solved by blocks:
only the diagonal ones are handed to it; the rest is matrix products, which take either order.
[GVL 3.1.4]
"""

import array_api_compat
import numpy as np
from scipy.linalg import lapack

from posterity.arrays import Array, DeviceArray, namespace
from posterity.linalg import backends

_SIZE = 2048  # of diagonal blocks on a device


def solve_lower(L: DeviceArray, B: DeviceArray) -> DeviceArray:
    """L^-1 B for L lower triangular, B a vector or a matrix.

    Examples
    --------
    >>> solve_lower(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([2.0, 9.0]))
    array([1., 2.])
    """
    return _solve_lower(L, B, transposed=False)


def solve_lower_transposed(L: DeviceArray, B: DeviceArray) -> DeviceArray:
    """L^-T B for L lower triangular, B a vector or a matrix.

    Examples
    --------
    >>> solve_lower_transposed(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([4.0, 8.0]))
    array([1., 2.])
    """
    return _solve_lower(L, B, transposed=True)


def solve_cholesky(L: DeviceArray, B: DeviceArray) -> DeviceArray:
    """A^-1 B for A = L L^T, B a vector or a matrix.

    Examples
    --------
    >>> solve_cholesky(np.array([[2.0, 0.0], [1.0, 2.0]]), np.array([8.0, 12.0]))
    array([1., 2.])
    """
    return solve_lower_transposed(L, solve_lower(L, B))


def quadratic_form(L: DeviceArray, B: DeviceArray) -> DeviceArray:
    """b^T A^-1 b for A = L L^T and every column b of B; never negative.

    Examples
    --------
    >>> float(quadratic_form(np.array([[2.0, 0.0], [1.0, 2.0]]), np.array([8.0, 12.0])))
    32.0
    """
    V = solve_lower(L, B)
    return namespace(V).sum(V * V, axis=0)


def log_determinant(L: DeviceArray) -> float:
    """log |A| for A = L L^T.

    Examples
    --------
    >>> log_determinant(np.array([[1.0, 0.0], [1.0, 1.0]]))
    0.0
    """
    xp = namespace(L)
    return 2.0 * float(xp.sum(xp.log(xp.linalg.diagonal(L))))


def inverse_from_cholesky(L: DeviceArray) -> DeviceArray:
    """A^-1 for A = L L^T, symmetric to the last bit.

    For what needs every entry of the inverse (a posterior covariance, a gradient); where it would
    only be multiplied with something, solve instead.

    Examples
    --------
    >>> inverse_from_cholesky(np.array([[1.0, 0.0], [1.0, 1.0]]))
    array([[ 2., -1.],
           [-1.,  1.]])
    """
    if array_api_compat.is_numpy_array(L):
        return _numpy_inverse(np.asarray(L, dtype=np.float64))
    xp = namespace(L)
    identity = xp.eye(len(L), dtype=L.dtype, device=array_api_compat.device(L))
    L_inverse = solve_lower(L, identity)
    return L_inverse.T @ L_inverse


def _numpy_inverse(L: Array) -> Array:
    """Invert by LAPACK, which fills one triangle; the other is copied row by row."""
    if not L.size:
        return L.copy()
    if L.flags.f_contiguous:
        inverse, _ = lapack.dpotri(L, lower=1)
    else:
        transposed, _ = lapack.dpotri(L.T, lower=0)
        inverse = transposed.T
    for i in range(len(inverse) - 1):
        inverse[i, i + 1 :] = inverse[i + 1 :, i]
    return inverse


def _solve_lower(L: DeviceArray, B: DeviceArray, *, transposed: bool) -> DeviceArray:
    if B.shape[0] != L.shape[0]:  # LAPACK would take the first rows of B for all of them
        raise ValueError(f"A factor of {L.shape[0]} rows cannot solve for {B.shape[0]} rows.")
    if not are_blocks_worthwhile(L):
        return backends.solve_lower(L, B, transposed=transposed)
    if B.ndim == 2:
        return solve_lower_by_blocks(L, B, transposed=transposed)
    return solve_lower_by_blocks(L, B[:, None], transposed=transposed)[:, 0]


def solve_lower_by_blocks(
    L: DeviceArray, B: DeviceArray, *, transposed: bool = False, size: int = _SIZE
) -> DeviceArray:
    """L^-1 B, or L^-T B, for L lower triangular, of which only that triangle is read; B (N, n).

    Examples
    --------
    >>> import numpy as np
    >>> L = np.array([[2.0, 7.0], [1.0, 4.0]])
    >>> solve_lower_by_blocks(L, np.array([[2.0], [9.0]]), size=1)
    array([[1.],
           [2.]])
    """
    xp, n = namespace(L, B), L.shape[0]
    X = xp.asarray(B, copy=True)
    starts = range(0, n, size)
    for start in reversed(starts) if transposed else starts:
        end = min(start + size, n)
        i = slice(start, end)
        if transposed:
            backends.add_product(X[i, :], L[end:, i].T, X[end:, :], scale=-1.0)
        else:
            backends.add_product(X[i, :], L[i, :start], X[:start, :], scale=-1.0)
        X[i, :] = backends.solve_lower(xp.tril(L[i, i]), X[i, :], transposed=transposed)
    return X


def are_blocks_worthwhile(L: DeviceArray) -> bool:
    """Whether to solve by blocks: the factor is large, and on a device."""
    return L.shape[0] > 2 * _SIZE and not array_api_compat.is_numpy_array(L)
