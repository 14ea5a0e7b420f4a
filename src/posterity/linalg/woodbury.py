"""A diagonal plus a matrix of low rank, factorised at the cost of the low rank.  [P8 8.13]

With A = D + U U^T (N x N, U is N x M) every question costs N M^2 once and N M after. Solutions are
written as residuals of a ridge regression, so that the quadratic form is a sum of squares and
cannot turn negative.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posterity.arrays import Array
from posterity.linalg import solves, triangular


@dataclass(frozen=True)
class DiagonalPlusLowRank:
    """A = D^1/2 (I + W W^T) D^1/2 with W = D^-1/2 U, held as what solving needs.

    Build it with :meth:`of`.

    Examples
    --------
    >>> A = DiagonalPlusLowRank.of(np.array([1.0, 2.0]), np.array([[1.0], [2.0]]))
    >>> A.solve(np.array([4.0, 8.0]))
    array([1., 1.])
    >>> round(float(np.exp(A.log_determinant())), 12)
    8.0
    """

    sqrt_d: Array  # (N,)
    W: Array  # (N, M)
    R: Array  # (M, M)  upper triangular, R^T R = I + W^T W

    @classmethod
    def of(cls, d: Array, U: Array) -> DiagonalPlusLowRank:
        """Factorise diag(d) + U U^T, d positive (N,), U (N x M)."""
        bad = np.flatnonzero(~(d > 0))
        if bad.size:
            raise ValueError(
                f"{bad.size} of {d.size} diagonal entries are not positive, the first is entry "
                f"{bad[0]} with {d[bad[0]]}; every row needs a positive variance of its own"
            )
        sqrt_d = np.sqrt(d)
        W = U / sqrt_d[:, None]
        R = triangular.merge_factors(triangular.triangular_factor(W), np.eye(U.shape[1]))
        return cls(sqrt_d, W, R)

    def solve(self, B: Array) -> Array:
        """A^-1 B for a vector or a matrix B."""
        C = (B.T / self.sqrt_d).T
        return ((C - self.W @ self._weights(C)).T / self.sqrt_d).T

    def quadratic_form(self, B: Array) -> Array:
        """b^T A^-1 b for every column b of B."""
        C = (B.T / self.sqrt_d).T
        weights = self._weights(C)
        return np.sum((C - self.W @ weights) ** 2, axis=0) + np.sum(weights**2, axis=0)

    def log_determinant(self) -> float:
        """log |A|."""
        return float(2.0 * (np.sum(np.log(self.sqrt_d)) + np.sum(np.log(np.diagonal(self.R)))))

    def _weights(self, C: Array) -> Array:
        """(I + W^T W)^-1 W^T C, the ridge regression of C on W."""
        return solves.solve_upper(self.R, solves.solve_upper_transposed(self.R, self.W.T @ C))
