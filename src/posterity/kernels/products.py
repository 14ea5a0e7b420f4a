"""Products with a matrix that is known entry by entry as the product of two others."""

from collections.abc import Iterator

import array_api_compat
import numpy as np

from posterity.arrays import Array, DeviceArray, namespace
from posterity.kernels import distances

_STRIP_VALUES = 1 << 15  # a quarter of a megabyte, which stays in a processor's cache


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
    return distances.clear_diagonal(W) if hollow else W


def _cut_strips(S: Array, G: Array, *, hollow: bool) -> Iterator[tuple[slice, Array]]:
    """Few rows of W at a time, and which they are."""
    n, size = len(G), max(1, _STRIP_VALUES // max(1, G.shape[1]))
    for start in range(0, n, size):
        i = slice(start, min(start + size, n))
        W = S[i] * G[i]
        if hollow:
            np.fill_diagonal(W[:, i], 0.0)
        yield i, W
