"""The operations that every array library has but names or carries out differently.

The small Cholesky factorisation, the triangular solve and the product of views, on NumPy, PyTorch
and CuPy arrays alike. CuPy and PyTorch are imported only where one of their arrays arrives; arrays
of any other library are factorised and solved by LAPACK on the host.
"""

import importlib
from typing import Any

import array_api_compat
import numpy as np
from scipy.linalg import lapack

from posterity.arrays import Array, DeviceArray, namespace

_PANEL = 1024


def factor(A: DeviceArray) -> tuple[DeviceArray, int]:
    """L with L L^T = A and 0, or something unusable and the order of a bad leading minor.

    Only the lower triangle of A is read, A is not modified, and nothing is allocated but L.
    """
    if array_api_compat.is_numpy_array(A):
        L, minor = _numpy_factor(np.asarray(A, dtype=np.float64))
    elif array_api_compat.is_torch_array(A):
        L, info = importlib.import_module("torch").linalg.cholesky_ex(A)
        minor = int(info)
    elif array_api_compat.is_cupy_array(A):
        L, minor = _cupy_factor(A)
    else:
        L_host, minor = _numpy_factor(np.asarray(A, dtype=np.float64))
        L = _like(A, L_host)
    return L, minor or first_bad_minor(L)


def solve_lower(L: DeviceArray, B: DeviceArray, *, transposed: bool = False) -> DeviceArray:
    """L^-1 B, or L^-T B, for L lower triangular; B is a vector or a matrix."""
    if array_api_compat.is_numpy_array(L):
        return _numpy_solve(L, B, transposed=transposed)
    if array_api_compat.is_torch_array(L):
        return _torch_solve(L, B, transposed=transposed)
    if array_api_compat.is_cupy_array(L):
        cupyx_linalg = importlib.import_module("cupyx.scipy.linalg")
        return cupyx_linalg.solve_triangular(L, B, lower=True, trans="T" if transposed else "N")
    return _like(L, _numpy_solve(np.asarray(L), np.asarray(B), transposed=transposed))


def product_with_transpose(A: DeviceArray, B: DeviceArray) -> DeviceArray:
    """A B^T for views of a larger matrix, with no copy of more than a few of their columns."""
    if not array_api_compat.is_cupy_array(A):
        return A @ B.T
    total = namespace(A).zeros((len(A), len(B)), dtype=A.dtype)
    for j in range(0, A.shape[1], _PANEL):  # CuPy copies a view before it multiplies
        total += A[:, j : j + _PANEL] @ B[:, j : j + _PANEL].T
    return total


def add_product(C: DeviceArray, A: DeviceArray, B: DeviceArray, *, scale: float = 1.0) -> None:
    """C += scale A B in place, for views of a larger matrix, with no copy of more than a panel."""
    if array_api_compat.is_torch_array(C):
        C.addmm_(A, B, alpha=scale)
        return
    xp, n, inner = namespace(C), C.shape[0], A.shape[1]
    for j in range(0, inner, _PANEL):
        J = slice(j, min(j + _PANEL, inner))
        B_J = xp.asarray(B[J, :], copy=True)  # CuPy would copy it for every panel of rows
        for i in range(0, n, _PANEL):
            I = slice(i, min(i + _PANEL, n))
            update = A[I, J] @ B_J
            update *= scale
            C[I, :] += update


def first_bad_minor(L: DeviceArray) -> int:
    """The order of the first leading minor whose pivot is not a positive number; 0 if none.

    Not every LAPACK notices NaN, and none minds an infinite pivot.
    """
    xp = namespace(L)
    pivots = xp.linalg.diagonal(L)
    good = xp.isfinite(pivots) & (pivots > 0)
    return 0 if bool(xp.all(good)) else int(xp.argmin(xp.astype(good, xp.int32))) + 1


def _like(x: DeviceArray, host: Array) -> DeviceArray:
    """A NumPy array as one of the library, the type and the device of x."""
    return namespace(x).asarray(host, dtype=x.dtype, device=array_api_compat.device(x))


def _numpy_factor(A: Array) -> tuple[Array, int]:
    """LAPACK in the memory order of A, so that its only copy of A becomes the factor."""
    if not A.size:
        return A.copy(), 0
    if A.flags.f_contiguous:
        return lapack.dpotrf(A, lower=1)
    U, minor = lapack.dpotrf(A.T, lower=0)
    return U.T, minor


def _numpy_solve(L: Array, B: Array, *, transposed: bool) -> Array:
    """Solve by LAPACK, with a message where a pivot is zero.

    A vector takes LAPACK as long as SciPy takes to check its arguments, so it is called directly.
    """
    if not B.size:
        return np.empty_like(B, dtype=np.float64)
    by_rows = not L.flags.f_contiguous
    triangle, upside_down = (L.T, not transposed) if by_rows else (L, transposed)
    X, info = lapack.dtrtrs(triangle, B, lower=not by_rows, trans=upside_down)
    if info:
        zeros = np.flatnonzero(np.diagonal(L) == 0)
        raise np.linalg.LinAlgError(
            f"the triangular matrix is singular: {zeros.size} of its {len(L)} diagonal entries are "
            f"zero, the first at {zeros[0]}"
        )
    return X


def _torch_solve(L: Any, B: Any, *, transposed: bool) -> Any:
    """Solve by PyTorch, which takes only matrices, and the transpose as a view."""
    torch = importlib.import_module("torch")
    view = L.mT if transposed else L
    if B.ndim == 1:
        return torch.linalg.solve_triangular(view, B[:, None], upper=transposed)[:, 0]
    return torch.linalg.solve_triangular(view, B, upper=transposed)


def _cupy_factor(A: Any) -> tuple[Any, int]:
    """Factorise by CuPy; where it fails, LAPACK finds the bad minor, which CuPy does not report."""
    cupy, cupyx = importlib.import_module("cupy"), importlib.import_module("cupyx")
    try:
        with cupyx.errstate(linalg="raise"):
            return cupy.linalg.cholesky(A), 0
    except np.linalg.LinAlgError:
        return A, _numpy_factor(A.get())[1]
