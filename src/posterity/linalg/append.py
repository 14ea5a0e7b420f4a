"""A Cholesky factor that grows with its matrix, for the price of the new rows.

The new rows of the factor are a triangular solve; its new corner is the factor of the Schur
complement, the covariance of the new rows given the old ones.  [GVL 4.2.9]
"""

import array_api_compat
import numpy as np

from posterity.arrays import DeviceArray, namespace
from posterity.linalg import backends, blocked
from posterity.linalg.cholesky import cholesky
from posterity.linalg.errors import NotPositiveDefiniteError
from posterity.linalg.solves import solve_lower


def append_rows(
    L: DeviceArray, B: DeviceArray, C: DeviceArray, *, max_jitter: float = 1e-6
) -> DeviceArray:
    """The lower Cholesky factor of [[A, B^T], [B, C]], from the factor L of A.

    It costs N^2 n operations for n new rows, where a new factorisation would cost (N + n)^3 / 3,
    and allocates little but the new factor.

    Parameters
    ----------
    L : array (N, N), of NumPy, PyTorch or CuPy
        The lower Cholesky factor of A; only its lower triangle is read, and it is not modified.
    B : array (n, N)
        The new rows, beside A.
    C : array (n, n)
        The new corner; only its lower triangle is read.
    max_jitter : float
        The largest jitter, relative to the mean diagonal of the Schur complement, as in `cholesky`.

    Warns
    -----
    JitterWarning
        When jitter was added to the new corner.

    Raises
    ------
    NotPositiveDefiniteError
        When the new rows are, to rounding, combinations of those there were.

    Examples
    --------
    >>> append_rows(np.array([[2.0]]), np.array([[2.0]]), np.array([[5.0]]))
    array([[2., 0.],
           [1., 2.]])
    """
    _check_shapes(L, B, C)
    N, n = L.shape[0], B.shape[0]
    B_rows, corner = (_as_doubles(B), _as_doubles(C))
    L_new = _enlarge_factor(L, N + n)
    L_new[N:, :N] = solve_lower(L, B_rows.T).T
    S = corner - backends.product_with_transpose(L_new[N:, :N], L_new[N:, :N])
    try:
        L_new[N:, N:] = cholesky(S, max_jitter=max_jitter)
    except NotPositiveDefiniteError as error:
        raise NotPositiveDefiniteError(
            f"the matrix is not positive definite with its {n} new rows, which follow, to "
            f"rounding, from its {N} old ones: {error}"
        ) from error
    return L_new


def _enlarge_factor(L: DeviceArray, size: int) -> DeviceArray:
    """The lower triangle of L in the corner of a larger matrix of zeros."""
    xp, N = namespace(L), L.shape[0]
    dtype = np.float64 if array_api_compat.is_numpy_array(L) else L.dtype
    L_new = xp.zeros((size, size), dtype=dtype, device=array_api_compat.device(L))
    L_new[:N, :N] = L
    blocked.clear_upper_triangle(L_new)
    return L_new


def _as_doubles(x: DeviceArray) -> DeviceArray:
    """NumPy arrays as doubles, others as they are."""
    return np.asarray(x, dtype=np.float64) if array_api_compat.is_numpy_array(x) else x


def _check_shapes(L: DeviceArray, B: DeviceArray, C: DeviceArray) -> None:
    N, n = L.shape[0], B.shape[0]
    if tuple(B.shape) != (n, N) or tuple(C.shape) != (n, n):
        raise ValueError(
            f"{n} new rows beside a {N} x {N} factor need B of shape {(n, N)} and C of shape "
            f"{(n, n)}, not {tuple(B.shape)} and {tuple(C.shape)}"
        )
