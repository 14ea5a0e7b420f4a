"""Probabilities of boxes: a logistic function of the best activation and the number of windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import validation
from posterity.arrays import Array
from posterity.linear import BayesianLogisticRegression
from posterity.vision import resizing
from posterity.vision.integrals import Pixels
from posterity.vision.windows import grouping
from posterity.vision.windows.grouping import Groups

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
    >>> from posterity.vision.windows import calibration
    >>> box = np.array([[0.0, 0.0, 9.0, 9.0]])
    >>> calibration.match_boxes(np.repeat(box, 2, axis=0), np.array([1.0, 2.0]), box)
    array([False,  True])
    """
    right = np.zeros(len(boxes), dtype=bool)
    if len(boxes) == 0 or len(objects) == 0:
        return right
    overlaps = grouping.compute_overlaps(boxes, objects)
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
            if grouping.compute_overlaps(box, mine).max(initial=0.0) == 0.0:
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
    for plane, source in zip(place, patch, strict=True):
        new = resizing.resize_by_area(np.ascontiguousarray(source), height, width)
        plane[:] = np.rint(opacity * new + (1.0 - opacity) * plane).astype(np.uint8)


def _describe(groups: Groups) -> Array:
    return np.column_stack([groups.activation, np.log(groups.support)])


def _log_odds(share: float) -> float:
    return float(np.log(share) - np.log1p(-share))
