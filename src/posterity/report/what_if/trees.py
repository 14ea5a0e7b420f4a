"""Pack trees and boosted steps as JSON.

Nodes are listed tree by tree in depth-first order, so that children need no index: zero is a leaf,
any other number is one more than the index of the test of a node.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import trees
from posterity.report.what_if.packing import (
    Json,
    NoFormError,
    as_floats,
    check_room,
    pack_array,
    pack_single_precision,
)
from posterity.trees import forests, structure
from posterity.trees.boosting import boosted_trees
from posterity.trees.boosting import steps as boosting
from posterity.trees.boosting.calibration import ClassCalibration

_BYTES_OF_LEAF = 12
_LEAVES_OF_PAGE = 80_000  # numbers of boosted leaves


def pack_normal_forest(forest: forests.NormalForest) -> Json:
    """Pack a forest with normal leaves and one target."""
    if forest.leaves.mean.shape[1] > 1:
        raise NoFormError("A forest with several targets cannot run in a page.")
    nodes, order = _pack_nodes(forest.family, forest.trees)
    return {
        "kind": "normal_forest",
        "nodes": nodes,
        "means": pack_single_precision(forest.leaves.mean[order, 0]),
        "deviations": pack_single_precision(forest.leaf_stds[order, 0]),
        "sharpness": forest.sharpness,
    }


def pack_class_forest(forest: forests.ClassForest) -> Json:
    """Pack a forest whose leaves count classes."""
    nodes, order = _pack_nodes(forest.family, forest.trees)
    leaves = forest.leaves
    start, sizes = leaves.start(), leaves.sizes.astype(np.int64)[order]
    first = np.repeat(start[:-1][order] - np.cumsum(sizes) + sizes, sizes)
    places = first + np.arange(len(first))
    return {
        "kind": "class_forest",
        "nodes": nodes,
        "sizes": pack_array(sizes),
        "classes": pack_array(leaves.classes[places]),
        "counts": pack_array(leaves.counts[places]),
        "base": as_floats(forest.base),
        "concentration": forest.concentration,
        "sharpness": forest.sharpness,
    }


def pack_steps(steps: boosting.Steps, family: trees.Family) -> Json:
    """Pack a sum of steps, the latent values of two or more classes."""
    check_room(steps.values.size, f"{len(steps):,} steps")
    return {
        "kind": "steps",
        "offset": as_floats(steps.offset),
        "tests": _tested_columns(family),
        "which": pack_array(steps.tests[:, 0]),
        "thresholds": pack_array(steps.thresholds),
        "values": pack_array(steps.values),
    }


def pack_boosted_classes(
    grown: boosted_trees.BoostedTrees, family: trees.Family, calibration: ClassCalibration
) -> Json:
    """Pack boosted oblivious trees of classes, of as many members as a page has room for."""
    if grown.children is not None:
        raise NoFormError("Boosted trees that are not oblivious cannot run in a page.")
    n_values = grown.values.shape[1] + 1
    room = _LEAVES_OF_PAGE // n_values
    n_members = max(1, int(np.sum(grown.leaves[grown.members[1:]] <= room)))
    some = grown.keep_members(n_members)
    check_room(some.values.shape[0] * n_values // 2, f"{some.n_trees:,} trees")
    note = f"This panel uses {n_members} of the {grown.n_members} members of the model."
    return {
        "kind": "boosted_trees",
        "members": n_members,
        "offset": as_floats(np.mean(some.offset, axis=0)),
        "tests": _tested_columns(family),
        "depths": pack_array(np.diff(some.nodes)),
        "which": pack_array(some.tests[:, 0]),
        "thresholds": pack_array(some.thresholds),
        "values": pack_single_precision(some.values),
        "variances": pack_single_precision(np.mean(1.0 / some.precisions, axis=1)),
        "sharpness": calibration.sharpness,
        "variance_factor": calibration.variance_factor,
        **({} if n_members == grown.n_members else {"note": note}),
    }


def _tested_columns(family: trees.Family) -> list[int]:
    """Return the column that each test uses; -1 - column where missing values are the smallest."""
    if not isinstance(family, trees.Columns):
        raise NoFormError(f"Splits of type {type(family).__name__} cannot run in a page.")
    columns = family.columns_of(np.sort(family.catalogue(), axis=0)).astype(np.int64)
    lowered = np.arange(len(columns)) >= family.n_columns
    places: list[int] = np.where(lowered, -1 - columns, columns).tolist()
    return places


def _pack_nodes(family: trees.Family, grown: structure.Trees) -> tuple[Json, NDArray[np.intp]]:
    """Pack nodes in depth-first order, and return the leaves in the same order."""
    check_room(grown.n_leaves * _BYTES_OF_LEAF // 8, f"{grown.n_leaves:,} leaves")
    tests = _tested_columns(family)
    visited, order = _walk_trees(grown)
    inner = visited[visited >= 0]
    which = grown.tests[:, 0].astype(np.int64)
    values, codes = _pack_thresholds(which, grown.thresholds, len(tests))
    stream = np.where(visited < 0, 0, 1 + which[np.maximum(visited, 0)] if len(which) else 0)
    nodes = {
        "trees": grown.n_trees,
        "tests": tests,
        "stream": pack_array(stream),
        "codes": pack_array(codes[inner]),
        "thresholds": values,
    }
    return nodes, order


def _walk_trees(grown: structure.Trees) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Return nodes in depth-first order, -1 for a leaf, and the leaves."""
    children: list[list[int]] = grown.children.tolist()
    visited, leaves = [], []
    for root in grown.roots.tolist():
        waiting = [root]
        while waiting:
            node = waiting.pop()
            if node < 0:
                visited.append(-1)
                leaves.append(~node)
            else:
                visited.append(node)
                waiting.extend(reversed(children[node]))
    return np.array(visited, dtype=np.int64), np.array(leaves, dtype=np.intp)


def _pack_thresholds(
    which: NDArray[np.int64], thresholds: NDArray[Any], n_tests: int
) -> tuple[list[Json], NDArray[np.int64]]:
    """Return the distinct thresholds of each test, and the index of each node's threshold."""
    codes, values = np.zeros(len(which), dtype=np.int64), []
    for test in range(n_tests):
        own = which == test
        found, codes[own] = np.unique(thresholds[own], return_inverse=True)
        values.append(pack_array(found))
    return values, codes
