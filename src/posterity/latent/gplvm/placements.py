"""Constraints on latent points: none, or that they are a smooth function of the outputs.

A search moves the weights of a placement, and the placement says what points these stand for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from posterity import kernels, linalg
from posterity.arrays import Array
from posterity.process import kernel_blocks

_RIDGE = 1e-6  # of the mean square of a feature: a start need not be exact, and may not be wild
_WHITE = 1e-6  # of the mean diagonal: rows that are nearly equal do not stand for rough functions


class Placement(Protocol):
    """Latent points X (N, Q) as a linear function of a vector of weights."""

    @property
    def size(self) -> int:
        """The number of weights."""

    def start(self, X: Array) -> Array:
        """The weights of which the points are nearest to X."""

    def points(self, weights: Array) -> Array:
        """X (N, Q)."""

    def pull_back(self, dX: Array) -> Array:
        """dL/dweights, given dL/dX."""

    @property
    def by_curvature(self) -> bool:
        """Whether a search may go by the curvature of its terms, to the next maximum."""


@dataclass(frozen=True)
class FreePlacement:
    """Every point lies where it likes: the weights are its coordinates.

    Examples
    --------
    >>> FreePlacement(2, 1).points(np.array([3.0, 4.0]))
    array([[3.],
           [4.]])
    """

    n_rows: int
    n_components: int

    @property
    def size(self) -> int:
        """The number of parameters that place the points: N Q."""
        return self.n_rows * self.n_components

    def start(self, X: Array) -> Array:
        """The coordinates of points X as one vector."""
        return X.ravel()

    def points(self, weights: Array) -> Array:
        """X (N, Q)."""
        return weights.reshape(self.n_rows, self.n_components)

    def pull_back(self, dX: Array) -> Array:
        """dL/dX, as a vector."""
        return dX.ravel()

    @property
    def by_curvature(self) -> bool:
        """Yes: points are as near to each other as the terms want them."""
        return True


@dataclass(frozen=True)
class MappedPlacement:
    """Points are linear in features of the outputs, X = B A: back constraints.  [LQC]

    Rows that look alike then lie near each other, as those of a free placement need not.

    Examples
    --------
    >>> MappedPlacement(np.array([[1.0, 0.0], [1.0, 2.0]]), 1).points(np.array([5.0, 3.0]))
    array([[ 5.],
           [11.]])
    """

    B: Array  # (N, M)
    n_components: int

    @property
    def size(self) -> int:
        """The number of parameters that place the points: M Q."""
        return self.B.shape[1] * self.n_components

    def start(self, X: Array) -> Array:
        """By least squares, with a small ridge."""
        G = self.B.T @ self.B
        ridge = _RIDGE * np.mean(np.diagonal(G))
        L = linalg.cholesky(G + ridge * np.eye(len(G)))
        return linalg.solve_cholesky(L, self.B.T @ X).ravel()

    def points(self, weights: Array) -> Array:
        """X (N, Q)."""
        return self.B @ weights.reshape(-1, self.n_components)

    def pull_back(self, dX: Array) -> Array:
        """B^T dL/dX, as a vector."""
        return (self.B.T @ dX).ravel()

    @property
    def by_curvature(self) -> bool:
        """No: from weights as they are, a search finds smooth functions first, and stays there."""
        return False


def compute_back_features(kernel: kernels.Kernel, rows: Array, Y: Array) -> Array:
    """The features (n, M + 1) of outputs Y (n, D): the kernel at M rows, and a column of ones.

    They are k(Y, rows) L^-T with L L^T = k(rows, rows): weights of length one stand for functions
    of norm one, so that a search finds smooth functions first. Parameters of the kernel that are
    not set start from the rows.

    Examples
    --------
    >>> rows = np.array([[0.0], [1.0], [4.0]])
    >>> B = compute_back_features(kernels.RBF(1.0), rows, rows)
    >>> (B[:, :-1] @ B[:, :-1].T).round(3)
    array([[1.   , 0.607, 0.   ],
           [0.607, 1.   , 0.011],
           [0.   , 0.011, 1.   ]])
    """
    started = kernel.start(rows)
    K = started(rows)
    white = np.full(len(rows), _WHITE * float(np.mean(np.diagonal(K))))
    L = linalg.cholesky(kernel_blocks.with_diagonal(K, white))
    V = linalg.solve_lower(L, kernel_blocks.fill_between(started, rows, Y))  # (M, n)
    return np.column_stack([V.T, np.ones(len(Y))])
