"""Rows as inference sees them: equal ones counted once, some held out.

Where a search has many valleys, rounding decides between them: only equal sums in an equal order
lead to the same one. So rows that are equal are made one, and repeating a row is counting it again.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.likelihoods import exposed_counts
from posterity.row_groups import RowGroups

_DRAWABLE = 1e9  # the most repetitions that NumPy draws from without replacement


def merge_equal_rows(X: Array, y: Array, counts: Array | None = None) -> tuple[Array, Array, Array]:
    """The different rows of (X, y) that count, sorted, and how often each does.

    Examples
    --------
    >>> X, y = np.array([[2.0], [1.0], [2.0]]), np.array([0.0, 1.0, 0.0])
    >>> merge_equal_rows(X, y)
    (array([[1.],
           [2.]]), array([1., 0.]), array([1., 2.]))
    """
    weights = np.ones(len(y)) if counts is None else counts
    present = np.flatnonzero(weights)
    rows = np.column_stack([X[present], exposed_counts.as_columns(y[present])])
    groups = RowGroups.of_equal(rows)
    different = rows[groups.first][:, : X.shape[1]]
    return different, y[present][groups.first], groups.count(weights[present])


def merge_and_sort(
    X: Array, y: Array, counts: Array | None = None
) -> tuple[Array, Array, Array, NDArray[np.intp]]:
    """The different rows that count, sorted by columns in an order of their own, and that order.

    Draws that go by the places of rows are then the same for any order of rows and of columns.

    Examples
    --------
    >>> X, y = np.array([[2.0, 10.0], [1.0, 20.0], [9.0, 30.0]]), np.zeros(3)
    >>> rows, _, _, order = merge_and_sort(X, y)
    >>> others, _, _, other_order = merge_and_sort(X[:, ::-1], y)
    >>> order, other_order, bool(np.all(rows == others[:, ::-1]))
    (array([0, 1]), array([1, 0]), True)
    """
    rows, targets, times = merge_equal_rows(X, y, counts)
    order = sort_columns(rows, exposed_counts.separate(targets, 0.0)[0])
    rows, targets, times = merge_equal_rows(rows[:, order], targets, times)
    return rows[:, np.argsort(order)], targets, times, order


def sort_columns(X: Array, y: Array) -> NDArray[np.intp]:
    """The columns (D,) in the order of their values, whatever their units and where they stand.

    Columns that have the same values in other rows are sorted by the targets beside them.

    Examples
    --------
    >>> X = np.array([[3.0, 10.0], [1.0, 20.0], [2.0, 90.0]])
    >>> sort_columns(X, np.zeros(3)), sort_columns(X[:, ::-1], np.zeros(3))
    (array([1, 0]), array([0, 1]))
    """
    if not len(X):
        return np.arange(X.shape[1])
    # The range may be beyond all numbers; NaN is left out.
    low, high = np.fmin.reduce(X) / 2.0, np.fmax.reduce(X) / 2.0
    U = (X / 2.0 - low) / np.where(high > low, high - low, 1.0)
    beside_targets = [u[np.lexsort((u, y))] for u in U.T]
    keys = np.vstack([np.sort(U, axis=0), np.transpose(beside_targets)])
    return np.lexsort(keys[::-1])


def draw_held_out_rows(
    groups: Array, fraction: float, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Draw rows that take no part: that fraction of each group, at least one, never all.

    Examples
    --------
    >>> groups = np.array([0.0, 0.0, 0.0, 0.0, 1.0])
    >>> held = draw_held_out_rows(groups, 0.5, np.random.default_rng(0))
    >>> int(held.sum()), bool(held[4])
    (2, False)
    """
    held = np.zeros(len(groups), dtype=bool)
    for group in _number_by_appearance(groups):
        own = np.flatnonzero(groups == group)
        n = min(max(round(fraction * len(own)), 1), len(own) - 1)
        held[rng.permutation(own)[:n]] = True
    _require_held_out(held, fraction)
    return held


def draw_folds(groups: Array, fraction: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """The fold of each row, from 0; -1 of a row without peers in its group.

    Each fold has that fraction of the rows, at most half, and its share of every group.

    Examples
    --------
    >>> draw_folds(np.array([0.0, 0.0, 0.0, 1.0]), 0.5, np.random.default_rng(0))
    array([ 1,  0,  0, -1])
    """
    folds, n_folds = np.full(len(groups), -1), min(max(2, round(1.0 / fraction)), len(groups))
    taken = 0
    for group in _number_by_appearance(groups):
        own = np.flatnonzero(groups == group)
        if len(own) > 1:
            folds[rng.permutation(own)] = (taken + np.arange(len(own))) % n_folds
            taken += len(own)
    _require_held_out(folds >= 0, fraction)
    return folds


def _require_held_out(held: NDArray[np.bool_], fraction: float) -> None:
    if not held.any():
        raise ValueError(
            f"validation_fraction={fraction:g} holds out rows, but no class has two different rows "
            f"among the {len(held)}: set validation_fraction=None."
        )


def draw_held_out_counts(
    y: Array, times: Array, fraction: float, *, rng: np.random.Generator
) -> Array:
    """Draw how often each row counts in a random part, the same share of every class.

    Where counts are whole numbers this draws from the repeated rows, so that a row may be in both
    parts; otherwise it draws rows. At least one row of each class is left.

    Examples
    --------
    >>> y, times = np.array([0.0, 0.0, 1.0]), np.array([3.0, 1.0, 6.0])
    >>> held = draw_held_out_counts(y, times, 0.5, rng=np.random.default_rng(0))
    >>> held[:2].sum(), held[2]
    (np.float64(2.0), np.float64(3.0))
    """
    whole = bool(np.all(times == np.floor(times))) and float(np.sum(times)) < _DRAWABLE
    units = times if whole else np.ones_like(times)
    drawn = np.zeros_like(times)
    for label in _number_by_appearance(y):
        own = np.flatnonzero(y == label)
        n = int(np.sum(units[own]))
        wanted = min(max(round(fraction * n), 1), n - 1)
        drawn[own] = rng.multivariate_hypergeometric(units[own].astype(np.int64), wanted)
    if not drawn.any():
        raise ValueError(
            "No row can be held out to choose the depth by: each class has one row only. "
            "Give a depth."
        )
    return drawn * (times / units)


def _number_by_appearance(groups: Array) -> Array:
    """Each group once, by its first row, so that draws do not depend on the names of groups."""
    values, first = np.unique(groups, return_index=True)
    return values[np.argsort(first)]
