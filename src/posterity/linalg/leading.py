"""The largest eigenvalues of a symmetric matrix and their vectors, without all the others.

Letters: A the matrix (n, n), B an orthonormal basis (n, m) of what has been explored, C = A B,
V and d Ritz vectors and values, b how many directions are explored at once.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg as scipy_linalg

from posterity.arrays import Array
from posterity.linalg import products, symmetric, threads
from posterity.linalg.errors import NonFiniteError

_SPARE = 8  # directions beyond those asked for: they carry the slow part of the convergence
_BLOCKS = 6  # of b columns that the basis holds before it is condensed
_WORTH_ITERATING = 50  # rows for each direction; with fewer, all eigenvalues cost no more
_FEW_ROWS = 300
_RESIDUAL = 1e-10  # of the eigenvalue itself
_ROUNDING = 1e-13  # of the largest eigenvalue
_TIE = 1e-6


def leading_eigenpairs(
    A: Array, k: int, *, overwrite: bool = False, max_products: int | None = None
) -> tuple[Array, Array]:
    """d (k,) decreasing and V (n, k) with A V = V diag(d), for a symmetric A.

    By a block Krylov iteration where the matrix is large and k is small: A is only multiplied, by
    k + 8 vectors at a time, so that eigenvalues that occur several times are found as often. Where
    this does not converge, or would cost as much, by LAPACK. The largest entry of each vector is
    positive, and the same matrix gives the same vectors. [GVL 10.3.6]

    Parameters
    ----------
    A : array (n, n)
        Symmetric in full, and no eigenvalue much below zero.
    k : int
        At most n.
    overwrite : bool, default=False
        Whether the memory of A may be used.
    max_products : int, optional
        How often A is multiplied before LAPACK takes over; by default, as long as it is cheaper.

    Raises
    ------
    NonFiniteError
        When A holds NaN or infinity.

    Examples
    --------
    >>> d, V = leading_eigenpairs(np.array([[2.0, 1.0], [1.0, 2.0]]), 1)
    >>> d, V.round(4)
    (array([3.]), array([[0.7071],
           [0.7071]]))
    """
    n, b = len(A), k + _SPARE
    found = None
    if n >= _FEW_ROWS and n >= _WORTH_ITERATING * b:
        found = _iterate_krylov(A, k, n // (2 * b) if max_products is None else max_products)
    d, V = _decompose_by_lapack(A, k, overwrite) if found is None else found
    return d, V * _signs(V)


def _iterate_krylov(A: Array, k: int, max_products: int) -> tuple[Array, Array] | None:
    """The pairs by block Krylov iteration, condensed now and then; None where it was too slow."""
    b = k + _SPARE
    B = _orthonormal_basis(np.random.default_rng(0).normal(size=(len(A), b)))
    C = _multiply_checked(A, B)
    for _ in range(max_products):
        with threads.limit_threads(0):  # narrow matrices, for which threads would only wait
            V, AV, d = _ritz(B, C, b)
            R = AV - V * d
            misfit = np.sqrt(np.einsum("nk,nk->k", R[:, :k], R[:, :k]))
            if np.all(misfit <= _RESIDUAL * np.abs(d[:k]) + _ROUNDING * np.abs(d[0])):
                return d[:k], V[:, :k]
            if B.shape[1] >= _BLOCKS * b:
                B, C = V, AV
            W = _orthogonal_directions(B, R)
        B, C = np.hstack([B, W]), np.hstack([C, _multiply_checked(A, W)])
    return None


def _ritz(B: Array, C: Array, b: int) -> tuple[Array, Array, Array]:
    """V, A V and d of the b largest values that the basis knows of."""
    d, Y = symmetric.eigh(products.product(B.T, np.asfortranarray(C)))
    top = np.asfortranarray(Y[:, : -b - 1 : -1])
    return products.product(B, top), products.product(C, top), d[: -b - 1 : -1]


def _decompose_by_lapack(A: Array, k: int, overwrite: bool) -> tuple[Array, Array]:
    n = len(A)
    if 2 * k >= n:
        d, V = symmetric.eigh(A, overwrite=overwrite)
    else:
        _refuse_non_finite(A @ np.ones(n))
        d, V = scipy_linalg.eigh(
            A, subset_by_index=(n - k, n - 1), check_finite=False, overwrite_a=overwrite
        )
    return d[::-1][:k], V[:, ::-1][:, :k]


def _multiply_checked(A: Array, W: Array) -> Array:
    product = products.product(A, np.asfortranarray(W))
    _refuse_non_finite(product)
    return product


def _orthogonal_directions(B: Array, R: Array) -> Array:
    """Orthonormal directions of R outside B; twice, as the first time leaves rounding.  [NLA 19]"""
    W = _orthonormal_basis(_subtract_projection(B, R))
    return _orthonormal_basis(_subtract_projection(B, W))


def _subtract_projection(B: Array, R: Array) -> Array:
    return R - products.product(B, products.product(B.T, np.asfortranarray(R)))


def _orthonormal_basis(W: Array) -> Array:
    Q, _ = scipy_linalg.qr(W, mode="economic", check_finite=False)
    return Q


def _signs(V: Array) -> Array:
    """The sign of the first of the largest entries of each column, ties counted as equal."""
    size = np.abs(V)
    first = np.argmax(size >= (1.0 - _TIE) * size.max(axis=0), axis=0)
    return np.where(V[first, np.arange(V.shape[1])] < 0.0, -1.0, 1.0)


def _refuse_non_finite(values: Array) -> None:
    if not np.isfinite(values).all():
        raise NonFiniteError(
            "cannot decompose: some entries are NaN or infinite, or too large to be multiplied; "
            "look for overflow or missing values in what the matrix was computed from"
        )
