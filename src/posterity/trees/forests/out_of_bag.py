"""Rows as those trees see them that did not grow from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.trees.families.family import Family, Places
from posterity.trees.forests.forest import ForestPlan, GrownTrees, L, TargetKind
from posterity.trees.forests.routing import Router
from posterity.trees.structure import Trees

_MOST_ROWS = 1 << 12  # to learn two numbers from: the sharpness to two hundredths
_MOST_NUMBERS = 1 << 22
NEARLY_ALL = 0.9  # of the rows, which then speak for all


@dataclass(frozen=True, eq=False)
class OutOfBag:
    """Trees, rows, and a bit for each pair of them: whether the tree has seen the row."""

    router: Router
    rows: Any
    seen: NDArray[np.uint8]  # (T, ceil(N / 8))

    def leaves(self, places: Places) -> NDArray[np.int32]:
        """The leaves of some rows in trees that have not seen them, else -1; (T, r)."""
        return self.router.leaves(self.rows, places, unasked=unpack_columns(self.seen, places))


def unpack_columns(packed: NDArray[np.uint8], places: Places) -> NDArray[np.bool_]:
    """Some columns of bits that ``np.packbits`` has packed by rows.

    Examples
    --------
    >>> packed = np.packbits([[False] * 9 + [True]], axis=1)
    >>> unpack_columns(packed, np.array([0, 9]))
    array([[False,  True]])
    """
    shifted = packed[:, places >> 3] >> (7 - (places & 7)).astype(np.uint8)
    return (shifted & 1).astype(np.bool_)


def choose_rows(n_rows: int, width: int) -> Places:
    """Rows enough to learn two numbers from, always the same; ``width`` numbers are held of each.

    Examples
    --------
    >>> choose_rows(4, 10), len(choose_rows(1_000_000, 10)), len(choose_rows(1_000_000, 10_000))
    (array([0, 1, 2, 3], dtype=int32), 4096, 419)
    """
    most = min(_MOST_ROWS, max(_MOST_NUMBERS // width, 1))
    if n_rows <= most:
        return np.arange(n_rows, dtype=np.int32)
    chosen = np.random.default_rng(0).choice(n_rows, most, replace=False)
    return np.sort(chosen).astype(np.int32)


def rows_at_once(n_trees: int, width: int) -> int:
    """How many rows can be looked at together, where ``width`` numbers are held of each."""
    return max(_MOST_NUMBERS // max(n_trees, width), 1)


def mean_of_known(values: Array, weights: Array) -> float:
    """The weighted mean of what is known; NaN where nothing is."""
    known = ~np.isnan(values) & (weights > 0.0)
    return float(np.average(values[known], weights=weights[known])) if known.any() else np.nan


_PARTS = 10
_ENOUGH = 512  # rows held out: the sharpness is then known to a twentieth


def grow_held_out(
    family: Family,
    X: Any,
    rows: Any,
    Y: Array,
    weights: Array,
    kind: TargetKind[L, Any],
    plan: ForestPlan,
    rng: np.random.Generator,
    groups: NDArray[np.int32] | None,
) -> tuple[GrownTrees[L], Places]:
    """Trees that have each seen nine tenths of the rows, and the rows that one has not seen.

    There are ten of them, or of more than 512 rows as many as hold out 512. Where all rows are
    equal, nothing is held out.
    """
    counts = weights > 0.0
    part = _assign_parts(X, Y, groups, family.column_order())
    n_trees = min(_PARTS, -(-_PARTS * _ENOUGH // len(part)))
    seen = part != np.arange(n_trees)[:, None]
    seen |= ~np.any(seen & counts, axis=1, keepdims=True)  # no tree grows from nothing

    def grow(places: NDArray[np.intp], rng: np.random.Generator) -> tuple[Trees, L]:
        target, drawn = Y[places], weights[places]
        return plan.grow_tree(family, rows, places.astype(np.int32), target, drawn, kind, rng)

    children = zip(seen, rng.spawn(n_trees), strict=True)
    grown = [grow(np.flatnonzero(one & counts), child) for one, child in children]
    trees, leaves = zip(*grown, strict=True)
    is_new = ~seen.all(axis=0)
    unseen = np.flatnonzero(is_new | ~is_new.any()).astype(np.int32)
    return GrownTrees(Trees.join(trees), list(leaves), np.packbits(seen, axis=1)), unseen


def _assign_parts(
    X: Any, Y: Array, groups: NDArray[np.int32] | None, order: NDArray[np.int32] | None = None
) -> NDArray[np.intp]:
    """The part of each row, from 0 to 9: by group, or in turn in the order of the targets.

    Equal rows are in the same part, so that a weight of two and two equal rows are the same.

    Examples
    --------
    >>> Y = np.array([[3.0], [1.0], [3.0], [2.0], [4.0]])
    >>> _assign_parts(np.zeros((5, 1)), Y, None)
    array([2, 0, 2, 1, 3])
    """
    if groups is not None:
        return groups.astype(np.intp) % _PARTS
    keys = (*Y.T, _project_rows(X, len(Y), order))
    rank = np.lexsort(keys[::-1])
    is_new = np.any([np.diff(key[rank]) != 0.0 for key in keys], axis=0)
    part = np.empty(len(Y), dtype=np.intp)
    part[rank] = np.concatenate([[0], np.cumsum(is_new)]) % _PARTS
    return part


def _project_rows(X: Any, n: int, order: NDArray[np.int32] | None) -> Array:
    """One number for each row, equal for equal rows; zero where rows are not numbers."""
    if not isinstance(X, np.ndarray) or X.ndim != 2:
        return np.zeros(n)
    direction = np.random.default_rng(0).standard_normal(X.shape[1])
    rows = X if order is None else X[:, order]
    return np.sum(np.nan_to_num(rows) * direction, axis=1)
