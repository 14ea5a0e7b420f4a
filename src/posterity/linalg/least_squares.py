"""Least squares to the last digit: orthogonal factorisation, then refinement.

The solution is as good as the numbers given: on problems whose normal equations would lose every
digit, refinement with residuals at twice the precision returns the correctly rounded solution.
The solution x and its residual r solve one linear system together,

    [ I    A ] [ r ]   [ b ]
    [ A^T  0 ] [ x ] = [ 0 ]

and are corrected together, so that the squared condition of A does not enter. [GVL 5.3.8]
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack, solve_triangular

from posterity.arrays import Array
from posterity.linalg import double_double, scaling, spectral
from posterity.linalg.householder import HouseholderQR

_EPS = float(np.finfo(np.float64).eps)
_EASY_CONDITION = 1e3
_LARGE_SIZE = 1_000_000
_MAX_ITERATIONS = 20
_SETTLED = 2.0**-60  # a smaller correction no longer decides how the solution is rounded
_SHRINKAGE = 0.5


@dataclass(frozen=True)
class LeastSquares:
    """The x that minimises |A x - b|, and how well it is determined.

    Examples
    --------
    >>> fit = least_squares(np.ones((2, 1)), np.array([1.0, 3.0]))
    >>> fit.solution, float(fit.residual_sum_of_squares)
    (array([2.]), 2.0)
    """

    solution: Array  # (p,) or (p, k)  the double nearest to what was found
    correction: Array  # (p,) or (p, k)  what rounding took from it; zero where not refined
    rank: int
    condition: float  # of A with its columns at one scale; an estimate, inf where singular
    residual_sum_of_squares: Array  # () or (k,)  inf where it is beyond the range of doubles
    n_refinements: int


def least_squares(A: Array, B: Array, *, A_error: Array | None = None) -> LeastSquares:
    """Minimise |A x - b| for every column b of B.

    Columns are brought to one scale by powers of two, A is factorised by Householder reflections,
    and the solution is refined on the augmented system until it no longer changes. [GVL 5.3.8]

    Where A, so scaled, has a condition above 1 / (eps max(n, p)) it is singular for all that
    doubles can tell. Singular values below eps max(n, p) times the largest are then cut, and of
    the x that are left equally good the one of least norm, in the units given, is returned.

    Refinement is skipped where the condition is below 1e3 and A has more than a million entries:
    there it would change only digits beyond the twelfth, at many times the cost of the
    factorisation.

    Parameters
    ----------
    A : array (n, p)
        Not modified.
    B : array (n,) or (n, k)
    A_error : array (n, p), optional
        What rounding took from the entries of A, about 1e-16 of them: the matrix meant is
        ``A + A_error``. With it, powers or centred columns behave as if they were exact.

    Examples
    --------
    >>> fit = least_squares(np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), np.array([1, 3, 5.0]))
    >>> fit.solution, fit.rank
    (array([1., 2.]), 2)
    """
    A_double, B_double = _check_shapes(A, B, A_error)
    B_columns = B_double.reshape(len(B_double), -1)
    b_scale = scaling.power_of_two_scales(scaling.column_magnitudes(B_columns))
    A_scaled, a_scale = _at_one_scale(A_double)
    columns = double_double.ScaledColumns(A_double, A_error, a_scale)
    scaled = _solve(columns, A_scaled, B_columns * b_scale)
    unscale = a_scale[:, None] / b_scale
    shape = (A_double.shape[1], *B_double.shape[1:])
    with np.errstate(over="ignore"):
        rss = scaled.residual_sum_of_squares / b_scale / b_scale
    return LeastSquares(
        (scaled.solution * unscale).reshape(shape),
        (scaled.correction * unscale).reshape(shape),
        scaled.rank,
        scaled.condition,
        rss.reshape(B_double.shape[1:]),
        scaled.n_refinements,
    )


def _check_shapes(A: Array, B: Array, A_error: Array | None) -> tuple[Array, Array]:
    """A and B in doubles, or a sentence about their shapes."""
    if A.ndim != 2 or B.ndim not in (1, 2) or len(A) != len(B):
        raise ValueError(
            f"A has shape {A.shape} and B {B.shape}: A must be a matrix and B a vector or a matrix "
            "with as many rows"
        )
    if A_error is not None and A_error.shape != A.shape:
        raise ValueError(f"A_error has shape {A_error.shape}, but A has {A.shape}")
    return np.asarray(A, dtype=np.float64), np.asarray(B, dtype=np.float64)


def _at_one_scale(A: Array) -> tuple[Array, Array]:
    """A copy of A, in Fortran order, with columns of norm within [1/2, 1), and the scales."""
    first = scaling.power_of_two_scales(scaling.column_magnitudes(A))
    A_scaled = np.multiply(A, first, order="F")
    second = scaling.power_of_two_scales(np.sqrt(np.einsum("ij,ij->j", A_scaled, A_scaled)))
    A_scaled *= second
    return A_scaled, first * second


def _solve(A: double_double.ScaledColumns, A_scaled: Array, B: Array) -> LeastSquares:
    """The solution in scaled units; the memory of A_scaled becomes that of its factorisation."""
    n, p = A_scaled.shape
    if n < p:
        return _minimum_norm(A, B)
    qr = HouseholderQR.factorize(A_scaled, overwrite=True)
    rcond = lapack.dtrcon(qr.R)[0] if p else 1.0
    if rcond <= _EPS * max(n, p):
        return _minimum_norm(A, B)
    return _full_rank(A, B, qr, 1.0 / rcond)


def _full_rank(
    A: double_double.ScaledColumns, B: Array, qr: HouseholderQR, condition: float
) -> LeastSquares:
    """R x = Q^T b, refined where there is something to gain."""
    p = A.value.shape[1]
    rotated = qr.rotate(B)
    X = solve_triangular(qr.R, rotated[:p])
    rotated[:p] = 0.0
    if X.size == 0 or (condition < _EASY_CONDITION and A.value.size > _LARGE_SIZE):
        rss = np.sum(rotated**2, axis=0)
        return LeastSquares(X, np.zeros_like(X), p, condition, rss, 0)
    refined = refine_solution(A, B, qr, X, qr.rotate_back(rotated))
    rss = np.sum(refined.R[0] ** 2, axis=0)
    return LeastSquares(*refined.X, p, condition, rss, refined.n_iter)


def _minimum_norm(columns: double_double.ScaledColumns, B: Array) -> LeastSquares:
    """The solution of least norm in unscaled units, among those that fit equally well.

    With A = U S V^T cut to its rank, x = scale * z must satisfy V^T z = S^-1 U^T b; the shortest
    such x is found by projecting on the columns of W = diag(1 / scale) V.
    """
    A = columns.value * columns.scale
    U, s, Vt = spectral.thin_svd(A)
    rank = int(np.sum(s > _EPS * max(A.shape) * np.max(s, initial=0.0)))
    C = (U[:, :rank].T @ B) / s[:rank, None]
    weights = np.min(columns.scale, initial=1.0) / columns.scale
    W = HouseholderQR.factorize(np.asfortranarray(weights[:, None] * Vt[:rank].T))
    padded = np.zeros((A.shape[1], B.shape[1]))
    padded[:rank] = solve_triangular(W.R, C, trans="T")
    X = weights[:, None] * W.rotate_back(padded)
    condition = float(s[0] / s[-1]) if s.size and s[-1] > 0 else np.inf
    rss = np.sum((B - A @ X) ** 2, axis=0)
    return LeastSquares(X, np.zeros_like(X), rank, condition, rss, 0)


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
