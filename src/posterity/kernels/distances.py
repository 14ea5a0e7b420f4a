"""Squared distances between rows, exact where it matters and fast where it can be."""

import array_api_compat
import numpy as np
from scipy.spatial.distance import cdist

from posterity import linalg
from posterity.arrays import DeviceArray, namespace

_FEW = 16  # columns up to which subtracting is as fast as a matrix product


def squared_distances(A: DeviceArray, B: DeviceArray) -> DeviceArray:
    """|a_n - b_m|^2, (N, M); never below zero, and zero for equal rows.

    By differences in a few columns, where neighbours may be much closer than they are far from
    the origin; by a product of centred rows in many, or on a device.

    Examples
    --------
    >>> squared_distances(np.array([[0.0], [3.0]]), np.array([[1.0]]))
    array([[1.],
           [4.]])
    """
    if array_api_compat.is_numpy_array(A) and A.shape[1] <= _FEW:
        return cdist(A, B, "sqeuclidean")
    if A.shape[1] == 1:
        r = A - B.T
        return r * r
    return _squared_distances_by_product(A, B)


def _squared_distances_by_product(A: DeviceArray, B: DeviceArray) -> DeviceArray:
    """|a|^2 + |b|^2 - 2 a.b about the mean of the rows, which loses the fewest digits."""
    xp = namespace(A, B)
    centre = xp.mean(B, axis=0)
    a, b = A - centre, B - centre
    # The squares ride along as two more columns, which saves three passes over the result.
    a2, b2 = (xp.sum(c * c, axis=1)[:, None] for c in (a, b))
    left = xp.concat([-2.0 * a, a2, xp.ones_like(a2)], axis=1)
    R = left @ xp.concat([b, xp.ones_like(b2), b2], axis=1).T
    R = xp.clip(R, 0.0, None) if not array_api_compat.is_numpy_array(R) else np.maximum(R, 0, out=R)
    return clear_diagonal(R) if A is B else R


def clear_diagonal(R: DeviceArray) -> DeviceArray:
    """The square matrix R with zeros on its diagonal, in its own memory."""
    linalg.blocked.write_diagonal(R, namespace(R).zeros_like(R[:, 0]))
    return R
