"""Singular values and vectors of tall and wide matrices, at the cost of the short side squared."""

import numpy as np
from scipy import linalg as scipy_linalg

from posterity.arrays import Array
from posterity.linalg import products, scaling
from posterity.linalg.householder import HouseholderQR

_GRAM_CONDITION_LIMIT = 1e2  # squaring it costs at most eps * 1e4, about 2e-12


def thin_svd(A: Array) -> tuple[Array, Array, Array]:
    """U, s, Vt with A = U diag(s) Vt, s decreasing, m = min(n, p) of each.

    By the eigenvectors of the Gram matrix of the short side where the condition is below 100, so
    that squaring it costs at most a few digits of sixteen. Otherwise the matrix is first reduced to
    a square one by Householder reflections of its long side, which are orthogonal, so small
    singular values are as accurate as from A itself.

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
    by_gram = _decompose_by_gram(A_double)
    return _decompose_by_reflections(A_double) if by_gram is None else by_gram


def _decompose_by_gram(A: Array) -> tuple[Array, Array, Array] | None:
    """The decomposition of a tall matrix by its Gram matrix; None where that would lose digits."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        G = products.gram(A)
    low, high = scaling.SQUARE_RANGE
    squares = np.diagonal(G)
    if not np.all((squares > low) & (squares < high)):
        return None
    lam, V = scipy_linalg.eigh(G, driver="evd", check_finite=False, overwrite_a=True)
    if not lam.size or lam[0] < lam[-1] * _GRAM_CONDITION_LIMIT**-2:
        return None
    s, W = np.sqrt(lam[::-1]), V[:, ::-1]
    return products.product(A, np.asfortranarray(W / s)), s, W.T


def _decompose_by_reflections(A: Array) -> tuple[Array, Array, Array]:
    """The decomposition of a tall matrix by that of its triangular factor."""
    scaling.column_magnitudes(A)  # refuses what is not finite
    n, p = A.shape
    qr = HouseholderQR.factorize(np.array(A, order="F"), overwrite=True)
    U_small, s, Vt = scipy_linalg.svd(qr.R, check_finite=False)
    U_padded = np.zeros((n, p), order="F")
    U_padded[:p] = U_small
    return qr.rotate_back(U_padded), s, Vt
