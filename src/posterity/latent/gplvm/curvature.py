"""Curvature of a process in its latent points: second derivatives after Gauss and Newton.  [NW]

Where latent points move by dX, outputs are off by J dX, with J the slope of the mean. So minus the
second derivatives of log p(Y | X) are about

    H[n, q, m, p] = C^-1[n, m] sum_d J[n, q, d] J[m, p, d],    C = k(X, X) + noise.

Neighbours that move together cost little, and a point that leaves them much. A search that does
not know this goes by small steps of single points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from posterity import kernels, linalg
from posterity.arrays import Array
from posterity.process import kernel_blocks

_OUTPUTS = 16  # principal ones; those of the most slope, and each costs a pass over the kernel


class WhitenedProcess(Protocol):
    """The posterior of v = L^-1 u, the values of a process at the points that carry it."""

    @property
    def L(self) -> Array:
        """(M, M), lower factor of K_uu."""

    @property
    def L_B(self) -> Array:
        """(M, M), lower factor of the posterior precision of v."""

    @property
    def m(self) -> Array:
        """(M, D), posterior means of v."""


@dataclass(frozen=True)
class PointCurvature:
    """Derivatives of a process in its latent points.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0]])
    >>> hold = PointCurvature.from_outputs(X, X, kernels.Linear(1.0), 0.1)
    >>> H = np.zeros((2, 1, 2, 1))
    >>> hold.add_to(H, np.arange(2))
    >>> H.reshape(2, 2).round(3)
    array([[8.264, 0.   ],
           [0.   , 0.751]])
    """

    P: Array  # (N, N), C^-1
    J: Array  # (N, Q, D), slopes of the means

    @classmethod
    def from_outputs(
        cls, X: Array, Y: Array, kernel: kernels.Kernel, noise_variance: float
    ) -> PointCurvature:
        """From outputs Y (N, D) at latent points X."""
        L = linalg.cholesky_in_place(kernel_blocks.with_diagonal(kernel(X), noise_variance))
        J = _slopes(kernel.tangent(X, X), linalg.solve_cholesky(L, Y), len(X))
        return cls(linalg.inverse_from_cholesky(L), J)

    @classmethod
    def by_points(
        cls, X: Array, Z: Array, kernel: kernels.Kernel, noise_variance: float, v: WhitenedProcess
    ) -> PointCurvature:
        """From a process that points Z carry: C = K_fu K_uu^-1 K_uf + noise."""
        tangent = kernel.tangent(X, Z)
        V = linalg.solve_lower(v.L_B, linalg.solve_lower(v.L, tangent.value.T))
        P = (np.eye(len(X)) - V.T @ V / noise_variance) / noise_variance  # [GPML A.9]
        J = _slopes(tangent, linalg.solve_lower_transposed(v.L, principal_outputs(v.m)), len(X))
        return cls(P, J)

    def add_to(self, H: Array, rows: NDArray[np.intp]) -> None:
        """H (N, Q, N, Q), with this at some rows, in place."""
        Q = self.J.shape[1]
        for q in range(Q):
            for p in range(Q):
                H[rows[:, None], q, rows, p] += self.P * (self.J[:, q] @ self.J[:, p].T)

    def add_to_outputs(self, across: Array, back: Array, outputs: Array) -> None:
        """The same where outputs may move, too: they are off by what they do less J dX.

        Blocks (N, Q, N, D), (N, D, N, Q) and (N, D, N, D), in place.
        """
        for d in range(self.J.shape[2]):
            outputs[:, d, :, d] += self.P
            for q in range(self.J.shape[1]):
                tied = self.J[:, q, d, None] * self.P
                across[:, q, :, d] -= tied
                back[:, d, :, q] -= tied.T


def principal_outputs(Y: Array) -> Array:
    """The first principal components of outputs Y (N, D), which have most of the slopes."""
    U, s, _ = linalg.thin_svd(Y)
    return U[:, :_OUTPUTS] * s[:_OUTPUTS]


def _slopes(tangent: kernels.Tangent, weights: Array, n: int) -> Array:
    """d/dx of k(x, Z) w at n points, for each column w of the weights (M, D): (n, Q, D)."""
    shape = (n, len(weights))
    each = (np.ascontiguousarray(np.broadcast_to(w, shape)) for w in weights.T)
    return np.stack([tangent.inputs(G) for G in each], axis=2)
