"""The inverse of a factorised matrix in the memory of the factor, on any array library.

Two sweeps over block rows, each step one product with all three dimensions large: the factor L
becomes T = L^-1, then T becomes T^T T. In blocks T is computed from T L = I, not from L T = I, so
that A^-1 A is as near to the identity as rounding allows, however ill-conditioned A.  [NLA 14.2]
"""

import array_api_compat
import numpy as np
from scipy.linalg import blas, lapack

from posterity.arrays import Array, DeviceArray, namespace
from posterity.linalg import backends, blocked

_HALVED_TO = 64  # rows
_HALVED_FROM = 1000  # above, LAPACK is as fast, and faster with threads


def inverse_in_place(L: DeviceArray, *, block_size: int | None = None) -> DeviceArray:
    """Overwrite the lower triangle of L with that of A^-1, A = L L^T, and return L.

    The part of L above the diagonal is left as it is, as `cholesky_in_place` leaves it.

    Parameters
    ----------
    L : array (N, N), of NumPy, PyTorch or CuPy
        A lower Cholesky factor; keeps its type and its device.
    block_size : int, optional
        Rows inverted at a time; extra memory is two to three times ``block_size * N``. By default
        about N / 24, between 256 and 1024, except for contiguous NumPy doubles, which LAPACK
        inverts in place: as a whole, or by halves where there are fewer than 1000 rows.

    Raises
    ------
    LinAlgError
        When a pivot of L is not a positive number. L is then unchanged.

    Examples
    --------
    >>> inverse_in_place(np.array([[1.0, 7.0], [1.0, 1.0]]))
    array([[ 2.,  7.],
           [-1.,  1.]])
    """
    _check_pivots(L)
    if block_size is None and blocked.lapack_takes(L):
        _invert_by_lapack(L)
        return L
    size = block_size or default_block_size(L.shape[0])
    _invert_triangle(L, size)
    _multiply_by_transpose(L, size)
    return L


def _invert_by_lapack(L: Array) -> None:
    """Invert by LAPACK: whole, or by halves for a few hundred rows, where LAPACK is slow."""
    if L.flags.f_contiguous and len(L) < _HALVED_FROM:
        _invert_halves(L)
        lapack.dlauum(L, lower=1, overwrite_c=1)
        return
    in_order, lower = (L, 1) if L.flags.f_contiguous else (L.T, 0)
    lapack.dpotri(in_order, lower=lower, overwrite_c=1)


def _invert_halves(L: Array) -> None:
    """T = L^-1 in place of L: T_21 = -T_22 L_21 L_11^-1, again from T L = I."""
    n = len(L)
    if n <= _HALVED_TO:
        L[...] = lapack.dtrtri(L, lower=1)[0]
        return
    one, two = slice(0, n // 2), slice(n // 2, n)
    _invert_halves(L[two, two])
    below = blas.dtrmm(-1.0, L[two, two], L[two, one], lower=1)
    L[two, one] = blas.dtrsm(1.0, L[one, one], below, side=1, lower=1, overwrite_b=1)
    _invert_halves(L[one, one])


def default_block_size(n: int) -> int:
    """Few enough rows that three blocks are a tenth of a large matrix, enough for speed."""
    return min(max(n // 24 // 64 * 64, 256), 1024)


def _invert_triangle(K: DeviceArray, size: int) -> None:
    """T = L^-1 in place of L, T L = I solved from its last columns to its first."""
    xp, n = namespace(K), K.shape[0]
    for start in reversed(range(0, n, size)):
        end = min(start + size, n)
        L_kk, above = _corner(K, start, end)
        K[start:end, start:end] = xp.eye(
            end - start, dtype=K.dtype, device=array_api_compat.device(K)
        )
        # A product with the inverse of L_kk would be a tenth faster, and lose digits.
        T_k = backends.solve_lower(L_kk, K[start:, start:end].T, transposed=True).T
        T_kk, T_below = T_k[: end - start, :], T_k[end - start :, :]
        K[end:, start:end] = T_below
        K[start:end, start:end] = T_kk + above
        backends.add_product(K[end:, :start], T_below, K[start:end, :start], scale=-1.0)
        K[start:end, :start] = -(T_kk @ K[start:end, :start])


def _multiply_by_transpose(K: DeviceArray, size: int) -> None:
    """Overwrite T with the lower triangle of T^T T: a block row needs only the rows below it."""
    xp, n = namespace(K), K.shape[0]
    for start in range(0, n, size):
        end = min(start + size, n)
        T_kk, above = _corner(K, start, end)
        K[start:end, :start] = T_kk.T @ K[start:end, :start]
        K[start:end, start:end] = T_kk.T @ T_kk
        backends.add_product(K[start:end, :end], K[end:, start:end].T, K[end:, :end])
        K[start:end, start:end] = xp.tril(K[start:end, start:end]) + above


def _corner(K: DeviceArray, start: int, end: int) -> tuple[DeviceArray, DeviceArray]:
    """Copies of the lower triangle, and of the rest above it, of a diagonal block."""
    xp, corner = namespace(K), K[start:end, start:end]
    return xp.tril(corner), xp.triu(corner, k=1)


def _check_pivots(L: DeviceArray) -> None:
    minor = backends.first_bad_minor(L)
    if minor:
        raise np.linalg.LinAlgError(
            f"the {L.shape[0]} x {L.shape[0]} matrix is not a Cholesky factor: entry {minor - 1} "
            "of its diagonal is not a positive number; pass what cholesky or cholesky_in_place gave"
        )
