"""Cholesky factorisation with its guards: jitter that is relative, announced and limited."""

from collections.abc import Iterator

import array_api_compat
import numpy as np
from scipy.linalg import eigvalsh

from posterity import callers
from posterity.arrays import DeviceArray, namespace, to_numpy
from posterity.linalg import backends, blocked
from posterity.linalg.errors import JitterWarning, NonFiniteError, NotPositiveDefiniteError

_LADDER = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # of the largest jitter
_DIAGNOSED_ROWS = 2000  # up to which the smallest eigenvalue is computed for the error message


def cholesky(A: DeviceArray, *, overwrite: bool = False, max_jitter: float = 1e-6) -> DeviceArray:
    """Lower triangular L with L L^T = A, for a symmetric positive definite A.

    Only where A is not positive definite to rounding is a multiple of the identity added, growing
    tenfold from ``1e-4 * max_jitter`` to ``max_jitter``, relative to the mean of the diagonal. It
    is never silent, and never larger.

    Parameters
    ----------
    A : array (N, N), of NumPy, PyTorch or CuPy
        Only its lower triangle is read. NumPy arrays are taken as doubles; others keep their type
        and their device.
    overwrite : bool
        Factorise in the memory of A. A must then be symmetric in full.
    max_jitter : float
        The largest jitter; 0 allows none.

    Warns
    -----
    JitterWarning
        When jitter was added: how much, and what it means.

    Raises
    ------
    NotPositiveDefiniteError
        When ``max_jitter`` does not suffice.
    NonFiniteError
        When A holds NaN or infinity.

    Examples
    --------
    >>> cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
    array([[2., 0.],
           [1., 2.]])
    """
    _check_square(A)
    attempts = _attempts_in_place(A, max_jitter) if overwrite else _attempts(A, max_jitter)
    for relative, absolute, L in attempts:
        if L is None:
            continue
        if relative:
            callers.warn_caller(_jitter_sentence(relative, absolute), JitterWarning)
        return L
    raise NotPositiveDefiniteError(_failure_sentence(A, max_jitter))


def _attempts(
    A: DeviceArray, max_jitter: float
) -> Iterator[tuple[float, float, DeviceArray | None]]:
    """Each jitter, relative and absolute, and the factor if there is one."""
    L, minor = backends.factor(A)
    yield 0.0, 0.0, None if minor else L
    _check_finite(A)
    xp = namespace(A)
    diagonal = xp.linalg.diagonal(A)
    K = xp.asarray(A, copy=True)
    for relative, absolute in _jitters(A, max_jitter):
        blocked.write_diagonal(K, diagonal + absolute)
        L_jittered, minor_jittered = backends.factor(K)
        yield relative, absolute, None if minor_jittered else L_jittered


def _attempts_in_place(
    A: DeviceArray, max_jitter: float
) -> Iterator[tuple[float, float, DeviceArray | None]]:
    """The same in the memory of A, whose entries above the diagonal keep their values."""
    xp = namespace(A)
    K = np.asarray(A, dtype=np.float64) if array_api_compat.is_numpy_array(A) else A
    diagonal = xp.asarray(xp.linalg.diagonal(K), copy=True)
    for relative, absolute in ((0.0, 0.0), *_jitters(K, max_jitter)):
        if relative:
            blocked.restore_lower_triangle(K, diagonal + absolute)
        minor = blocked.factor_lower_triangle(K)
        if minor:
            blocked.restore_lower_triangle(K, diagonal)
            _check_finite(K)
        else:
            blocked.clear_upper_triangle(K)
        yield relative, absolute, None if minor else K


def _jitters(A: DeviceArray, max_jitter: float) -> list[tuple[float, float]]:
    """The ladder, relative to the mean diagonal and in absolute terms."""
    scale = _mean_diagonal(A)
    steps = _LADDER if max_jitter > 0 and scale > 0 else ()
    return [(step * max_jitter, step * max_jitter * scale) for step in steps]


def _mean_diagonal(A: DeviceArray) -> float:
    xp = namespace(A)
    return float(xp.mean(xp.linalg.diagonal(A))) if A.shape[0] else 0.0


def _check_square(A: DeviceArray) -> None:
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"a square matrix is needed, not an array of shape {tuple(A.shape)}")


def _check_finite(A: DeviceArray) -> None:
    xp = namespace(A)
    bad = int(xp.sum(xp.astype(~xp.isfinite(A), xp.int64)))
    if bad:
        raise NonFiniteError(
            f"cannot factorise: {bad} of the {A.shape[0]} x {A.shape[1]} entries are NaN or "
            "infinite; look for overflow or missing values in what the matrix was computed from"
        )


def _jitter_sentence(relative: float, absolute: float) -> str:
    return (
        f"the matrix was not positive definite to rounding; {relative:.0e} of its mean diagonal "
        f"({absolute:.2e}) was added to the diagonal, as if every row had that much more "
        "independent noise variance. Rows that are nearly equal are the usual cause: remove them, "
        "or use a larger noise variance"
    )


def _failure_sentence(A: DeviceArray, max_jitter: float) -> str:
    """Say how far from positive definite A is, and what to do."""
    n = A.shape[0]
    how = ""
    if n <= _DIAGNOSED_ROWS:
        smallest = eigvalsh(to_numpy(A), subset_by_index=(0, 0))[0]
        mean = _mean_diagonal(A)
        how = f": its smallest eigenvalue is {smallest:.2e}, its mean diagonal {mean:.2e}"
    return (
        f"the {n} x {n} matrix is not positive definite{how}. Adding {max_jitter:.0e} of its mean "
        "diagonal, the most that is allowed, does not help. Check that it is a covariance or a "
        "valid kernel matrix, use a larger noise variance, or remove rows that are nearly equal"
    )
