"""The lower triangle of a kernel matrix, block by block: filled, and pulled back.

A block and its companions fit a processor's cache, so that distances, exponentials and weights pass
through memory once, and no second matrix of the size of K is ever needed.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import array_api_compat
import numpy as np

from posterity import kernels, linalg
from posterity.arrays import Array, DeviceArray, namespace

_CPU_ROWS = 192
_CPU_ROWS_SHARED = 384  # fewer, larger blocks where threads share them
_SHARED_FROM = 2048  # rows; below, handing out blocks costs more than it saves
_SHARED_QUERIES = 512  # from which predictions are shared out to threads
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

    with _share_blocks(K, kernel) as (run, rows, columns):
        list(run(work, rows, columns))


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

    with _share_blocks(K, kernel) as (run, rows, columns):
        return np.sum(list(run(work, rows, columns)), axis=0)


def pullback_with_inputs(G: Array, kernel: kernels.Kernel, X: Array) -> tuple[Array, Array]:
    """dL/dtheta, (P,), and dL/dX, (N, D), X the first argument alone; G = dL/dK in full."""

    def work(i: slice, j: slice) -> tuple[slice, Array, Array]:
        tangent = kernel.tangent(X[i]) if i == j else kernel.tangent(X[i], X[j])
        return (i, *tangent.both(G[i, j]))

    def across(i: slice, j: slice) -> list[tuple[slice, Array, Array]]:
        return [work(i, j)] if i == j else [work(i, j), work(j, i)]

    with _share_blocks(G, kernel) as (run, rows, columns):
        answers = [answer for pair in run(across, rows, columns) for answer in pair]
    inputs = np.zeros_like(X)
    for i, _, moved in answers:
        inputs[i] += moved
    return np.sum([theta for _, theta, _ in answers], axis=0), inputs


def fill_between(kernel: kernels.Kernel, X: Any, Z: Any) -> DeviceArray:
    """k(X, Z), (N, M), block by block where the rows are vectors on a processor."""
    if not (kernel.takes_vectors and array_api_compat.is_numpy_array(X)):
        return kernel(X, Z)
    K = np.empty((X.shape[0], Z.shape[0]), order="F")  # as LAPACK solves with it
    with linalg.threads.limit_threads(0):
        for i in _cut(K.shape[0], _CPU_ROWS):
            for j in _cut(K.shape[1], _CPU_ROWS):
                K[i, j] = kernel(X[i], Z[j])
    return K


def map_pieces(function: Callable[[Any], T], kernel: kernels.Kernel, X: Any, size: int) -> list[T]:
    """The function of at most ``size`` rows of X at a time, shared out to the threads of BLAS.

    A thread that has a piece of its own waits for no other; threads that share a triangular solve
    do, and leave the kernel to one of them.
    """
    n, on_cpu = kernels.rows.count_rows(X), kernel.takes_vectors and isinstance(X, np.ndarray)
    workers = linalg.threads.available_threads() if on_cpu and n >= _SHARED_QUERIES else 1
    step = max(1, min(size // workers, -(-n // workers)))
    pieces = [kernels.rows.slice_rows(X, i, i + step) for i in range(0, n, step)]
    if workers == 1:
        return [function(piece) for piece in pieces]
    with linalg.threads.limit_threads(0), ThreadPoolExecutor(workers) as pool:
        return list(pool.map(function, pieces))


def with_diagonal(K: DeviceArray, extra: DeviceArray) -> DeviceArray:
    """K with ``extra`` added to its diagonal, in place."""
    linalg.blocked.write_diagonal(K, namespace(K).linalg.diagonal(K) + extra)
    return K


def symmetric(G: DeviceArray) -> DeviceArray:
    """The symmetric matrix of which only the lower triangle is right."""
    xp = namespace(G)
    return xp.tril(G) + xp.tril(G, k=-1).T


@contextlib.contextmanager
def _share_blocks(
    K: DeviceArray, kernel: kernels.Kernel
) -> Iterator[tuple[Callable[..., Iterable[Any]], list[slice], list[slice]]]:
    """A map of functions over the blocks of the lower triangle, their rows and columns."""
    n, on_cpu = K.shape[0], array_api_compat.is_numpy_array(K) and kernel.takes_vectors
    workers = linalg.threads.available_threads() if on_cpu and n >= _SHARED_FROM else 1
    if on_cpu:
        cut = _cut(n, _CPU_ROWS_SHARED if workers > 1 else _CPU_ROWS)
    else:
        cut = _cut(n, _DEVICE_ROWS if kernel.takes_vectors else n)
    rows = [cut[a] for a in range(len(cut)) for _ in range(a + 1)]
    columns = [cut[b] for a in range(len(cut)) for b in range(a + 1)]
    with linalg.threads.limit_threads(0):
        if workers == 1:
            yield map, rows, columns
        else:
            with ThreadPoolExecutor(workers) as pool:
                yield pool.map, rows, columns


def _rows(X: Any, i: slice) -> Any:
    return kernels.rows.slice_rows(X, i.start, i.stop)


def _cut(n: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]
