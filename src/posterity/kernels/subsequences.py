"""The gap-weighted common subsequences of two strings, by dynamic programming, compiled."""

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array


@compilation.compile_at_first_call
def compare_pairs(
    X: NDArray[np.uint32],
    X_starts: NDArray[np.int_],
    Z: NDArray[np.uint32],
    Z_starts: NDArray[np.int_],
    length: int,
    decay: float,
    same: bool,
) -> tuple[Array, Array]:
    """Every string of X with every one of Z: the sum over pairs of equal subsequences of
    decay^gaps, and decay times its derivative; (N, M) each.

    ``X[X_starts[n] : X_starts[n + 1]]`` is string n. Where X and Z are the same strings, the
    lower half is copied from the upper.
    """
    N, M = len(X_starts) - 1, len(Z_starts) - 1
    K, dK = np.empty((N, M)), np.empty((N, M))
    for n in range(N):
        x = X[X_starts[n] : X_starts[n + 1]]
        for m in range(n if same else 0, M):
            z = Z[Z_starts[m] : Z_starts[m + 1]]
            K[n, m], dK[n, m] = _compare_pair(x, z, length, decay)
            if same:
                K[m, n], dK[m, n] = K[n, m], dK[n, m]
    return K, dK


@compilation.compile_at_first_call
def compare_with_self(
    X: NDArray[np.uint32], X_starts: NDArray[np.int_], length: int, decay: float
) -> tuple[Array, Array]:
    """Every string with itself, as in ``pairs``; (N,) each."""
    N = len(X_starts) - 1
    K, dK = np.empty(N), np.empty(N)
    for n in range(N):
        x = X[X_starts[n] : X_starts[n + 1]]
        K[n], dK[n] = _compare_pair(x, x, length, decay)
    return K, dK


@compilation.compile_at_first_call
def _compare_pair(
    x: NDArray[np.uint32], z: NDArray[np.uint32], length: int, decay: float
) -> tuple[float, float]:
    """S[p, j] sums decay^gaps over equal subsequences of length p of x[:i] and z[:j], the
    characters from their ends to i and j counted as gaps; dS is its derivative in log decay.
    """
    S, dS = np.zeros((length, len(z) + 1)), np.zeros((length, len(z) + 1))
    S[0] = 1.0
    total, slope = 0.0, 0.0
    for i in range(len(x)):
        for p in range(length - 1, -1, -1):  # downwards: S[p] is still that of x[:i]
            row, d_row = 0.0, 0.0
            for j in range(len(z)):
                d_row = decay * (d_row + row)
                row *= decay
                if x[i] == z[j]:
                    row += S[p, j]
                    d_row += dS[p, j]
                    if p == length - 1:
                        total += S[p, j]
                        slope += dS[p, j]
                if p < length - 1:
                    dS[p + 1, j + 1] = d_row + decay * (dS[p + 1, j + 1] + S[p + 1, j + 1])
                    S[p + 1, j + 1] = row + decay * S[p + 1, j + 1]
    return total, slope
