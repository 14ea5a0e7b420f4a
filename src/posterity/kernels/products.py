"""Products with a matrix that is known entry by entry as the product of two others."""

import array_api_compat
import numpy as np

from posterity.arrays import DeviceArray
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
        W = S * G
        return (distances.clear_diagonal(W) if hollow else W) @ M
    n, size = len(G), max(1, _STRIP_VALUES // max(1, G.shape[1]))
    product = np.empty((n, M.shape[1]), dtype=G.dtype)
    for start in range(0, n, size):
        i = slice(start, min(start + size, n))
        W = S[i] * G[i]
        if hollow:
            np.fill_diagonal(W[:, i], 0.0)
        np.matmul(W, M, out=product[i])
    return product
