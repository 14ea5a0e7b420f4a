"""Cholesky factorisation in the memory of the matrix itself, on any array library.

At fifty thousand rows a kernel matrix fills a device, and a factor beside it does not fit.
Block columns are factorised from left to right, each updated by one product with all that stands
to its left, so that the extra memory is a few block columns.  [GVL 4.2.6]
"""

import array_api_compat
import numpy as np
from scipy.linalg import lapack

from posterity.arrays import DeviceArray, free_memory, namespace
from posterity.linalg import backends
from posterity.linalg.errors import NotPositiveDefiniteError

_SMALL = 24_576  # rows up to which a device's own factorisation is faster than blocks


def cholesky_in_place(K: DeviceArray, *, block_size: int | None = None) -> DeviceArray:
    """Overwrite the lower triangle of K with L, L L^T = K, and return K.

    The part of K above the diagonal is neither read nor written: use the result with functions that
    read the lower triangle only, as those of this room do.

    Parameters
    ----------
    K : array (N, N), of NumPy, PyTorch or CuPy
        Keeps its type and its device.
    block_size : int, optional
        Columns factorised at a time; extra memory is about three times ``block_size * N``. By
        default N / 32, between 64 and 1024, except for contiguous NumPy doubles, which LAPACK
        factorises in place as a whole, and for matrices of up to 24,576 rows where memory for
        three more is free: these a device's own library factorises faster.

    Raises
    ------
    NotPositiveDefiniteError
        It names the order of the leading minor at which this became known. The lower triangle of
        K is then partly overwritten.

    Examples
    --------
    >>> cholesky_in_place(np.array([[4.0, 2.0], [2.0, 5.0]]))
    array([[2., 2.],
           [1., 2.]])
    """
    minor = factor_lower_triangle(K, block_size=block_size)
    if minor:
        raise NotPositiveDefiniteError(
            f"the leading minor of order {minor} of the {K.shape[0]} x {K.shape[0]} matrix is "
            "not positive definite; add noise variance to the diagonal, or remove duplicate rows"
        )
    return K


def factor_lower_triangle(K: DeviceArray, *, block_size: int | None = None) -> int:
    """Factorise in place; 0, or the order of a leading minor that is not positive definite."""
    if block_size is None and lapack_takes(K):
        in_order, lower = (K, 1) if K.flags.f_contiguous else (K.T, 0)
        _, minor = lapack.dpotrf(in_order, lower=lower, clean=0, overwrite_a=1)
        return int(minor) or backends.first_bad_minor(K)
    if block_size is None and _has_room_beside(K):
        return _factor_beside(K)
    return _factor_left_looking(K, block_size or default_block_size(K.shape[0]))


def _has_room_beside(K: DeviceArray) -> bool:
    """Whether K is small enough, and memory large enough, for a factor and its workspace."""
    free = free_memory(K)
    return K.shape[0] <= _SMALL and free is not None and free > 3 * 8 * K.shape[0] ** 2


def _factor_beside(K: DeviceArray) -> int:
    """Factorise by the library, which is faster than blocks for small matrices."""
    xp, n, size = namespace(K), K.shape[0], default_block_size(K.shape[0])
    L, minor = backends.factor(K)
    if minor:
        return minor
    for start in range(0, n, size):
        end = min(start + size, n)
        i = slice(start, end)
        K[i, i] = xp.tril(L[i, i]) + xp.triu(K[i, i], k=1)
        K[end:, i] = L[end:, i]
    return 0


def default_block_size(n: int) -> int:
    """Small enough that three block columns are a tenth of the matrix, large enough for speed."""
    return min(max(n // 32, 64), 1024)


def restore_lower_triangle(K: DeviceArray, diagonal: DeviceArray) -> None:
    """Copy the part above the diagonal below it, and write the diagonal, all in place."""
    xp = namespace(K)
    n, size = K.shape[0], default_block_size(K.shape[0])
    for start in range(0, n, size):
        end = min(start + size, n)
        upper = xp.triu(K[start:end, start:end], k=1)
        K[start:end, start:end] = upper + upper.T
        K[end:, start:end] = K[start:end, end:].T
    write_diagonal(K, diagonal)


def write_diagonal(K: DeviceArray, diagonal: DeviceArray) -> None:
    """Overwrite the diagonal of K."""
    xp, n, where = namespace(K), K.shape[0], array_api_compat.device(K)
    if array_api_compat.is_array_api_strict_namespace(xp):  # the standard has no such assignment
        K[...] = xp.where(xp.eye(n, dtype=xp.bool, device=where), diagonal[:, None], K)
        return
    everywhere = xp.arange(n, device=where)
    K[everywhere, everywhere] = diagonal


def clear_upper_triangle(K: DeviceArray) -> None:
    """Set the entries above the diagonal to zero, in place."""
    xp = namespace(K)
    n, size = K.shape[0], default_block_size(K.shape[0])
    for start in range(0, n, size):
        end = min(start + size, n)
        K[start:end, end:] = 0.0
        K[start:end, start:end] = xp.tril(K[start:end, start:end])


def lapack_takes(K: DeviceArray) -> bool:
    """Whether LAPACK can work in the memory of K."""
    return (
        array_api_compat.is_numpy_array(K)
        and K.dtype == np.float64
        and K.size > 0
        and K.flags.writeable
        and K.flags.aligned
        and K.flags.forc
    )


def _factor_left_looking(K: DeviceArray, size: int) -> int:
    """Update, factorise and solve one block column after another."""
    xp, n = namespace(K), K.shape[0]
    for start in range(0, n, size):
        end = min(start + size, n)
        update = backends.product_with_transpose(K[start:, :start], K[start:end, :start])
        corner = K[start:end, start:end]
        L, minor = backends.factor(corner - update[: end - start, :])
        if minor:
            return start + minor
        K[start:end, start:end] = xp.tril(L) + xp.triu(corner, k=1)
        K[end:, start:end] -= update[end - start :, :]
        K[end:, start:end] = backends.solve_lower(L, K[end:, start:end].T).T
    return 0
