"""The lower triangle of a kernel matrix, block by block: filled, and pulled back.

A block and its companions fit a processor's cache, so that distances, exponentials and weights pass
through memory once, and no second matrix of the size of K is ever needed.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import array_api_compat
import numpy as np

from posterity import kernels, linalg
from posterity.arrays import Array, DeviceArray, namespace

_CPU_ROWS = 192
_CPU_ROWS_SHARED = 384  # fewer, larger blocks where threads share them
_SHARED_FROM = 2048  # rows; below, handing out blocks costs more than it saves
_DEVICE_ROWS = 8192

T = TypeVar("T")


def fill(
    K: DeviceArray,
    kernel: kernels.Kernel,
    X: Any,
    diagonal: DeviceArray,
    *,
    above_too: bool = False,
) -> None:
    """Overwrite the lower triangle of K, or all of it, with k(X, X) + diag(``diagonal``)."""

    def work(i: slice, j: slice) -> None:
        if i == j:
            K[i, i] = with_diagonal(kernel(_rows(X, i)), diagonal[i])
            return
        K[i, j] = kernel(_rows(X, i), _rows(X, j))
        if above_too:
            K[j, i] = K[i, j].T

    _for_each(work, K, kernel)


def pullback(
    K: DeviceArray, kernel: kernels.Kernel, X: Any, weights: Callable[[slice, slice], DeviceArray]
) -> Array:
    """dL/dtheta, (P,), from blocks of dL/dK that ``weights`` makes of places (i, j), j <= i.

    dL/dK is symmetric, and is asked for only below the diagonal: those blocks count twice.
    """

    def work(i: slice, j: slice) -> Array:
        if i == j:
            return kernel.tangent(_rows(X, i)).parameters(weights(i, i))
        return 2.0 * kernel.tangent(_rows(X, i), _rows(X, j)).parameters(weights(i, j))

    return np.sum(_for_each(work, K, kernel), axis=0)


def pullback_with_inputs(G: Array, kernel: kernels.Kernel, X: Array) -> tuple[Array, Array]:
    """dL/dtheta, (P,), and dL/dX, (N, D), X the first argument alone; G = dL/dK in full."""

    def work(i: slice, j: slice) -> tuple[slice, Array, Array]:
        tangent = kernel.tangent(X[i]) if i == j else kernel.tangent(X[i], X[j])
        return (i, *tangent.both(G[i, j]))

    def across(i: slice, j: slice) -> list[tuple[slice, Array, Array]]:
        return [work(i, j)] if i == j else [work(i, j), work(j, i)]

    answers = [answer for pair in _for_each(across, G, kernel) for answer in pair]
    inputs = np.zeros_like(X)
    for i, _, moved in answers:
        inputs[i] += moved
    return np.sum([theta for _, theta, _ in answers], axis=0), inputs


def between(kernel: kernels.Kernel, X: Any, Z: Any) -> DeviceArray:
    """k(X, Z), (N, M), block by block where the rows are vectors on a processor."""
    if not (kernel.takes_vectors and array_api_compat.is_numpy_array(X)):
        return kernel(X, Z)
    K = np.empty((X.shape[0], Z.shape[0]))
    with linalg.threads.limited(0):
        for i in _cut(K.shape[0], _CPU_ROWS):
            for j in _cut(K.shape[1], _CPU_ROWS):
                K[i, j] = kernel(X[i], Z[j])
    return K


def with_diagonal(K: DeviceArray, extra: DeviceArray) -> DeviceArray:
    """K with ``extra`` added to its diagonal, in place."""
    linalg.blocked.write_diagonal(K, namespace(K).linalg.diagonal(K) + extra)
    return K


def symmetric(G: DeviceArray) -> DeviceArray:
    """The symmetric matrix of which only the lower triangle is right."""
    xp = namespace(G)
    return xp.tril(G) + xp.tril(G, k=-1).T


def _for_each(work: Callable[[slice, slice], T], K: DeviceArray, kernel: kernels.Kernel) -> list[T]:
    """The results of all blocks of the lower triangle, in order."""
    n, on_cpu = K.shape[0], array_api_compat.is_numpy_array(K) and kernel.takes_vectors
    workers = linalg.threads.available() if on_cpu and n >= _SHARED_FROM else 1
    if not on_cpu:
        places = _places(n, _DEVICE_ROWS if kernel.takes_vectors else n)
    else:
        places = _places(n, _CPU_ROWS_SHARED if workers > 1 else _CPU_ROWS)
    with linalg.threads.limited(0):
        if workers == 1:
            return [work(i, j) for i, j in places]
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(lambda place: work(*place), places))


def _rows(X: Any, i: slice) -> Any:
    return kernels.rows.between(X, i.start, i.stop)


def _places(n: int, size: int) -> list[tuple[slice, slice]]:
    """Rows and columns of the blocks on and below the diagonal."""
    cut = _cut(n, size)
    return [(cut[a], cut[b]) for a in range(len(cut)) for b in range(a + 1)]


def _cut(n: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]
