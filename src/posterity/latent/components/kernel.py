"""Principal components of rows in the feature space of a kernel, by the eigenvectors of K.  [SSM]

A component is a direction v = sum_i a_i phi(x_i) of length one, of which only the weights a are
ever seen. Features are centred by their mean over the training rows, which is done to K [SSM]; as
the weights of a component sum to zero, new rows need no more than an offset.

Letters: K (N, N) the kernel matrix, V diag(d) V^T what centring leaves of it, A (N, k) the weights
of the training rows in components, T (n, k) scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import array_api_compat
import numpy as np

from posterity import arrays, kernels, linalg
from posterity.arrays import Array
from posterity.linalg import leading
from posterity.process import kernel_blocks

_BLOCK_VALUES = 1 << 21  # rows meet the training rows 16 MiB at a time
_ASYMMETRY = 1e-8  # of the largest entry: half the digits of a double
_NULL = 1e-12  # of the largest eigenvalue: below, rounding
_ROUNDINGS = 4  # of an entry of a kernel matrix, which is a sum or a power of one
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class KernelComponents:
    """The leading components of N training rows, by decreasing variance."""

    A: Array  # (N, k)  weights of the training rows in each component; columns sum to zero
    scores: Array  # (N, k)  of the training rows
    variances: Array  # (k,)  of the scores over the training rows, by N - 1; positive
    total_variance: float  # of the features, all components together, by N - 1
    means: Array  # (N,)  mean over the training rows of k(., x_i)
    grand_mean: float

    def project(self, K: Array) -> Array:
        """Scores (n, k) of rows with kernel values K (n, N) to the training rows."""
        return K @ self.A - self.means @ self.A

    def squared_misfit(self, K: Array, diagonal: Array) -> Array:
        """Squared distance (n,) in feature space between rows and what the components keep."""
        T = self.project(K)
        size = diagonal - 2.0 * K.mean(axis=1) + self.grand_mean
        left = size - np.einsum("nk,nk->n", T, T)
        return linalg.nonnegative(left, np.abs(diagonal) + abs(self.grand_mean))

    def expansion(self, T: Array) -> Array:
        """G (n, N): the points with scores T are sum_i G_ni phi(x_i); rows sum to one."""
        return T @ self.A.T + 1.0 / len(self.A)


def fill_kernel_matrix(kernel: kernels.Kernel, X: Any) -> Array:
    """k(X, X), (N, N), in memory of its own, filled block by block where rows are vectors.

    Raises
    ------
    ValueError
        Where it is not symmetric, or not finite.

    Examples
    --------
    >>> fill_kernel_matrix(kernels.Linear(1.0), np.array([[1.0], [2.0]]))
    array([[1., 2.],
           [2., 4.]])
    """
    n = kernels.rows.count_rows(X)
    if array_api_compat.is_numpy_array(X):
        K = np.empty((n, n))
        kernel_blocks.fill(K, kernel, X, np.zeros(n), above_too=True)
    else:
        K = np.require(arrays.to_numpy(kernel(X)), np.float64, ("C", "W"))
    _check_kernel_matrix(K, kernel)
    return K


def iterate_cross_blocks(kernel: kernels.Kernel, X: Any, Z: Any) -> Iterator[tuple[slice, Array]]:
    """Places of some rows of X at a time, and their kernel values to Z."""
    step = max(1, _BLOCK_VALUES // max(1, kernels.rows.count_rows(Z)))
    n = kernels.rows.count_rows(X)
    for start in range(0, n, step):
        some = slice(start, min(start + step, n))
        yield some, arrays.to_numpy(kernel(kernels.rows.slice_rows(X, some.start, some.stop), Z))


def center_kernel(K: Array, w: Array | None = None) -> tuple[Array, float]:
    """Make K that of features less their mean, in its own memory; what it takes of new rows.

    Parameters
    ----------
    K : array (N, N)
        Symmetric in full; overwritten.
    w : array (N,), optional
        How often each row counts in the mean.

    Returns
    -------
    means : array (N,)
        Of k(., x_i) over the training rows.
    grand_mean : float
        Of k over all pairs of them.

    Examples
    --------
    >>> K = np.outer([1.0, 3.0], [1.0, 3.0])
    >>> center_kernel(K), K
    ((array([2., 6.]), 4.0), array([[ 1., -1.],
           [-1.,  1.]]))
    """
    share = np.full(len(K), 1.0 / len(K)) if w is None else w / w.sum()
    means = share @ K
    grand_mean = float(share @ means)
    step = max(1, _BLOCK_VALUES // len(K))
    for start in range(0, len(K), step):
        K[start : start + step] -= np.add.outer(means[start : start + step] - grand_mean, means)
    return means, grand_mean


def decompose_kernel(K: Array, n_components: int | float | None = None) -> KernelComponents:
    """The leading components, from a kernel matrix that is overwritten.

    Parameters
    ----------
    K : array (N, N)
        Symmetric in full.
    n_components : int, float or None
        The most components; between 0 and 1 as many as explain this share of the variance; None
        all. Directions in which the rows do not vary, to rounding, are never among them.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [5.0]])
    >>> found = decompose_kernel(X @ X.T)
    >>> found.scores.round(6), found.variances.round(6)
    (array([[-2.],
           [-1.],
           [ 3.]]), array([7.]))
    """
    n = len(K)
    floor = n * _ROUNDINGS * _EPS * float(np.abs(np.diagonal(K)).max())
    means, grand_mean = center_kernel(K)
    total = float(np.trace(K))
    most = min(n, n_components) if isinstance(n_components, int) else n
    d, V = leading.leading_eigenpairs(K, most, overwrite=True)
    real = d[d > max(floor, _NULL * d[0])]
    if not len(real):
        raise ValueError(
            f"The {n} rows are all the same to the kernel, to rounding: they do not vary in any "
            "direction. Pass rows that differ, or a kernel that tells them apart; of rows "
            "far from the origin, subtract their mean first."
        )
    k = _count_enough(real / total, n_components) if isinstance(n_components, float) else len(real)
    roots = np.sqrt(d[:k])
    centred = V[:, :k] - V[:, :k].mean(axis=0)  # rounding: the constant vector has eigenvalue zero
    return KernelComponents(
        np.ascontiguousarray(centred / roots),  # so that each direction has length one  [SSM]
        np.ascontiguousarray(centred * roots),
        d[:k] / (n - 1),
        total / (n - 1),
        means,
        grand_mean,
    )


def _count_enough(shares: Array, asked: float) -> int:
    """The number of components that explain the share of the variance that is asked for."""
    return min(len(shares), int(np.searchsorted(np.cumsum(shares), asked)) + 1)


def _check_kernel_matrix(K: Array, kernel: kernels.Kernel) -> None:
    """Refuse what no kernel gives, by two products without a copy."""
    v = np.cos(np.arange(len(K)))
    forwards, backwards = K @ v, v @ K
    if not (np.isfinite(forwards).all() and np.isfinite(backwards).all()):
        raise ValueError(
            f"{kernel} is not finite for some of these rows. Scale the columns, or use a kernel "
            "that grows less."
        )
    size = max(K.max(), -K.min())
    if np.abs(forwards - backwards).max() > _ASYMMETRY * size * len(K) ** 0.5:
        raise ValueError(
            f"The matrix of {kernel} is not symmetric: k(x, z) and k(z, x) differ. Use a kernel "
            "that treats its two arguments alike."
        )
