"""Groups of rows from eigenvectors that mix their indicators."""

import numpy as np
from numpy.typing import NDArray
from scipy import linalg as scipy_linalg

from posterity.arrays import Array


def find_row_groups(V: Array) -> NDArray[np.intp]:
    """Find the group of each row, for V (n, k) orthonormal and close to rotated indicators.

    The columns of V span nearly the same space as the indicators of k groups. Reflections with
    pivoting choose k rows that are far apart, one of each group [GVL 5.4.2]; the rotation nearest
    to the inverse of those rows turns V into the indicators. No start and no random numbers.

    Parameters
    ----------
    V : array (n, k)
        At least k rows.

    Examples
    --------
    >>> indicators = np.array([[0.6, 0.0], [0.8, 0.0], [0.0, 1.0]])
    >>> turn = np.array([[0.8, 0.6], [-0.6, 0.8]])
    >>> groups = find_row_groups(indicators @ turn)
    >>> bool(groups[0] == groups[1] != groups[2])
    True
    """
    k = V.shape[1]
    _, _, order = scipy_linalg.qr(V.T, mode="economic", pivoting=True)
    U, _, Wt = scipy_linalg.svd(V[order[:k]].T)
    return np.argmax(np.abs(V @ (U @ Wt)), axis=1)
