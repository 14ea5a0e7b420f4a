"""Symmetric matrices: their eigenvectors, one reflection of both sides, and inverse factors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import linalg as scipy_linalg
from scipy.linalg import lapack

from posterity.arrays import Array
from posterity.linalg.errors import NonFiniteError

_BLOCK_VALUES = 1 << 16  # a matrix is updated half a megabyte at a time, which stays in cache


def eigh(A: Array, *, overwrite: bool = False) -> tuple[Array, Array]:
    """d, V with A = V diag(d) V^T, d increasing, for a symmetric A.

    Parameters
    ----------
    A : array (n, n)
        Only its lower triangle is read.
    overwrite : bool
        Use the memory of A for V.

    Raises
    ------
    NonFiniteError
        When A holds NaN or infinity.

    Examples
    --------
    >>> d, V = eigh(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> d
    array([1., 3.])
    """
    if not A.size:
        return np.zeros(0), np.zeros((0, 0))
    with np.errstate(over="ignore", invalid="ignore"):
        total = A.sum()  # finite only where every entry is
    if not np.isfinite(total) and not np.isfinite(A).all():
        raise NonFiniteError(
            f"cannot decompose: some of the {A.shape[0]} x {A.shape[1]} entries are NaN or "
            "infinite; look for overflow or missing values in what the matrix was computed from"
        )
    d, V = scipy_linalg.eigh(A, driver="evd", check_finite=False, overwrite_a=overwrite)
    return d, V


def inverse_factor(L: Array) -> Array:
    """L^-1 for L lower triangular, at a third of the cost of solving for the identity.

    The squares of its columns add up to the diagonal of the inverse of L L^T.

    Examples
    --------
    >>> inverse_factor(np.array([[2.0, 0.0], [1.0, 4.0]]))
    array([[ 0.5  ,  0.   ],
           [-0.125,  0.25 ]])
    """
    if not L.size:
        return L.copy()
    in_order, lower = (L, 1) if L.flags.f_contiguous else (L.T, 0)
    inverse, _ = lapack.dtrtri(in_order, lower=lower)
    return inverse if lower else inverse.T


@dataclass(frozen=True)
class Reflection:
    """H = I - v v^T, symmetric and orthogonal, which swaps one direction with an axis.

    Examples
    --------
    >>> H = Reflection.to_first_axis(np.array([3.0, 4.0]))
    >>> H.apply(np.array([[3.0], [4.0]])).round(12)
    array([[-5.],
           [ 0.]])
    """

    v: Array  # (n,)  of length sqrt(2)

    @classmethod
    def to_first_axis(cls, q: Array) -> Reflection:
        """The reflection that sends q, not zero, to -|q| sign(q[0]) along the first axis."""
        u = q / np.linalg.norm(q)
        u[0] += np.copysign(1.0, u[0])  # adds, so nothing cancels  [GVL 5.1.1]
        return cls(u * (np.sqrt(2.0) / np.linalg.norm(u)))

    def apply(self, B: Array) -> Array:
        """H B for B (n, k) or (n,), in new memory."""
        return B - np.multiply.outer(self.v, self.v @ B)

    def apply_from_right(self, B: Array) -> None:
        """Overwrite B (k, n) with B H."""
        Bv = B @ self.v
        for block in _row_blocks(B):
            B[block] -= np.multiply.outer(Bv[block], self.v)

    def apply_to_both_sides(self, A: Array) -> None:
        """Overwrite a symmetric A with H A H, which stays symmetric to the last bit."""
        Av = A @ self.v
        p = Av - 0.5 * (self.v @ Av) * self.v
        for block in _row_blocks(A):
            A[block] -= np.multiply.outer(self.v[block], p) + np.multiply.outer(p[block], self.v)


def _row_blocks(A: Array) -> Iterator[slice]:
    """Slices of rows that fit in cache."""
    n_rows = max(1, _BLOCK_VALUES // max(1, A.shape[1]))
    return (slice(i, i + n_rows) for i in range(0, len(A), n_rows))
