"""Orthonormal rows: their signs, rows to complete them, and the leading ones of a large matrix."""

from typing import Protocol

import numpy as np
from scipy import linalg as scipy_linalg

from posterity.arrays import Array
from posterity.linalg import spectral

_SETTLED = 1e-6
_MAX_ITERATIONS = 100


class Operator(Protocol):
    """A matrix that is seen only through what it multiplies."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    def times(self, B: Array) -> Array:
        """The product A B."""

    def transposed_times(self, C: Array) -> Array:
        """The product A^T C."""


def orient_rows(V: Array) -> Array:
    """The rows of V with signs that make the largest entry of each positive; V is overwritten.

    Among entries of equal size the first counts. Which sign a factorisation gives is arbitrary, so
    this is what makes it the same on every route.

    Examples
    --------
    >>> orient_rows(np.array([[0.6, -0.8], [0.8, 0.6]]))
    array([[-0.6,  0.8],
           [ 0.8,  0.6]])
    """
    if V.size:
        largest = V[np.arange(len(V)), np.argmax(np.abs(V), axis=1)]
        V *= np.where(largest < 0.0, -1.0, 1.0)[:, None]
    return V


def complete_rows(V: Array, n: int) -> Array:
    """V (r, p), whose rows are orthonormal, followed by n - r more that are so with them.

    These depend on the plane of the rows and not on how they lie in it, so that every route to one
    plane is completed alike.

    Examples
    --------
    >>> V = complete_rows(np.array([[0.6, 0.8]]), 2)
    >>> np.abs(V @ V.T).round(12)
    array([[1., 0.],
           [0., 1.]])
    """
    r, p = V.shape
    if r >= n:
        return V[:n]
    others = np.random.default_rng(0).standard_normal((n - r, p)).T
    for _ in range(2):  # once leaves what rounding spoils
        others = _orthonormal_columns(others - V.T @ (V @ others))
    return np.vstack([V, others.T])


def leading_axes(
    A: Operator, k: int, rng: np.random.Generator, *, tolerance: float = _SETTLED
) -> tuple[Array, Array]:
    """The k largest singular values s of A and their right vectors, as rows, by random projection.

    Subspace iteration of k + max(10, k / 2) random columns.  [HMT Alg 4.4]
    It ends when no s^2 changes by more than `tolerance` of itself, or after 100 passes, each of two
    products with A. The values never exceed the true ones; where the spectrum is flat at k, they
    lie below by some multiple of the tolerance.

    Parameters
    ----------
    A : Operator (n, p)
    k : int
        At most min(n, p).
    rng : numpy.random.Generator
    tolerance : float

    Returns
    -------
    s : array (k,)
    Vt : array (k, p)
    """
    width = min(k + max(10, k // 2), *A.shape)
    B = rng.standard_normal((A.shape[1], width))
    before = np.zeros(k)
    for _ in range(_MAX_ITERATIONS):
        Q = _orthonormal_columns(A.times(B))
        V, s, _ = spectral.thin_svd(A.transposed_times(Q))
        squares = s[:k] ** 2
        if np.all(squares - before <= tolerance * squares):
            break
        B, before = V, squares
    return s[:k], np.ascontiguousarray(V[:, :k].T)


def _orthonormal_columns(A: Array) -> Array:
    """Orthonormal columns that span those of A."""
    Q, _ = scipy_linalg.qr(A, mode="economic", overwrite_a=True, check_finite=False)
    return Q
