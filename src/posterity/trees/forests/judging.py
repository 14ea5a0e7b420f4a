"""Forests whose trees have grown, finished by a sample of rows that some trees have not seen.

What serves forests on rows that are not in memory together: leaves know the rows of their trees,
and may know all others too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.trees.families.family import Family
from posterity.trees.forests import (
    class_forest,
    class_tuning,
    normal_forest,
    normal_tuning,
    out_of_bag,
)
from posterity.trees.forests.class_forest import ClassForest, FittedClasses
from posterity.trees.forests.class_leaves import ClassLeaves
from posterity.trees.forests.class_tuning import LeafCounts, UnseenRows
from posterity.trees.forests.forest import Forest, ForestPlan, L
from posterity.trees.forests.normal_forest import FittedNormals, NormalForest
from posterity.trees.forests.normal_leaves import NormalLeaves
from posterity.trees.forests.normal_tuning import TreePredictions
from posterity.trees.structure import Trees


@dataclass(frozen=True, eq=False)
class OutOfBagRows:
    """Some rows, and a bit for each tree and row: whether the tree has seen the row."""

    X: Array  # (r, D)
    target: NDArray[Any]  # (r, ...)
    weights: Array  # (r,)
    seen: NDArray[np.bool_]  # (T, r)

    def leaves(self, family: Family, trees: Trees) -> NDArray[np.int32]:
        """Their leaves in trees that did not grow from them, else -1; (T, r)."""
        places = np.arange(len(self.X), dtype=np.int32)
        return Forest(family, trees).router.leaves(self.X, places, self.seen)


def choose_rows(weights: Array, width: int) -> NDArray[np.int32]:
    """Rows that count, enough to judge by; see :func:`out_of_bag.choose_rows`.

    Examples
    --------
    >>> choose_rows(np.array([1.0, 0.0, 2.0]), width=10)
    array([0, 2], dtype=int32)
    """
    present = np.flatnonzero(weights).astype(np.int32)
    return present[out_of_bag.choose_rows(len(present), width)]


def build_class_forest(
    family: Family,
    trees: Trees,
    own: ClassLeaves,
    counted: ClassLeaves,
    base: Array,
    judges: OutOfBagRows,
    plan: ForestPlan,
) -> FittedClasses:
    """A forest whose leaves know their own samples or all rows, whichever the judges score higher.

    Few trees predict better where all rows are counted in their leaves, many where each counts its
    own sample. Where all rows were counted, each judge is first taken out of its own leaves. The
    log-probabilities are those of the judges.
    """
    found, w = judges.leaves(family, trees), judges.weights

    def fit_leaves(leaves: ClassLeaves, of_judges: Array) -> FittedClasses:
        counts, unseen = (
            LeafCounts.from_leaves(leaves, base),
            UnseenRows(found, judges.target, w, of_judges),
        )
        learned = class_tuning.learn_class_tuning(
            counts, unseen, plan.n_trees, plan.concentration, plan.sharpness
        )
        log_prob, is_right = class_forest.score_rows(counts, unseen, learned)
        grown = ClassForest(family, trees, leaves, base, *learned[:2])
        return FittedClasses(
            grown,
            log_prob,
            out_of_bag.mean_of_known(log_prob, w),
            out_of_bag.mean_of_known(is_right, w),
        )

    by_all, by_sample = fit_leaves(counted, w), fit_leaves(own, np.zeros(len(w)))
    return by_sample if by_sample.oob_log_score > by_all.oob_log_score else by_all


def build_normal_forest(
    family: Family,
    trees: Trees,
    counted: NormalLeaves,
    variance: Array,
    judges: OutOfBagRows,
    plan: ForestPlan,
) -> FittedNormals:
    """A forest whose leaves know all rows, of this variance; each judge is taken out of its own.

    The log-densities are those of the judges.
    """
    leaves, wider, pooled = normal_forest.fill_leaves(counted, trees, variance)
    found, w = judges.leaves(family, trees), judges.weights
    members = TreePredictions.from_leaves(leaves, wider, found, judges.target, w, w, pooled)
    learned = normal_tuning.learn_normal_tuning(
        members, plan.n_trees, plan.concentration, plan.sharpness
    )
    log_prob, square = normal_forest.score_rows(members, learned)
    grown = NormalForest(family, trees, leaves, *learned[:3])
    return FittedNormals(
        grown,
        log_prob,
        out_of_bag.mean_of_known(log_prob, w),
        out_of_bag.mean_of_known(square, w) ** 0.5,
    )


def count_in_leaves(
    forest: Forest,
    sizes: list[int],
    X: Array,
    count: Callable[[NDArray[np.int32], slice, int], L],
    n_jobs: int | None = None,
) -> list[L]:
    """What comes to the leaves of each tree.

    Parameters
    ----------
    forest : Forest
    sizes : list of T
        How many leaves each tree has.
    X : array (n, D)
    count : callable
        The leaf of each row of a slice, that slice, and the number of leaves, to what they know.
    n_jobs : int, optional
    """
    firsts = np.cumsum([0, *sizes[:-1]])
    step, parts = forest.router.rows_at_once, list[L]()
    for start in range(0, len(X), step):
        span = slice(start, min(start + step, len(X)))
        found = (forest.apply(X[span], n_jobs) - firsts).T.astype(np.int32)
        new = [count(leaf, span, n) for leaf, n in zip(found, sizes, strict=True)]
        parts = add_counts(parts, new) if parts else new
    return parts


def add_counts(parts: list[L], more: list[L]) -> list[L]:
    """Add the statistics of the leaves of each tree."""
    return [one.add(other) for one, other in zip(parts, more, strict=True)]
