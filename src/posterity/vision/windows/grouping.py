"""From windows that overlap to one box for each object, with a probability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import compilation, validation
from posterity.arrays import Array
from posterity.linear import BayesianLogisticRegression
from posterity.vision import resizing
from posterity.vision.integrals import Pixels

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
    """Mark boxes that do not share most of the smaller area with a better one."""
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
    """Mark boxes that do not lie inside another one that counts more."""
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


_SOFT_EDGE = 0.12  # of a patch: where it fades into the scene
OVERLAP = 0.4  # with an object from which on a box is right


class NoBoxError(ValueError):
    """Nothing was found from which probabilities could be learned."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """Log-odds that a box shows an object: linear in activation and log count of windows."""

    coef: Array  # (2,)
    intercept: float
    base_rate: float  # share of boxes that showed an object where this was learned

    def check_consistency(self) -> None:
        """Raise ValueError unless there are two coefficients."""
        validation.require_array(self.coef, "coef", np.float64, (2,))
        validation.require(0.0 < self.base_rate < 1.0, "base_rate is not between 0 and 1.")

    @classmethod
    def learn(
        cls, found: Sequence[Groups], objects: Sequence[Array], *, by_support: bool = False
    ) -> Calibration:
        """Fit to the boxes of images in which the objects are known.

        One box more at either end, a wrong one below the least activation and a right one above
        the largest, keep the slope finite where all boxes are right, or all wrong.
        """
        is_object = np.concatenate(
            [
                match_boxes(
                    groups.boxes, groups.support if by_support else groups.activation, known
                )
                for groups, known in zip(found, objects, strict=True)
            ]
        )
        if len(is_object) == 0:
            raise NoBoxError(
                "The detector found no box in these images, so that there is nothing from which to "
                "learn probabilities: call calibrate with more images, or images with objects."
            )
        X = np.vstack([_describe(groups) for groups in found])
        low, high = X.min(axis=0), X.max(axis=0)
        step = np.array([1.0, 0.0])
        model = BayesianLogisticRegression().fit(
            np.vstack([X, low - step, high + step]), np.append(is_object, [False, True])
        )
        share = (np.sum(is_object) + 1.0) / (len(is_object) + 2.0)
        return cls(np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]), float(share))

    def predict(self, groups: Groups, prior: float | None = None) -> Array:
        """Probability of each box, (n,).

        Parameters
        ----------
        groups : Groups
            Boxes.
        prior : float, optional
            Share of boxes that show an object where this is used; None: as it was learned.
        """
        odds = _describe(groups) @ self.coef + self.intercept
        if prior is not None:
            odds = odds + _log_odds(prior) - _log_odds(self.base_rate)
        return 1.0 / (1.0 + np.exp(-np.clip(odds, -700.0, 700.0)))


def match_boxes(
    boxes: Array, score: NDArray[Any], objects: Array, overlap: float = OVERLAP
) -> NDArray[np.bool_]:
    """Whether each box is the best one of an object, from the best score on.

    Parameters
    ----------
    boxes : array (n, 4)
        What was found.
    score : array (n,)
        Boxes with a higher one choose first.
    objects : array (m, 4)
        What is there; each is found once.
    overlap : float
        Least overlap.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision.windows import grouping
    >>> box = np.array([[0.0, 0.0, 9.0, 9.0]])
    >>> grouping.match_boxes(np.repeat(box, 2, axis=0), np.array([1.0, 2.0]), box)
    array([False,  True])
    """
    right = np.zeros(len(boxes), dtype=bool)
    if len(boxes) == 0 or len(objects) == 0:
        return right
    overlaps = compute_overlaps(boxes, objects)
    for i in np.argsort(-score, kind="stable"):
        best = int(np.argmax(overlaps[i]))
        if overlaps[i, best] >= overlap:
            right[i] = True
            overlaps[:, best] = 0.0
    return right


def flip_scenes(scenes: Sequence[Pixels], *, mirror: bool) -> list[Pixels]:
    """Scenes without objects as they are, upside down, and both mirrored if objects may be.

    What looks like an object in them differs, so that there is more to learn from.
    """
    found = [turned for scene in scenes for turned in (scene, scene[:, ::-1])]
    if mirror:
        found += [scene[:, :, ::-1] for scene in found]
    return [np.ascontiguousarray(scene) for scene in found]


def paste_patches(
    scenes: Sequence[Pixels],
    patches: Pixels,
    per_scene: float,
    least_size: int,
    rng: np.random.Generator,
) -> tuple[list[Pixels], list[Array]]:
    """Copies of scenes with patches on them, of random sizes and places that do not overlap.

    Parameters
    ----------
    scenes : sequence of arrays (F, H, W)
        Scenes without objects.
    patches : array (N, F, h, w)
        Objects.
    per_scene : float
        How many on average.
    least_size : int
        Least height of a pasted patch.
    """
    images, boxes = [], []
    for scene in scenes:
        image, mine = scene.copy(), np.empty((0, 4))
        for patch in patches[rng.integers(len(patches), size=rng.poisson(per_scene))]:
            most = 0.7 * min(scene.shape[1], scene.shape[2] * patch.shape[1] / patch.shape[2])
            if most < least_size:
                continue
            height = int(
                least_size * (most / least_size) ** (rng.random() ** 2)
            )  # small ones often
            width = max(1, round(height * patch.shape[2] / patch.shape[1]))
            y = int(rng.integers(scene.shape[1] - height + 1))
            x = int(rng.integers(scene.shape[2] - width + 1))
            box = np.array([[x, y, x + width, y + height]], dtype=np.float64)
            if compute_overlaps(box, mine).max(initial=0.0) == 0.0:
                _blend(image[:, y : y + height, x : x + width], patch)
                mine = np.concatenate([mine, box])
        images.append(image)
        boxes.append(mine)
    return images, boxes


def _blend(place: Pixels, patch: Pixels) -> None:
    """Put a patch on part of a scene, opaque in the middle."""
    _, height, width = place.shape
    down, across = (
        np.clip(np.minimum(k, k[::-1]) / (_SOFT_EDGE * len(k)), 0.0, 1.0)
        for k in (np.arange(height) + 0.5, np.arange(width) + 0.5)
    )
    opacity = np.minimum(down[:, None], across)
    new = resizing.resize_planes(patch, height, width)
    place[:] = np.rint(opacity * new + (1.0 - opacity) * place).astype(np.uint8)


def _describe(groups: Groups) -> Array:
    return np.column_stack([groups.activation, np.log(groups.support)])


def _log_odds(share: float) -> float:
    return float(np.log(share) - np.log1p(-share))
