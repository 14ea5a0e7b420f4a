"""Singular values and vectors of tall and wide matrices, at the cost of the short side squared."""

import numpy as np
from scipy import linalg as scipy_linalg

from posterity.arrays import Array
from posterity.linalg import scaling
from posterity.linalg.householder import HouseholderQR


def thin_svd(A: Array) -> tuple[Array, Array, Array]:
    """U, s, Vt with A = U diag(s) Vt, s decreasing, m = min(n, p) of each.

    The matrix is first reduced to a square one by Householder reflections of its long side, which
    are orthogonal, so small singular values are as accurate as from A itself.

    Parameters
    ----------
    A : array (n, p)

    Returns
    -------
    U : array (n, m)
    s : array (m,)
    Vt : array (m, p)

    Examples
    --------
    >>> U, s, Vt = thin_svd(np.array([[3.0, 0.0, 0.0], [0.0, 0.0, 4.0]]))
    >>> s
    array([4., 3.])
    """
    A_double = np.asarray(A, dtype=np.float64)
    if A_double.shape[0] < A_double.shape[1]:
        V, s, Ut = thin_svd(A_double.T)
        return Ut.T, s, V.T
    scaling.column_magnitudes(A_double)  # refuses what is not finite
    n, p = A_double.shape
    qr = HouseholderQR.of(np.array(A_double, order="F"), overwrite=True)
    U_small, s, Vt = scipy_linalg.svd(qr.R, check_finite=False)
    U_padded = np.zeros((n, p), order="F")
    U_padded[:p] = U_small
    return qr.rotate_back(U_padded), s, Vt
