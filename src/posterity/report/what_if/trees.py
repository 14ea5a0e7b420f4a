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
    check_room,
    numbers,
    packed,
    rounded,
)
from posterity.trees import forests, structure
from posterity.trees.boosting import steps as boosting

_BYTES_OF_LEAF = 12


def of_numbers(forest: forests.NormalForest) -> Json:
    """Pack a forest with normal leaves and one target."""
    if forest.leaves.mean.shape[1] > 1:
        raise NoFormError("A forest with several targets cannot run in a page.")
    nodes, order = _nodes(forest.family, forest.trees)
    return {
        "kind": "normal_forest",
        "nodes": nodes,
        "means": rounded(forest.leaves.mean[order, 0]),
        "deviations": rounded(forest.leaf_stds[order, 0]),
        "sharpness": forest.sharpness,
    }


def of_classes(forest: forests.ClassForest) -> Json:
    """Pack a forest whose leaves count classes."""
    nodes, order = _nodes(forest.family, forest.trees)
    leaves = forest.leaves
    start, sizes = leaves.start(), leaves.sizes.astype(np.int64)[order]
    first = np.repeat(start[:-1][order] - np.cumsum(sizes) + sizes, sizes)
    places = first + np.arange(len(first))
    return {
        "kind": "class_forest",
        "nodes": nodes,
        "sizes": packed(sizes),
        "classes": packed(leaves.classes[places]),
        "counts": packed(leaves.counts[places]),
        "base": numbers(forest.base),
        "concentration": forest.concentration,
        "sharpness": forest.sharpness,
    }


def of_steps(steps: boosting.Steps, family: trees.Family) -> Json:
    """Pack a sum of steps, the latent values of two or more classes."""
    check_room(steps.values.size, f"{len(steps):,} steps")
    return {
        "kind": "steps",
        "offset": numbers(steps.offset),
        "tests": _columns(family),
        "which": packed(steps.tests[:, 0]),
        "thresholds": packed(steps.thresholds),
        "values": packed(steps.values),
    }


def _columns(family: trees.Family) -> list[int]:
    """Return the column that each test uses; encoded inputs are never missing."""
    if not isinstance(family, trees.Columns):
        raise NoFormError(f"Splits of type {type(family).__name__} cannot run in a page.")
    places: list[int] = family.columns_of(family.catalogue()).tolist()
    return places


def _nodes(family: trees.Family, grown: structure.Trees) -> tuple[Json, NDArray[np.intp]]:
    """Pack nodes in depth-first order, and return the leaves in the same order."""
    check_room(grown.n_leaves * _BYTES_OF_LEAF // 8, f"{grown.n_leaves:,} leaves")
    tests = _columns(family)
    visited, order = _walked(grown)
    inner = visited[visited >= 0]
    which = grown.tests[:, 0].astype(np.int64)
    values, codes = _thresholds(which, grown.thresholds, len(tests))
    stream = np.where(visited < 0, 0, 1 + which[np.maximum(visited, 0)] if len(which) else 0)
    nodes = {
        "trees": grown.n_trees,
        "tests": tests,
        "stream": packed(stream),
        "codes": packed(codes[inner]),
        "thresholds": values,
    }
    return nodes, order


def _walked(grown: structure.Trees) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
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


def _thresholds(
    which: NDArray[np.int64], thresholds: NDArray[Any], n_tests: int
) -> tuple[list[Json], NDArray[np.int64]]:
    """Return the distinct thresholds of each test, and the index of each node's threshold."""
    codes, values = np.zeros(len(which), dtype=np.int64), []
    for test in range(n_tests):
        own = which == test
        found, codes[own] = np.unique(thresholds[own], return_inverse=True)
        values.append(packed(found))
    return values, codes
