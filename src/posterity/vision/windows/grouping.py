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
    found, best, counts = _gather(boxes, activation, overlap)
    kept = _leave_out_nested(found)
    return Groups(found[kept], activation[best[kept]], counts[kept])


@compilation.compile_at_first_call
def _gather(
    boxes: Array, activation: Array, overlap: float
) -> tuple[Array, NDArray[np.int64], NDArray[np.int64]]:
    """Weighted means of windows that overlap the best of them, its place, and their number."""
    n, k = len(boxes), 0
    left = np.ones(n, dtype=np.bool_)
    found, best, counts = np.zeros((n, 4)), np.empty(n, np.int64), np.zeros(n, np.int64)
    for i in range(n):
        if left[i]:
            best[k], total = i, 0.0
            for j in range(i, n):
                if left[j] and (j == i or _share(boxes[i], boxes[j], False) >= overlap):
                    left[j] = False
                    weight = np.exp(activation[j] - activation[i])
                    total += weight
                    found[k] += weight * boxes[j]
                    counts[k] += 1
            found[k] /= total
            k += 1
    return found[:k], best[:k], counts[:k]


@compilation.compile_at_first_call
def _leave_out_nested(boxes: Array) -> NDArray[np.bool_]:
    """Which boxes do not share most of the smaller area with a better one: parts of an object."""
    kept = np.ones(len(boxes), dtype=np.bool_)
    for i in range(len(boxes)):  # from the best on
        for j in range(i):
            if kept[j] and _share(boxes[i], boxes[j], True) >= _NESTED:
                kept[i] = False
    return kept


@compilation.compile_at_first_call
def _share(a: Array, b: Array, of_smaller: bool) -> float:
    """Common area of two boxes over that of both together, or over that of the smaller one."""
    across, down = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if across <= 0.0 or down <= 0.0:
        return 0.0
    first, second = (a[2] - a[0]) * (a[3] - a[1]), (b[2] - b[0]) * (b[3] - b[1])
    common = across * down
    return common / (min(first, second) if of_smaller else first + second - common)


def group_like_opencv(boxes: Array, activation: Array, eps: float = 0.2) -> Groups:
    """Windows that lead to each other by steps of similar ones make a box, their mean.

    Small boxes inside one of more windows are dropped, as by OpenCV.

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
    sums = np.stack([np.bincount(label, boxes[:, k], n) for k in range(4)], axis=1)
    best = np.full(n, -np.inf)
    np.maximum.at(best, label, activation)
    means: Array = np.rint(sums / counts[:, None])
    kept = _leave_out_small(means, counts, eps)
    return Groups(means[kept], best[kept], counts[kept])


@compilation.compile_at_first_call
def _leave_out_small(boxes: Array, counts: NDArray[np.int64], eps: float) -> NDArray[np.bool_]:
    """Which boxes do not lie inside another one that counts more."""
    kept = np.ones(len(boxes), dtype=np.bool_)
    for i in range(len(boxes)):
        for j in range(len(boxes)):
            counts_more = counts[j] > max(3, counts[i]) or (counts[i] < 3 and counts[j] > 1)
            if i != j and counts_more:
                a, b = boxes[i], boxes[j]
                across, down = np.rint(eps * (b[2] - b[0])), np.rint(eps * (b[3] - b[1]))
                if (
                    a[0] >= b[0] - across
                    and a[1] >= b[1] - down
                    and a[2] <= b[2] + across
                    and a[3] <= b[3] + down
                ):
                    kept[i] = False
    return kept


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
