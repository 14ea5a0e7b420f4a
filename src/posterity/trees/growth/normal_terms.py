"""What the log-likelihoods of normal leaves are made of: weights, sums, and sums of squares."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array


@compilation.compile_at_first_call
def centre_nodes(
    target: Array, weights: Array, start: NDArray[np.int64]
) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
    """Rows less the mean of their node; by node, its weight, squares, and whether its rows differ.

    Sums of squares about any other centre would lose what is small beside the mean.
    """
    A, K = len(start) - 1, target.shape[1]
    Y, n, squares = np.empty_like(target), np.zeros(A), np.zeros((A, K))
    differ = np.zeros(A, dtype=np.bool_)
    for a in range(A):
        for o in range(K):
            n[a], mean = 0.0, 0.0
            for i in range(start[a], start[a + 1]):
                n[a] += weights[i]
                mean += weights[i] * target[i, o]
                differ[a] |= target[i, o] != target[start[a], o]
            mean /= n[a]
            for i in range(start[a], start[a + 1]):
                Y[i, o] = target[i, o] - mean
                squares[a, o] += weights[i] * Y[i, o] ** 2
    return Y, n, squares, differ


@compilation.compile_at_first_call
def log_likelihood(n: float, SS: float, variance: float, prior: float) -> float:
    """Return the log-likelihood of rows of weight n, up to a constant of any split.

    An infinite prior holds variances in common; an infinite variance leaves an output out.
    """
    if n <= 0.0 or variance == np.inf:
        return 0.0
    if prior == np.inf:
        return -SS / (2.0 * variance)
    v = (SS / variance + prior) / (n + prior)
    return -0.5 * (n * math.log(v) + SS / (v * variance))


@compilation.compile_at_first_call
def sides_log_likelihood(
    a: int,
    n_left: float,
    n_right: float,
    sums: Array,
    squares: Array,
    whole: Array,
    variance: Array,
    prior: float,
) -> float:
    """Log-likelihood of node a in two parts.

    The sums and squares of the left one are given, and the squares of the whole node, whose sums
    are zero.
    """
    value = 0.0
    for o in range(len(variance)):
        s2, q = sums[a, o] ** 2, squares[a, o]
        SS_left = max(q - s2 / n_left, 0.0)
        SS_right = max(whole[a, o] - q - s2 / n_right, 0.0)
        value += log_likelihood(n_left, SS_left, variance[o], prior)
        value += log_likelihood(n_right, SS_right, variance[o], prior)
    return value


@compilation.compile_at_first_call
def nodes_log_likelihood(n: Array, whole: Array, variance: Array, prior: float) -> Array:
    """Log-likelihood of each node, (A,)."""
    values = np.zeros(len(n))
    for a in range(len(n)):
        for o in range(len(variance)):
            values[a] += log_likelihood(n[a], whole[a, o], variance[o], prior)
    return values
