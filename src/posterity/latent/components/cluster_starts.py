"""Where to start clusters in the feature space of a kernel: by eigenvectors, or rows far apart."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.linalg import indicators, leading


def start_from_eigenvectors(K: Array, n_clusters: int) -> NDArray[np.intp]:
    """The clusters nearest to the solution of the problem without its whole numbers.

    Indicators of clusters of the least inertia span nearly the leading eigenvectors of the centred
    K and the constant vector. [DGK]

    Parameters
    ----------
    K : array (N, N)
        Of centred features.
    n_clusters : int
        At most N.

    Examples
    --------
    >>> X = np.array([[-6.0], [-5.0], [5.0], [6.0]])
    >>> labels = start_from_eigenvectors(X @ X.T, 2)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """
    _, V = leading.leading_eigenpairs(K, n_clusters - 1)
    constant = np.full(len(K), 1.0 / math.sqrt(len(K)))
    return indicators.find_row_groups(np.column_stack([constant, V]))


def start_from_rows(
    K: Array, w: Array, n_clusters: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Clusters about rows drawn with probability proportional to their distance from earlier ones.

    Of a few rows drawn each time, the one is taken that leaves the least inertia (k-means++). There
    are fewer clusters where fewer rows differ.

    Examples
    --------
    >>> X = np.array([[-6.0], [-5.0], [5.0], [6.0]])
    >>> labels = start_from_rows(X @ X.T, np.ones(4), 2, np.random.default_rng(0))
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """
    n_draws = 2 + int(math.log(n_clusters))
    labels = np.zeros(len(w), dtype=np.intp)
    left = _distances_from(K, rng.choice(len(w), size=1, p=w / w.sum()))[0]
    for c in range(1, n_clusters):
        share = w * left
        if not share.sum() > 0.0:
            break
        drawn = rng.choice(len(w), size=n_draws, p=share / share.sum())
        nearer = np.minimum(_distances_from(K, drawn), left)
        best = int(np.argmin(nearer @ w))
        labels[nearer[best] < left] = c
        left = nearer[best]
    return labels


def _distances_from(K: Array, some: NDArray[np.intp]) -> Array:
    """Squared distances (m, N) of all rows from some."""
    diagonal = np.diagonal(K)
    R = np.maximum(diagonal + diagonal[some][:, None] - 2.0 * K[some], 0.0)
    R[np.arange(len(some)), some] = 0.0
    return R
