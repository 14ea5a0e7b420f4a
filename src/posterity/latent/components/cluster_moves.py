"""Single rows moved between clusters of a kernel's feature space, where that lowers the inertia.

Moving one row also moves the two centres, which k-means leaves out of account: it stops where this
still descends, often far above, most of all where rows are hardly alike. Where no single move
descends, no step of k-means does. [DGK]

Letters: K (N, N) kernel matrix, w (N,) weights, s (C,) weights of clusters, U (C, N) weighted sums
of K over the rows of a cluster, q (C,) weighted sums of U over them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array
from posterity.linalg import products

_LEAST_GAIN = 1e-12  # of the largest squared length


def improve_by_moves(
    K: Array, w: Array, labels: NDArray[np.intp], *, max_sweeps: int = 300
) -> NDArray[np.intp]:
    """The labels after sweeps over the rows, each moved where that gains most, until none gains.

    No cluster is emptied.

    Examples
    --------
    >>> X = np.array([[-1.0], [0.0], [0.0], [1.0], [1.1]])
    >>> improve_by_moves(X @ X.T, np.ones(5), np.array([0, 0, 0, 0, 1]))
    array([0, 0, 0, 1, 1])
    """
    now, n_clusters = labels.copy(), int(labels.max()) + 1
    M = np.zeros((len(w), n_clusters), order="F")
    M[np.arange(len(w)), labels] = w
    U = np.ascontiguousarray(products.product(K, M).T)
    s, q = M.sum(axis=0), np.einsum("nc,cn->c", M, U)
    counts = np.bincount(labels, minlength=n_clusters)
    least = _LEAST_GAIN * float(np.diagonal(K).max())
    for _ in range(max_sweeps):
        if not _sweep(K, w, now, counts, U, s, q, least):
            break
    return now


@compilation.compile_at_first_call
def _sweep(
    K: Array,
    w: Array,
    labels: NDArray[np.intp],
    counts: NDArray[np.intp],
    U: Array,
    s: Array,
    q: Array,
    least: float,
) -> int:
    """Each row once, in order; how many moved. All but K, w and least change in place."""
    n_moves = 0
    for i in range(len(w)):
        a = labels[i]
        if counts[a] == 1:
            continue
        best, gain = a, least
        leave = s[a] / (s[a] - w[i]) * _distance(K[i, i], U[a, i], s[a], q[a])
        for c in range(len(s)):
            if c == a or s[c] == 0.0:
                continue
            join = s[c] / (s[c] + w[i]) * _distance(K[i, i], U[c, i], s[c], q[c])
            if w[i] * (leave - join) > gain:
                best, gain = c, w[i] * (leave - join)
        if best != a:
            q[a] += w[i] * (w[i] * K[i, i] - 2.0 * U[a, i])
            q[best] += w[i] * (w[i] * K[i, i] + 2.0 * U[best, i])
            s[a] -= w[i]
            s[best] += w[i]
            counts[a] -= 1
            counts[best] += 1
            U[a] -= w[i] * K[i]
            U[best] += w[i] * K[i]
            labels[i] = best
            n_moves += 1
    return n_moves


@compilation.compile_at_first_call(inline="always")
def _distance(k: float, u: float, s: float, q: float) -> float:
    """Squared distance of a row from a centre."""
    return k - 2.0 * u / s + q / (s * s)
