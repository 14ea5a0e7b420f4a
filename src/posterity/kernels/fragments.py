"""The weighted common fragments of two trees, by dynamic programming, compiled."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array

Integers = NDArray[np.int_]


class FlatTrees(NamedTuple):
    """Trees as flat arrays of their inner nodes, children before parents.

    Children are inner nodes too: a leaf is known by the production of its parent.
    """

    starts: Integers  # (N + 1,) first node of each tree
    productions: Integers  # (V,) equal where a node has equal label and labels of children
    by_production: Integers  # (V,) the nodes of each tree, counted in it, sorted by production
    child_starts: Integers  # (V + 1,) first child of each node
    children: Integers  # (C,) nodes, counted within their tree


@compilation.compile_at_first_call
def compare_pairs(X: FlatTrees, Z: FlatTrees, decay: float, same: bool) -> tuple[Array, Array]:
    """Every tree of X with every one of Z: the sum over pairs of equal fragments of
    decay^(size - 1), and decay times its derivative; (N, M) each.

    Where X and Z are the same trees, the lower half is copied from the upper.
    """
    N, M = len(X.starts) - 1, len(Z.starts) - 1
    K, dK = np.empty((N, M)), np.empty((N, M))
    for n in range(N):
        for m in range(n if same else 0, M):
            K[n, m], dK[n, m] = _compare_pair(X, n, Z, m, decay)
            if same:
                K[m, n], dK[m, n] = K[n, m], dK[n, m]
    return K, dK


@compilation.compile_at_first_call
def compare_with_self(X: FlatTrees, decay: float) -> tuple[Array, Array]:
    """Every tree with itself, as in ``pairs``; (N,) each."""
    N = len(X.starts) - 1
    K, dK = np.empty(N), np.empty(N)
    for n in range(N):
        K[n], dK[n] = _compare_pair(X, n, X, n, decay)
    return K, dK


@compilation.compile_at_first_call
def _compare_pair(X: FlatTrees, n: int, Z: FlatTrees, m: int, decay: float) -> tuple[float, float]:
    """C[u, v] sums decay^(size - 1) over equal fragments with roots u and v; dC is its derivative
    in log decay. Only nodes of equal production are visited; for the others C is zero.
    """
    first_X, end_X = X.starts[n], X.starts[n + 1]
    first_Z, end_Z = Z.starts[m], Z.starts[m + 1]
    C = np.zeros((end_X - first_X, end_Z - first_Z))
    dC = np.zeros_like(C)
    candidates = Z.by_production[first_Z:end_Z]
    sorted_productions = Z.productions[first_Z:end_Z][candidates]
    total, slope = 0.0, 0.0
    for u in range(end_X - first_X):
        production = X.productions[first_X + u]
        at = np.searchsorted(sorted_productions, production)
        while at < len(candidates) and sorted_productions[at] == production:
            v = candidates[at]
            product, d_log = 1.0, 0.0
            child_u, child_v = X.child_starts[first_X + u], Z.child_starts[first_Z + v]
            for c in range(X.child_starts[first_X + u + 1] - child_u):
                below = X.children[child_u + c], Z.children[child_v + c]
                either = 1.0 + decay * C[below]  # the child is cut off, or goes on
                product *= either
                d_log += decay * (C[below] + dC[below]) / either
            C[u, v], dC[u, v] = product, product * d_log
            total += C[u, v]
            slope += dC[u, v]
            at += 1
    return total, slope
