"""Iterative refinement of a least-squares solution, with residuals at twice the precision.

The solution x and its residual r solve one linear system together,

    [ I    A ] [ r ]   [ b ]
    [ A^T  0 ] [ x ] = [ 0 ]

and are corrected together, so that the squared condition of A does not enter. [GVL 5.3.8]
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from posterity.arrays import Array
from posterity.linalg import double_double
from posterity.linalg.householder import HouseholderQR

_MAX_ITERATIONS = 20
_SETTLED = 2.0**-60  # a smaller correction no longer decides how the solution is rounded
_SHRINKAGE = 0.5


@dataclass(frozen=True)
class RefinedSolution:
    """A solution and a residual, each the unevaluated sum of a value and its error."""

    X: tuple[Array, Array]  # (p, k)
    R: tuple[Array, Array]  # (n, k)
    n_iter: int


def refine_solution(
    A: double_double.ScaledColumns, B: Array, qr: HouseholderQR, X0: Array, R0: Array
) -> RefinedSolution:
    """Correct X0 and R0 = B - A X0 until the corrections are negligible or stop shrinking.

    Parameters
    ----------
    A : Columns (n, p)
        The matrix meant, including the rounding error of its entries.
    B : array (n, k)
    qr : HouseholderQR
        The factorisation of the rounded matrix.
    X0, R0 : array (p, k), array (n, k)
        The solution by the factorisation alone, and its residual.
    """
    state = RefinedSolution((X0, np.zeros_like(X0)), (R0, np.zeros_like(R0)), 0)
    size = np.inf
    for n_iter in range(1, _MAX_ITERATIONS + 1):
        dX, dR = _correction(A, B, qr, state)
        previous, size = size, _relative_size(dX, state.X[0])
        if size > _SHRINKAGE * min(previous, 1.0):
            break
        state = RefinedSolution(_add(state.X, dX), _add(state.R, dR), n_iter)
        if np.all(np.abs(dX) <= _SETTLED * np.abs(state.X[0])):
            break
    return state


def _correction(
    A: double_double.ScaledColumns, B: Array, qr: HouseholderQR, state: RefinedSolution
) -> tuple[Array, Array]:
    """The solution of the augmented system for the residuals of the current state."""
    p = len(state.X[0])
    difference, error = double_double.two_sum(B, -state.R[0])
    F = double_double.residual((difference, error - state.R[1]), A, state.X)
    G = -double_double.transposed_product(A, state.R)
    rotated = qr.rotate(F)
    U = solve_triangular(qr.R, G, trans="T")
    dX = solve_triangular(qr.R, rotated[:p] - U)
    rotated[:p] = U
    return dX, qr.rotate_back(rotated)


def _relative_size(dX: Array, X: Array) -> float:
    """The largest correction relative to the largest entry of its column of the solution."""
    largest = np.max(np.abs(X), axis=0)
    change = np.max(np.abs(dX), axis=0)
    return float(np.max(change / np.where(largest > 0, largest, 1.0)))


def _add(pair: tuple[Array, Array], correction: Array) -> tuple[Array, Array]:
    """The pair plus a double, as a pair whose value is the rounded sum."""
    s, e = double_double.two_sum(pair[0], correction)
    return double_double.two_sum(s, e + pair[1])
