"""Orthogonal factorisation A = Q R by Householder reflections, with Q kept as reflections.

Q is never formed: it is applied to what it multiplies, which is cheaper and loses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from posterity.arrays import Array


@dataclass(frozen=True)
class HouseholderQR:
    """A = Q R for A (n x p) with n >= p.  [GVL 5.2.2]

    Examples
    --------
    >>> qr = HouseholderQR.factorize(np.array([[3.0], [4.0]]))
    >>> abs(qr.R), np.round(abs(qr.rotate(np.array([[6.0], [8.0]]))), 12)
    (array([[5.]]), array([[10.], [ 0.]]))
    """

    reflections: Array  # (n, p)  Fortran order: R above the diagonal, the reflections below
    coefficients: Array  # (p,)

    @classmethod
    def factorize(cls, A: Array, *, overwrite: bool = False) -> HouseholderQR:
        """Factorise A, in place when ``overwrite`` and A is in Fortran order."""
        if not A.size:
            return cls(np.asfortranarray(A), np.zeros(A.shape[1]))
        work_size = int(lapack.dgeqrf_lwork(*A.shape)[0])
        packed, tau, _, _ = lapack.dgeqrf(A, lwork=work_size, overwrite_a=overwrite)
        return cls(packed, tau)

    @property
    def R(self) -> Array:
        """The upper triangular factor, p x p (min(n, p) x p where A has too few rows)."""
        return np.triu(self.reflections[: self.reflections.shape[1]])

    def rotate(self, B: Array) -> Array:
        """Q^T B for B (n x k), with all n rows: the first p are those of the thin Q."""
        return self._apply(B, "T")

    def rotate_back(self, B: Array) -> Array:
        """Q B for B (n x k) in the rotated frame."""
        return self._apply(B, "N")

    def _apply(self, B: Array, transpose: str) -> Array:
        if not self.reflections.size:
            return B.copy()
        arguments = ("L", transpose, self.reflections, self.coefficients, B)
        work_size = int(lapack.dormqr(*arguments, lwork=-1)[1][0])
        product, _, _ = lapack.dormqr(*arguments, lwork=work_size)
        return product
