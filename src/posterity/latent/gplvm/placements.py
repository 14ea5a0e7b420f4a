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


_ROUNDS = 50  # of filling missing values in; each is one small decomposition
_SETTLED = 1e-4  # relative change of what was filled in
_NULL = 1e-8  # singular values below this share of the largest say nothing
_FAINT = 1e-2  # standard deviation of dimensions that no component is left for
_SPREAD = 0.3  # of restarts, in standard deviations of the latent points


@dataclass(frozen=True)
class PrincipalStart:
    """Scores on the first components, each of variance one, and how much each explains."""

    X: Array  # (N, Q)
    deviations: Array  # (Q,), of the scores before they were scaled; 0 past the rank

    def draw_near(self, rng: np.random.Generator) -> Array:
        """Another start: the points moved about at random."""
        return self.X + _SPREAD * rng.standard_normal(self.X.shape)


def find_principal_start(Y: Array, n_components: int, rng: np.random.Generator) -> PrincipalStart:
    """From outputs Y (N, D) about zero; NaN where one is missing.

    Dimensions past the rank of Y get faint noise, for they are not to be all alike.

    Examples
    --------
    >>> Y = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> start = find_principal_start(Y, 2, np.random.default_rng(0))
    >>> np.abs(start.X).round(3).tolist()
    [[1.414, 0.0], [1.414, 0.0], [0.0, 1.414], [0.0, 1.414]]
    """
    U, s, _ = linalg.thin_svd(fill_missing_outputs(Y, n_components))
    n, k = len(Y), min(n_components, len(s))
    rank = int(np.sum(s[:k] > _NULL * max(float(s[0]), np.finfo(np.float64).tiny)))
    X = _FAINT * rng.standard_normal((n, n_components))
    X[:, :rank] = np.sqrt(n) * U[:, :rank] * _orient_signs(U[:, :rank])
    deviations = np.zeros(n_components)
    deviations[:rank] = s[:rank] / np.sqrt(n)
    return PrincipalStart(X, deviations)


def fill_missing_outputs(Y: Array, n_components: int) -> Array:
    """Y with its missing values filled in by components of the others.

    Again and again until they settle; by twice as many as are wanted, for a surface that bends has
    more.

    Examples
    --------
    >>> Y = np.array([[-1.0, -2.0], [1.0, 2.0], [-3.0, np.nan], [3.0, 6.0]])
    >>> fill_missing_outputs(Y, 1)[2].round(1)
    array([-3., -6.])
    """
    return fill_by_components(Y, max(1, min(2 * n_components, *(n - 1 for n in Y.shape))))


def fill_by_components(Y: Array, n_components: int) -> Array:
    """Y with its missing values at what ``n_components`` components make of the others."""
    missing = np.isnan(Y)
    if not missing.any():
        return Y
    whole = np.where(missing, 0.0, Y)
    for _ in range(_ROUNDS):
        U, s, Vt = linalg.thin_svd(whole)
        k = min(n_components, len(s))
        guess = np.where(missing, (U[:, :k] * s[:k]) @ Vt[:k], Y)
        change = float(np.max(np.abs(guess - whole)))
        whole = guess
        if change <= _SETTLED * float(np.max(np.abs(whole))):
            break
    return whole


def _orient_signs(U: Array) -> Array:
    """Signs that make the largest entry of each column positive."""
    largest = U[np.argmax(np.abs(U), axis=0), np.arange(U.shape[1])]
    return np.where(largest < 0.0, -1.0, 1.0)
