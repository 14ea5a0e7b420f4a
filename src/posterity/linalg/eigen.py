"""Small symmetric matrices: factors of many at once, and eigenvalues of tridiagonal ones."""

import numpy as np
from scipy import linalg as scipy_linalg

from posterity.arrays import Array

_EQUAL = 1e-6  # entries that differ by less of their size are equally large


def semidefinite_factors(A: Array) -> Array:
    """F (..., M, M) with F F^T = A, by decreasing column norm, of semidefinite A (..., M, M).

    Eigenvalues that rounding made negative count as zero. The first of the largest entries of a
    column is positive, so that columns of different lengths are the same by all LAPACKs.

    Examples
    --------
    >>> F = semidefinite_factors(np.array([[1.0, 2.0], [2.0, 4.0]]))
    >>> F[:, 0].round(12), float(np.linalg.norm(F[:, 1]).round(6))
    (array([1., 2.]), 0.0)
    """
    lam, V = np.linalg.eigh(A)
    roots = np.sqrt(np.maximum(lam, 0.0))[..., None, :]
    return (V * np.copysign(roots, _leading_entries(V)))[..., ::-1]


def _leading_entries(V: Array) -> Array:
    """The first of the largest entries of each column, (..., 1, M); rounding parts no equals."""
    size = np.abs(V)
    largest = np.max(size, axis=-2, keepdims=True, initial=0.0)
    places = np.argmax(size >= (1.0 - _EQUAL) * largest, axis=-2)[..., None, :]
    return np.take_along_axis(V, places, axis=-2)


def invert_precisions(precisions: Array, least: Array) -> tuple[Array, Array]:
    """A^-1 (..., M, M) and log |A| (...) of symmetric A, eigenvalues below ``least`` (...) raised.

    For curvatures that should be no less than what was known before, but are approximate, or of
    a function that is not convex there: no variance is negative, nor above 1 / ``least``.

    Examples
    --------
    >>> covariance, log_determinant = invert_precisions(np.diag([4.0, -2.0]), np.array(1.0))
    >>> covariance, float(log_determinant.round(4))
    (array([[0.25, 0.  ], [0.  , 1.  ]]), 1.3863)
    """
    lam, V = np.linalg.eigh(precisions)
    raised = np.maximum(lam, np.asarray(least)[..., None])
    return (V / raised[..., None, :]) @ np.swapaxes(V, -2, -1), np.sum(np.log(raised), axis=-1)


def lower_factors(A: Array) -> Array:
    """L (..., M, M), lower triangular, with L L^T = A to 1e-12 of its trace, of semidefinite A.

    It follows A smoothly, as eigenvectors do not where eigenvalues meet.

    Examples
    --------
    >>> L = lower_factors(np.array([[4.0, 2.0], [2.0, 5.0]]))
    >>> L.round(6)
    array([[2., 0.],
           [1., 2.]])
    """
    M = A.shape[-1]
    size = np.trace(A, axis1=-2, axis2=-1) + float(np.finfo(np.float64).tiny)
    return np.linalg.cholesky(A + (1e-12 * size)[..., None, None] * np.eye(M))


def gauss_rule(off_diagonal: Array) -> tuple[Array, Array]:
    """Nodes and weights of Gauss's rule for a symmetric density, from its orthogonal polynomials.

    Parameters
    ----------
    off_diagonal : array (n - 1,)
        b_k of the recurrence x p_k = b_(k+1) p_(k+1) + b_k p_(k-1) of the orthonormal polynomials.

    Examples
    --------
    >>> nodes, weights = gauss_rule(np.sqrt(np.arange(1.0, 3.0)))  # of the standard normal
    >>> nodes.round(6), weights.round(6)
    (array([-1.732051, 0. , 1.732051]), array([0.166667, 0.666667, 0.166667]))
    """
    diagonal = np.zeros(off_diagonal.size + 1)
    nodes, V = scipy_linalg.eigh_tridiagonal(diagonal, off_diagonal)  # [GVL 10.1.6]
    symmetric_nodes = 0.5 * (nodes - nodes[::-1])
    return symmetric_nodes, 0.5 * (V[0] ** 2 + V[0, ::-1] ** 2)


def gauss_rule_of_points(points: Array, weights: Array, n_nodes: int) -> tuple[Array, Array]:
    """Nodes and weights of Gauss's rule for a measure of many points.

    Sums of polynomials of degree up to 2 n - 1 over n nodes equal those over all points. The
    weights of the nodes sum to one.

    Parameters
    ----------
    points, weights : array (m,)
        Distinct points, more than ``n_nodes`` of them, and weights that need not sum to one.
    n_nodes : int
        n.

    Examples
    --------
    >>> nodes, weights = gauss_rule_of_points(np.linspace(-1.0, 1.0, 2001), np.ones(2001), 3)
    >>> nodes.round(2), weights.round(3)  # Gauss-Legendre
    (array([-0.77,  0.  ,  0.77]), array([0.278, 0.444, 0.278]))
    """
    p = weights / np.sum(weights)
    mean = p @ points
    unit = np.sqrt(p @ (points - mean) ** 2)
    x, Q = (points - mean) / unit, np.empty((n_nodes, len(points)))
    diagonal, off_diagonal = np.empty(n_nodes), np.empty(n_nodes)
    q = np.sqrt(p)
    for k in range(n_nodes):  # Lanczos's iteration, orthogonalised twice  [GVL 10.1.1]
        Q[k] = q
        v = x * q
        diagonal[k] = q @ v
        for _ in range(2):
            v -= (Q[: k + 1] @ v) @ Q[: k + 1]
        off_diagonal[k] = np.sqrt(v @ v)
        q = v / off_diagonal[k]
    nodes, V = scipy_linalg.eigh_tridiagonal(diagonal, off_diagonal[:-1])
    return mean + unit * nodes, V[0] ** 2
