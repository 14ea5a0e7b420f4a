"""Triangular solves of large factors on a device, by blocks.

A library that keeps matrices by columns copies a factor kept by rows before it solves, and a copy
of a factor that fills half the device does not fit. Only the diagonal blocks are handed to it;
the rest is matrix products, which take either order.  [GVL 3.1.4]
"""

import array_api_compat

from posterity.arrays import DeviceArray, namespace
from posterity.linalg import backends

_SIZE = 2048


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


def is_worthwhile(L: DeviceArray) -> bool:
    """Whether to solve by blocks: the factor is large, and on a device."""
    return L.shape[0] > 2 * _SIZE and not array_api_compat.is_numpy_array(L)
