"""Squared distances between rows, exact where it matters, and products weighted by them."""

from collections.abc import Iterator

import array_api_compat
import numpy as np
from scipy.spatial.distance import cdist

from posterity import linalg
from posterity.arrays import Array, DeviceArray, namespace

_STRIP_VALUES = 1 << 15  # a quarter of a megabyte, which stays in a processor's cache
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


def weighted_product(
    S: DeviceArray, G: DeviceArray, M: DeviceArray, *, hollow: bool
) -> DeviceArray:
    """W M for W = S G, entry by entry; ``hollow``: as if the diagonal of W were zero.

    On a processor W is never formed as a whole. What rows at distance zero weigh is often most of
    all, and where it cancels it is better left out.

    Examples
    --------
    >>> W = np.array([[5.0, 2.0], [3.0, 7.0]])
    >>> weighted_product(W, np.ones((2, 2)), np.array([[1.0], [10.0]]), hollow=True)
    array([[20.],
           [ 3.]])
    """
    if not array_api_compat.is_numpy_array(G):
        return _weigh(S, G, hollow=hollow) @ M
    product = np.empty((len(G), M.shape[1]), dtype=G.dtype)
    for i, W in _cut_strips(S, G, hollow=hollow):
        np.matmul(W, M, out=product[i])
    return product


def weighted_sums(
    S: DeviceArray, G: DeviceArray, M: DeviceArray, *, hollow: bool
) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
    """W M, and the sums of the rows and of the columns of the same W."""
    if not array_api_compat.is_numpy_array(G):
        W, xp = _weigh(S, G, hollow=hollow), namespace(G)
        return W @ M, xp.sum(W, axis=1), xp.sum(W, axis=0)
    product, rows = np.empty((len(G), M.shape[1]), dtype=G.dtype), np.empty(len(G), dtype=G.dtype)
    columns = np.zeros(G.shape[1], dtype=G.dtype)
    for i, W in _cut_strips(S, G, hollow=hollow):
        np.matmul(W, M, out=product[i])
        np.sum(W, axis=1, out=rows[i])
        columns += np.sum(W, axis=0)
    return product, rows, columns


def _weigh(S: DeviceArray, G: DeviceArray, *, hollow: bool) -> DeviceArray:
    W = S * G
    return clear_diagonal(W) if hollow else W


def _cut_strips(S: Array, G: Array, *, hollow: bool) -> Iterator[tuple[slice, Array]]:
    """Few rows of W at a time, and which they are."""
    n, size = len(G), max(1, _STRIP_VALUES // max(1, G.shape[1]))
    for start in range(0, n, size):
        i = slice(start, min(start + size, n))
        W = S[i] * G[i]
        if hollow:
            np.fill_diagonal(W[:, i], 0.0)
        yield i, W
