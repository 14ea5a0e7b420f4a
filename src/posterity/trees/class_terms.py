"""n log n, of which log-likelihoods of classes are made."""

from __future__ import annotations

import math

import numba
import numpy as np

from posterity.arrays import Array

_LONGEST = 1 << 16  # what stays near the processor


def table(weights: Array) -> Array:
    """n log n of the whole numbers that sums of weights can be; empty where they are not whole."""
    if not np.array_equal(weights, np.rint(weights)):
        return np.empty(0)
    n = np.arange(min(float(weights.sum()) + 1.0, _LONGEST), dtype=np.float64)
    n[1:] *= np.log(n[1:])
    return n


@numba.njit(cache=True, nogil=True, error_model="numpy")
def n_log_n(n: float, table: Array) -> float:
    """Looked up where it can be."""
    if n < len(table):
        return table[int(n)]
    return n * math.log(n) if n > 0.0 else 0.0
