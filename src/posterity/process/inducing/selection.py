"""Choice of inducing points: rows whose values the others say least about."""

from __future__ import annotations

from typing import Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from posterity import kernels
from posterity.arrays import namespace

_MAX_ROWS = 20_000  # among which points are chosen: with 512 points, 80 MB


def select_greedily(
    kernel: kernels.Kernel,
    X: Any,
    n_points: int,
    *,
    tolerance: float = 1e-8,
    max_rows: int = _MAX_ROWS,
    rng: np.random.Generator | None = None,
) -> NDArray[np.intp]:
    """Rows, one after the other, each of the largest prior variance given those before it.

    That is a Cholesky factorisation of the kernel matrix with pivoting, broken off after M columns;
    no row is chosen twice, nor a copy of one. [BRW 4.1]

    Parameters
    ----------
    kernel : Kernel
    X : array (N, D), or a sequence of objects where the kernel takes those
    n_points : int
        The most to choose.
    tolerance : float, default=1e-8
        Choose no more when the variances that are left add up to this part of the prior's.
    max_rows : int, default=20000
        Of more rows than this, so many are drawn at random and the choice is made among them: time
        is O(N M^2) and memory O(N M), and a sample shows well enough where the rows lie.
    rng : Generator, optional
        Draws those rows; by default ``numpy.random.default_rng(0)``.

    Returns
    -------
    indices : array (M,)
        In the order in which they were chosen; fewer than ``n_points`` where that suffices.

    Examples
    --------
    >>> X = np.array([[0.0], [0.0], [0.1], [3.0], [1.0]])
    >>> select_greedily(kernels.RBF(1.0), X, 3)
    array([0, 3, 4])
    """
    n = len(X)
    if n <= max_rows:
        return _pivots(kernel, X, min(n_points, n), tolerance)
    generator = np.random.default_rng(0) if rng is None else rng
    drawn = np.sort(generator.choice(n, size=max(max_rows, n_points), replace=False))
    return drawn[_pivots(kernel, kernels.rows.select_rows(X, drawn), n_points, tolerance)]


def _pivots(kernel: kernels.Kernel, X: Any, n_points: int, tolerance: float) -> NDArray[np.intp]:
    """The pivots of a Cholesky factorisation, of which C are the transposed columns."""
    left = kernel.diag(X)
    xp = namespace(left)
    enough = tolerance * float(xp.sum(left))
    where = array_api_compat.device(left)
    C = xp.empty((n_points, left.shape[0]), dtype=left.dtype, device=where)
    chosen: list[int] = []
    for j in range(n_points):
        if float(xp.sum(left)) <= enough:
            break
        i = int(xp.argmax(left))
        c = kernel(X[i : i + 1], X)[0] - C[:j, i] @ C[:j]
        c /= float(left[i]) ** 0.5
        C[j] = c
        left = xp.clip(left - c * c, 0.0, None)
        left[i] = 0.0
        chosen.append(i)
    return np.array(chosen, dtype=np.intp)
