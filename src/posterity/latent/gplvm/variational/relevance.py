"""Relevances of latent dimensions: how much the function varies along each, at the points."""

from __future__ import annotations

import numpy as np

from posterity import kernels
from posterity.arrays import Array

_STEP = 1e-3  # of a dimension's deviation
_ROWS = 64  # at a time: only the diagonal of a block counts


def compute_relevances(kernel: kernels.Kernel, m: Array, S: Array) -> Array:
    """The variation of f along each dimension, (Q,), in units of the largest.

    The mean square of the slope that the kernel expects of f at the points, E (df/dx_q)^2, times
    the variance of their means: for an RBF, the variance in units of its squared length scale. A
    dimension that the data do not speak of has means at zero, whatever its length scale.

    Parameters
    ----------
    kernel : Kernel
    m, S : array (N, Q)
        Means and variances of the latent points.

    Examples
    --------
    >>> m = np.array([[-1.0, -1.0], [1.0, 1.0]])
    >>> compute_relevances(kernels.RBF([1.0, 10.0]), m, 0.01 * np.ones((2, 2))).round(3)
    array([1.  , 0.01])
    """
    spread = np.var(m, axis=0)
    deviations = np.sqrt(spread + np.mean(S, axis=0))
    slopes = [_mean_square_slope(kernel, m, q, _STEP * h) for q, h in enumerate(deviations)]
    varied = np.array(slopes) * spread
    largest = float(np.max(varied))
    return varied / largest if largest > 0.0 else np.zeros_like(varied)


def _mean_square_slope(kernel: kernels.Kernel, X: Array, q: int, h: float) -> float:
    """E (f(x + h) - f(x))^2 / h^2 along column q, averaged over rows; zero where none varies."""
    if h == 0.0:
        return 0.0
    shift, total = np.zeros(X.shape[1]), 0.0
    shift[q] = h
    for i in range(0, len(X), _ROWS):
        x = X[i : i + _ROWS]
        y = x + shift
        # With both sides given, what each row has for itself alone (White) does not count.
        total += np.trace(kernel(x, x)) + np.trace(kernel(y, y)) - 2.0 * np.trace(kernel(x, y))
    return max(float(total), 0.0) / (len(X) * h * h)
