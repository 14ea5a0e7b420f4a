"""Plot the detection rate of a detector against its false positives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import vision
from posterity.arrays import Array
from posterity.displays import ReliabilityDisplay
from posterity.displays.style import COLORS, axes_or_new
from posterity.vision.windows import grouping

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class DetectionCurveDisplay:
    """Detection rate and false positives of a detector, for falling bounds on the score of a box.

    Parameters
    ----------
    false_positives : array of shape (k,)
        Number of boxes without an object, from none on.
    detection_rate : array of shape (k,)
        Share of the objects that are found.
    score : array of shape (k,)
        Least score, such as a probability, of the boxes that count.
    n_images : int
        Number of images that were searched.
    n_objects : int
        Number of objects in them.

    Examples
    --------
    Three of four objects are found, two of them before the first false positive:

    >>> from posterity import vision
    >>> display = vision.displays.DetectionCurveDisplay.from_predictions(
    ...     [True, True, False, True], [0.9, 0.8, 0.5, 0.3], n_objects=4, n_images=2
    ... )
    >>> display.detection_rate
    array([0.5 , 0.75])
    >>> display.rate_at(0), display.rate_at(10)
    (0.5, 0.75)
    """

    false_positives: Array
    detection_rate: Array
    score: Array
    n_images: int
    n_objects: int

    @classmethod
    def from_predictions(
        cls, is_object: ArrayLike, score: ArrayLike, *, n_objects: int, n_images: int
    ) -> DetectionCurveDisplay:
        """Count boxes from the highest score on.

        Parameters
        ----------
        is_object : array-like of shape (N,)
            Whether each box shows an object that no better box has found.
        score : array-like of shape (N,)
            Probability of each box, or another number by which boxes are ranked.
        n_objects, n_images : int
            Number of objects, and of images that were searched.
        """
        right, ranks = np.asarray(is_object, dtype=bool), np.asarray(score, dtype=np.float64)
        if right.shape != ranks.shape or right.ndim != 1:
            raise ValueError(
                "is_object and score must have the same shape (N,); their shapes are "
                f"{right.shape} and {ranks.shape}."
            )
        if n_objects < max(1, int(right.sum())):
            raise ValueError(f"n_objects={n_objects}, but {int(right.sum())} boxes show an object.")
        order = np.argsort(-ranks, kind="stable")
        hits, misses = np.cumsum(right[order]), np.cumsum(~right[order])
        # The last box with each number of false positives; boxes of equal score count together.
        ends = np.append(ranks[order][1:] != ranks[order][:-1], True)[: len(right)]
        misses, hits, ranks = misses[ends], hits[ends], ranks[order][ends]
        last = np.append(misses[1:] != misses[:-1], True)[: len(misses)]
        misses, hits, ranks = misses[last], hits[last], ranks[last]
        if not len(misses) or misses[0] > 0:
            misses, hits = np.append(0, misses), np.append(0, hits)
            ranks = np.append(np.inf, ranks)
        return cls(misses.astype(np.float64), hits / n_objects, ranks, n_images, n_objects)

    @classmethod
    def from_detections(
        cls,
        found: Sequence[vision.Detections],
        objects: Sequence[ArrayLike],
        *,
        overlap: float = 0.4,
    ) -> DetectionCurveDisplay:
        """Compare what was found in images with the known boxes.

        Parameters
        ----------
        found : sequence of Detections
            All boxes of each image; without probabilities they are ranked by their windows.
        objects : sequence of arrays of shape (m, 4)
            Known boxes of each image: left, top, right, bottom.
        overlap : float, default=0.4
            Least intersection over union of a box with an object that it finds.
        """
        right, rank = match_detections(found, objects, overlap)
        n_objects = sum(len(np.reshape(boxes, (-1, 4))) for boxes in objects)
        return cls.from_predictions(right, rank, n_objects=n_objects, n_images=len(objects))

    def rate_at(self, false_positives: float) -> float:
        """Detection rate with at most this many false positives in all images together."""
        place = np.searchsorted(self.false_positives, false_positives, side="right") - 1
        return float(self.detection_rate[place])

    def plot(
        self,
        ax: Axes | None = None,
        *,
        color: str = COLORS["blue"],
        label: str | None = None,
        per_image: bool = False,
    ) -> Axes:
        """Draw the curve as steps, and return the axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. None: a new figure.
        color : str, default=blue
            Colour of the curve.
        label : str, optional
            Name of the curve in a legend.
        per_image : bool, default=False
            Whether false positives are counted per image.
        """
        axes = axes_or_new(ax)
        share = self.n_images if per_image else 1
        axes.step(
            self.false_positives / share,
            self.detection_rate,
            where="post",
            color=color,
            label=label,
        )
        axes.set(
            xlabel="false positives per image" if per_image else "false positives",
            ylabel="detection rate",
            ylim=(0.0, 1.03),
        )
        return axes


def check_detections(
    found: Sequence[vision.Detections],
    objects: Sequence[ArrayLike],
    *,
    overlap: float = 0.4,
    n_bins: int = 10,
    coverage: float = 0.9,
) -> ReliabilityDisplay:
    """Check the probabilities of boxes in images whose objects are known.

    Parameters
    ----------
    found : sequence of Detections
        All boxes of each image, with their probabilities.
    objects : sequence of arrays of shape (m, 4)
        Known boxes of each image: left, top, right, bottom.
    overlap : float, default=0.4
        Least intersection over union of a box with an object that it finds. Each object is
        found once, by its most probable box.
    n_bins, coverage
        As in :meth:`posterity.displays.ReliabilityDisplay.from_predictions`.

    Returns
    -------
    ReliabilityDisplay
        Predicted probabilities and the observed share of right boxes.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import vision
    >>> box = np.array([[0.0, 0.0, 10.0, 10.0]])
    >>> found = vision.Detections(box, np.array([0.7]), np.array([1.0]), np.array([2]))
    >>> display = vision.displays.check_detections([found, found], [box, []], n_bins=1)
    >>> display.predicted, display.observed
    (array([0.7]), array([0.5]))
    """
    right, _ = match_detections(found, objects, overlap)
    probability = np.concatenate([some.probability for some in found])
    return ReliabilityDisplay.from_predictions(
        right, probability, n_bins=n_bins, coverage=coverage, event="a right box"
    )


def match_detections(
    found: Sequence[vision.Detections], objects: Sequence[ArrayLike], overlap: float = 0.4
) -> tuple[NDArray[np.bool_], Array]:
    """Return whether each box of all images is the best one of an object, and its rank.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import vision
    >>> from posterity.vision.displays import detection_curve
    >>> box = np.array([[0.0, 0.0, 9.0, 9.0]])
    >>> found = vision.Detections(box, np.array([0.7]), np.array([1.0]), np.array([2]))
    >>> detection_curve.match_detections([found, found], [box, []])
    (array([ True, False]), array([0.7, 0.7]))
    """
    ranks = [some.score for some in found]
    right = [
        grouping.match_boxes(
            some.boxes, rank, np.asarray(boxes, dtype=np.float64).reshape(-1, 4), overlap
        )
        for some, rank, boxes in zip(found, ranks, objects, strict=True)
    ]
    return (
        np.concatenate([np.empty(0, dtype=bool), *right]),
        np.concatenate([np.empty(0), *ranks]),
    )
