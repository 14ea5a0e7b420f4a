"""Forests on rows that never sit in memory at once.

Three passes: the rows that some tree draws are kept, as codes where the family has them; trees grow
from these; then all rows go down all trees, and leaves count them. Targets and weights, a number or
two a row, are held.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from posterity import progress
from posterity.arrays import Array
from posterity.designs import Block, Chunks
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
from posterity.trees.forests.class_tuning import Counts, Unseen
from posterity.trees.forests.forest import Forest, Plan, Planted, plant
from posterity.trees.forests.normal_forest import FittedNormals, NormalForest
from posterity.trees.forests.normal_leaves import NormalLeaves
from posterity.trees.forests.normal_tuning import Members
from posterity.trees.growth.normal_splits import Normals

L = TypeVar("L", ClassLeaves, NormalLeaves)

_FAMILY_ROWS = 100_000
_MOST_SAMPLES = 65_536  # of each tree, unless it is told


def fitted_family(family: Family, chunks: Chunks) -> Family:
    """The family, having seen a sample of the rows: all of them where there are few."""
    some = chunks.sample(_FAMILY_ROWS, np.random.default_rng(0))
    return family.fitted(some.X, some.sample_weight)


def fit_class_chunks(
    family: Family,
    chunks: Chunks,
    codes: NDArray[np.int32],
    weights: Array | None,
    n_classes: int,
    plan: Plan,
    rng: np.random.Generator,
    groups: NDArray[np.int32] | None = None,
) -> FittedClasses:
    """As :func:`posterity.trees.forests.class_forest.fit_classes`; leaves may count all rows.

    Few trees predict better where all rows are counted in their leaves, many where each counts its
    own sample. What is kept is what gives rows not seen the better log score, judged on a sample of
    them; where all rows were counted, each is first taken out of its own leaves.
    """
    w = np.ones(len(codes)) if weights is None else weights
    few = _bounded(plan, w)
    rows, positions = _held(family, chunks, w, groups, few, rng)
    planted = class_forest.planted_on(
        family, rows, codes, w, n_classes, few, rng, groups=groups, positions=positions
    )

    def count(leaf: NDArray[np.int32], places: slice, n_leaves: int) -> ClassLeaves:
        return ClassLeaves.of(leaf, codes[places], w[places], n_leaves, n_classes)

    chosen = out_of_bag.some(len(codes), n_classes)
    parts, X = _counted(family, chunks, planted, count, chosen, plan.n_jobs)
    found = _left_out(family, planted, X, chosen)
    base = class_forest.frequencies(codes, w, n_classes)

    def judged(leaves: ClassLeaves, own: Array) -> FittedClasses:
        counts, unseen = Counts.of(leaves, base), Unseen(found, codes[chosen], w[chosen], own)
        s, beta = class_tuning.learn(counts, unseen, plan.concentration, plan.sharpness)
        log_prob, is_right = class_forest.judged(counts, unseen, s, beta)
        return FittedClasses(
            ClassForest(family, planted.trees, leaves, base, s, beta),
            _spread(log_prob, chosen, len(w)),
            out_of_bag.mean(log_prob, w[chosen]),
            out_of_bag.mean(is_right, w[chosen]),
        )

    by_all = judged(ClassLeaves.joined(parts), w[chosen])
    by_sample = judged(ClassLeaves.joined(planted.leaves), np.zeros(len(chosen)))
    return by_sample if by_sample.oob_log_score > by_all.oob_log_score else by_all


def fit_normal_chunks(
    family: Family,
    chunks: Chunks,
    Y: Array,
    weights: Array | None,
    plan: Plan,
    rng: np.random.Generator,
    groups: NDArray[np.int32] | None = None,
) -> FittedNormals:
    """As :func:`posterity.trees.forests.normal_forest.fit_normals`, but leaves count all rows.

    What trees have not seen is judged on a sample of rows, each taken out of its own leaves.
    """
    w = np.ones(len(Y)) if weights is None else weights
    few = _bounded(plan, w)
    rows, positions = _held(family, chunks, w, groups, few, rng)
    summary = NormalLeaves.of
    planted = plant(
        family, rows, Y, w, Normals(), summary, few, rng, groups=groups, positions=positions
    )

    def count(leaf: NDArray[np.int32], places: slice, n_leaves: int) -> NormalLeaves:
        return NormalLeaves.of(leaf, Y[places], w[places], n_leaves)

    chosen = out_of_bag.some(len(Y), normal_forest.LEARNING * plan.n_trees * Y.shape[1])
    parts, X = _counted(family, chunks, planted, count, chosen, plan.n_jobs)
    counted = NormalLeaves.joined(parts)
    leaves, wider, pooled = normal_forest.completed(counted, planted.trees, Y, w)
    found = _left_out(family, planted, X, chosen)
    members = Members.of(leaves, wider, found, Y[chosen], w[chosen], w[chosen], pooled)
    learned = normal_tuning.learn(members, plan.concentration, plan.sharpness)
    log_prob, square = normal_forest.judged(members, learned)
    return FittedNormals(
        NormalForest(family, planted.trees, leaves, *learned),
        _spread(log_prob, chosen, len(w)),
        out_of_bag.mean(log_prob, w[chosen]),
        out_of_bag.mean(square, w[chosen]) ** 0.5,
    )


def _bounded(plan: Plan, weights: Array) -> Plan:
    """The plan, with samples that can be held."""
    if plan.max_samples is not None or weights.sum() <= _MOST_SAMPLES:
        return plan
    return dataclasses.replace(plan, max_samples=_MOST_SAMPLES)


def _held(
    family: Family,
    chunks: Chunks,
    weights: Array,
    groups: NDArray[np.int32] | None,
    plan: Plan,
    rng: np.random.Generator,
) -> tuple[Any, NDArray[np.int32]]:
    """The rows that some tree will draw, prepared, and where each row stands among them."""
    is_drawn = np.zeros(len(weights), dtype=np.bool_)
    for child in copy.deepcopy(rng).spawn(plan.n_trees):  # trees will draw the same again
        is_drawn[plan.draw(weights, child, groups).places] = True
    kept = [
        family.prepared(block.X[is_drawn[_span(block)]])
        for block in progress.track(chunks, total=chunks.n_rows, description="Reading rows")
    ]
    return np.concatenate(kept), (np.cumsum(is_drawn) - 1).astype(np.int32)


def _counted(
    family: Family,
    chunks: Chunks,
    planted: Planted[L],
    count: Callable[[NDArray[np.int32], slice, int], L],
    chosen: NDArray[np.int32],
    n_jobs: int | None,
) -> tuple[list[L], Array]:
    """What came to the leaves of each tree, of all rows; and the chosen rows themselves."""
    forest = Forest(family, planted.trees)
    sizes: list[int] = [leaves.n_leaves for leaves in planted.leaves]
    firsts = np.cumsum([0, *sizes[:-1]])
    parts: list[L] = []
    kept = []
    for block in progress.track(chunks, total=chunks.n_rows, description="Counting rows"):
        span = _span(block)
        found = (forest.apply(block.X, n_jobs) - firsts).T.astype(np.int32)
        new = [count(leaf, span, n) for leaf, n in zip(found, sizes, strict=True)]
        parts = [old.added(more) for old, more in zip(parts, new, strict=True)] if parts else new
        here = chosen[(chosen >= span.start) & (chosen < span.stop)]
        kept.append(block.X[here - span.start])
    return parts, np.concatenate(kept)


def _left_out(
    family: Family, planted: Planted[Any], X: Array, chosen: NDArray[np.int32]
) -> NDArray[np.int32]:
    """The leaves of the chosen rows in trees that did not grow from them, else -1; (T, r)."""
    router = Forest(family, planted.trees).router
    unasked = out_of_bag.bits(planted.seen, chosen)
    return router.leaves(X, np.arange(len(X), dtype=np.int32), unasked)


def _span(block: Block) -> slice:
    return slice(block.first_row, block.first_row + len(block))


def _spread(values: Array, chosen: NDArray[np.int32], n_rows: int) -> Array:
    """The values of chosen rows, and NaN for others."""
    everywhere = np.full(n_rows, np.nan)
    everywhere[chosen] = values
    return everywhere
