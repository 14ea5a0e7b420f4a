"""Rows that are equal made one, so that repeating a row is the same as counting it again.

Where a search has many valleys, rounding decides between them: only equal sums in an equal order
lead to the same one.
"""

import numpy as np

from posterity.arrays import Array


def merged(X: Array, y: Array, counts: Array | None = None) -> tuple[Array, Array, Array]:
    """The different rows of (X, y) that count, sorted, and how often each does.

    Examples
    --------
    >>> X, y = np.array([[2.0], [1.0], [2.0]]), np.array([0.0, 1.0, 0.0])
    >>> merged(X, y)
    (array([[1.],
           [2.]]), array([1., 0.]), array([1., 2.]))
    """
    weights = np.ones(len(y)) if counts is None else counts
    present = np.flatnonzero(weights)
    rows = np.column_stack([X[present], y[present]])
    different, group = np.unique(rows, axis=0, return_inverse=True)
    total = np.bincount(group.reshape(-1), weights=weights[present]).astype(np.float64)
    return different[:, :-1], different[:, -1], total
