"""Forests on rows that never sit in memory at once.

Three passes: the rows that some tree draws are kept, as codes where the family has them; trees grow
from these; then all rows go down all trees, and leaves count them. Targets and weights, a number or
two a row, are held.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import progress
from posterity.arrays import Array
from posterity.designs import Chunks, Partitions
from posterity.trees.families.family import Family
from posterity.trees.forests import out_of_bag, sampling
from posterity.trees.forests.forest import Forest, ForestPlan, GrownTrees, L, TargetKind, grow_trees
from posterity.trees.forests.out_of_bag import F, FittedForest

FAMILY_ROWS = 100_000
_MOST_SAMPLES = 65_536  # of each tree, unless it is told


def fit_family(family: Family, source: Chunks | Partitions) -> Family:
    """The family, having seen a sample of the rows: all of them where there are few."""
    some = source.sample(FAMILY_ROWS, np.random.default_rng(0))
    return family.adapt_to(some.X, some.sample_weight)


def fit_chunks(
    family: Family,
    chunks: Chunks,
    target: NDArray[Any],
    weights: Array | None,
    kind: TargetKind[L, F],
    plan: ForestPlan,
    rng: np.random.Generator,
    groups: NDArray[np.int32] | None = None,
) -> FittedForest[F]:
    """Fit a forest to chunks as :func:`posterity.trees.forests.out_of_bag.fit_forest` does.

    Leaves may count all rows. What trees have not seen is judged on a sample of rows, each taken
    out of its own leaves; see :func:`out_of_bag.build_forest`.
    """
    w = np.ones(len(target)) if weights is None else weights
    few, overall = limit_samples(plan, sampling.count_rows(w)), kind.summarise(target, w)
    rows, positions = _hold_drawn_rows(family, chunks, w, groups, few, rng)
    planted = grow_trees(
        family, rows, target, w, kind, few, rng, groups=groups, positions=positions
    )

    def count(leaf: NDArray[np.int32], places: slice, n_leaves: int) -> L:
        return kind.leaves(leaf, target[places], w[places], n_leaves)

    _, to_learn = kind.count_numbers(plan.n_trees, overall)
    chosen = out_of_bag.choose_weighted_rows(w, to_learn)
    parts, X = _count_all_rows(family, chunks, planted, count, chosen, plan.n_jobs)
    judges = _take_chosen_rows(planted, X, target, w, chosen)
    own, counted = planted.join_leaves(), type(parts[0]).join(parts)
    fitted = out_of_bag.build_forest(
        family, planted.trees, own, counted, kind, overall, judges, plan
    )
    return dataclasses.replace(fitted, oob_log_prob=_scatter(fitted.oob_log_prob, chosen, len(w)))


def limit_samples(plan: ForestPlan, n_rows: float) -> ForestPlan:
    """The plan, with samples that can be held."""
    if plan.max_samples is not None or n_rows <= _MOST_SAMPLES:
        return plan
    return dataclasses.replace(plan, max_samples=_MOST_SAMPLES)


def _hold_drawn_rows(
    family: Family,
    chunks: Chunks,
    weights: Array,
    groups: NDArray[np.int32] | None,
    plan: ForestPlan,
    rng: np.random.Generator,
) -> tuple[Any, NDArray[np.int32]]:
    """The rows that some tree will draw, prepared, and where each row stands among them."""
    is_drawn = np.zeros(len(weights), dtype=np.bool_)
    for child in copy.deepcopy(rng).spawn(plan.n_trees):  # trees will draw the same again
        is_drawn[plan.draw_rows(weights, child, groups).places] = True
    kept = [
        family.prepare_rows(block.X[is_drawn[block.span]])
        for block in progress.track(chunks, total=chunks.n_rows, description="Reading rows")
    ]
    return np.concatenate(kept), (np.cumsum(is_drawn) - 1).astype(np.int32)


def _count_all_rows(
    family: Family,
    chunks: Chunks,
    planted: GrownTrees[L],
    count: Callable[[NDArray[np.int32], slice, int], L],
    chosen: NDArray[np.int32],
    n_jobs: int | None,
) -> tuple[list[L], Array]:
    """Return the leaf statistics of each tree over all rows, and the chosen rows."""
    forest = Forest(family, planted.trees)
    sizes: list[int] = [leaves.n_leaves for leaves in planted.leaves]
    parts: list[L] = []
    kept = []
    for block in progress.track(chunks, total=chunks.n_rows, description="Counting rows"):
        span, within = block.span, functools.partial(_count_block, count, block.first_row)
        new = out_of_bag.count_in_leaves(forest, sizes, block.X, within, n_jobs)
        parts = out_of_bag.add_counts(parts, new) if parts else new
        here = chosen[(chosen >= span.start) & (chosen < span.stop)]
        kept.append(block.X[here - span.start])
    return parts, np.concatenate(kept)


def _count_block(
    count: Callable[[NDArray[np.int32], slice, int], L],
    first: int,
    leaf: NDArray[np.int32],
    rows: slice,
    n_leaves: int,
) -> L:
    """The count of rows that are numbered from the first one of their block."""
    return count(leaf, slice(first + rows.start, first + rows.stop), n_leaves)


def _take_chosen_rows(
    planted: GrownTrees[Any],
    X: Array,
    target: NDArray[Any],
    weights: Array,
    chosen: NDArray[np.int32],
) -> out_of_bag.OutOfBagRows:
    """The chosen rows."""
    seen = out_of_bag.unpack_columns(planted.seen, chosen)
    return out_of_bag.OutOfBagRows(X, target[chosen], weights[chosen], seen)


def _scatter(values: Array | None, chosen: NDArray[np.int32], n_rows: int) -> Array:
    """The values of chosen rows, and NaN for others."""
    everywhere = np.full(n_rows, np.nan)
    everywhere[chosen] = values
    return everywhere
