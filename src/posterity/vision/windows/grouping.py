"""From windows that overlap to one box for each object."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array

_MOST = 5000  # windows that are grouped, the best ones
_NESTED = 0.6  # share of the smaller of two boxes from which on they show the same object


@dataclass(frozen=True, eq=False)
class Groups:
    """Boxes, the best activation in each, and how many windows each stands for."""

    boxes: Array  # (n, 4)
    activation: Array  # (n,)
    support: NDArray[np.int64]  # (n,)

    def __len__(self) -> int:
        return len(self.boxes)


def compute_overlaps(boxes: Array, others: Array) -> Array:
    """Area that boxes share over the area of both together, (n, m).

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision.windows import grouping
    >>> grouping.compute_overlaps(np.array([[0.0, 0, 2, 2]]), np.array([[1.0, 0, 3, 2]])).round(3)
    array([[0.333]])
    """
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    shared = np.clip(high - low, 0.0, None).prod(axis=2)
    areas = [np.clip(b[:, 2:] - b[:, :2], 0.0, None).prod(axis=1) for b in (boxes, others)]
    both = areas[0][:, None] + areas[1] - shared
    return np.divide(shared, both, out=np.zeros_like(shared), where=both > 0.0)


def group_windows(boxes: Array, activation: Array, overlap: float) -> Groups:
    """The best window and all that overlap it make a box; and again with what is left.

    Boxes inside a better one, or around it, are dropped.

    Parameters
    ----------
    boxes : array (n, 4)
        Windows.
    activation : array (n,)
        By which windows are weighted: the odds of a window are its exponential.
    overlap : float
        Least overlap with the best window of the group.
    """
    order = np.argsort(-activation, kind="stable")[:_MOST]
    boxes, activation = boxes[order], activation[order]
    left = np.ones(len(boxes), dtype=bool)
    found, best, counts = [], [], []
    for i in range(len(boxes)):
        if left[i]:
            near = np.flatnonzero(left)
            near = near[compute_overlaps(boxes[i : i + 1], boxes[near])[0] >= overlap]
            left[near] = left[i] = False
            weights = np.exp(activation[near] - activation[i])
            found.append(weights @ boxes[near] / weights.sum())
            best.append(activation[i])
            counts.append(len(near))
    groups = Groups(
        np.array(found).reshape(-1, 4), np.array(best), np.array(counts, dtype=np.int64)
    )
    return _drop_nested(groups)


def _drop_nested(groups: Groups) -> Groups:
    """Without boxes that share most of the smaller area with a better one: parts of an object."""
    boxes = groups.boxes
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1)
    kept: list[int] = []
    for i in range(len(groups)):  # from the best on
        low = np.maximum(boxes[i, :2], boxes[kept, :2])
        shared = np.clip(np.minimum(boxes[i, 2:], boxes[kept, 2:]) - low, 0.0, None).prod(axis=1)
        if np.all(shared < _NESTED * np.minimum(areas[i], areas[kept])):
            kept.append(i)
    return Groups(boxes[kept], groups.activation[kept], groups.support[kept])


def group_like_opencv(boxes: Array, activation: Array, eps: float = 0.2) -> Groups:
    """Windows that lead to each other by steps of similar ones make a box, their mean.

    Parameters
    ----------
    boxes : array (n, 4)
        Windows.
    activation : array (n,)
        The best of a group is reported.
    eps : float
        By which part of their size similar windows may differ.
    """
    order = np.argsort(-activation, kind="stable")[:_MOST]
    boxes, activation = boxes[order], activation[order]
    n, label = _label_similar(boxes, eps)
    counts = np.bincount(label, minlength=n)
    means = np.stack([np.bincount(label, boxes[:, k], n) for k in range(4)], axis=1)
    best = np.full(n, -np.inf)
    np.maximum.at(best, label, activation)
    return Groups(np.rint(means / counts[:, None]), best, counts)


@compilation.compile_at_first_call
def _label_similar(boxes: Array, eps: float) -> tuple[int, NDArray[np.int64]]:
    """Number the groups of boxes that similar ones connect."""
    n = len(boxes)
    parent = np.arange(n)
    for i in range(n):
        a = boxes[i]
        for j in range(i):
            b = boxes[j]
            across, down = min(a[2] - a[0], b[2] - b[0]), min(a[3] - a[1], b[3] - b[1])
            apart = max(abs(a[0] - b[0]), abs(a[1] - b[1]), abs(a[2] - b[2]), abs(a[3] - b[3]))
            if apart <= 0.5 * eps * (across + down):
                first, second = i, j
                while parent[first] != first:
                    first = parent[first]
                while parent[second] != second:
                    second = parent[second]
                parent[max(first, second)] = min(first, second)
                parent[i] = min(first, second)
    label, found = np.empty(n, dtype=np.int64), 0
    for i in range(n):
        if parent[i] == i:
            label[i], found = found, found + 1
        else:
            label[i] = label[parent[i]]
    return found, label
