"""Plot an image with the boxes that a detector found, and their probabilities."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import vision
from posterity.arrays import Array
from posterity.displays.style import COLORS, axes_or_new
from posterity.vision.images import to_pixels

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Detector(Protocol):
    """Finds boxes in an image, or in a pair of frames."""

    def detect(self, image: Any) -> vision.Detections:
        """Return the boxes."""


@dataclass(frozen=True)
class DetectionDisplay:
    """An image, and the boxes that a detector found in it.

    Parameters
    ----------
    image : array of shape (H, W) or (H, W, 3)
        Gray values, or red, green and blue, as bytes.
    boxes : array of shape (n, 4)
        Left, top, right and bottom of each box.
    probability : array of shape (n,)
        Probability that the box shows an object; NaN if unknown.
    objects : array of shape (m, 4)
        Boxes of the objects that are there; empty if unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import Detections, displays
    >>> boxes = np.array([[10.0, 5.0, 30.0, 25.0], [40.0, 5.0, 60.0, 25.0]])
    >>> found = Detections(
    ...     boxes, np.array([0.97, 0.62]), np.array([6.0, 1.0]), np.array([9, 2])
    ... )
    >>> image = np.full((40, 80), 128, dtype=np.uint8)
    >>> display = displays.DetectionDisplay.from_detections(found, image, min_probability=0.9)
    >>> [text.get_text() for text in display.plot().texts]
    ['0.97']
    """

    image: NDArray[np.uint8]
    boxes: Array
    probability: Array
    objects: Array = field(default_factory=lambda: np.empty((0, 4)))

    @classmethod
    def from_detections(
        cls,
        found: vision.Detections,
        image: Any,
        *,
        objects: ArrayLike | None = None,
        min_probability: float = 0.5,
    ) -> DetectionDisplay:
        """Take the boxes that have been found in an image.

        Parameters
        ----------
        found : Detections
            Boxes and probabilities.
        image : array of shape (H, W) or (H, W, 3)
            The image.
        objects : array-like of shape (m, 4), optional
            Known boxes to draw too.
        min_probability : float, default=0.5
            Boxes with a lower probability are left out; boxes without one are kept.
        """
        shown = found.take(~(found.probability < min_probability))
        known = np.empty((0, 4)) if objects is None else np.asarray(objects, dtype=np.float64)
        return cls(to_pixels(image), shown.boxes, shown.probability, known.reshape(-1, 4))

    @classmethod
    def from_estimator(
        cls,
        estimator: Detector,
        image: Any,
        *,
        objects: ArrayLike | None = None,
        min_probability: float = 0.5,
    ) -> DetectionDisplay:
        """Find boxes in an image.

        Parameters
        ----------
        estimator : detector
            Fitted, with ``detect``.
        image : array of shape (H, W) or (H, W, 3), or a pair of them
            The image, or an earlier and a later frame; the later one is drawn.
        objects, min_probability
            As in :meth:`from_detections`.
        """
        shown = image[1] if isinstance(image, tuple) else image
        return cls.from_detections(
            estimator.detect(image), shown, objects=objects, min_probability=min_probability
        )

    def plot(self, ax: Axes | None = None, *, color: str = COLORS["amber"]) -> Axes:
        """Draw the image, known boxes dashed, and found boxes with probabilities.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. None: a new figure.
        color : str, default=amber
            Colour of the found boxes; the line is thinner where the probability is lower.
        """
        axes = axes_or_new(ax)
        axes.imshow(self.image, cmap="gray", vmin=0, vmax=255)
        known: dict[str, Any] = {"color": COLORS["sky"], "lw": 1.4, "ls": "--"}
        for k, box in enumerate(self.objects):
            axes.plot(*outline_box(box), label="known" if k == 0 else None, **known)
        for k, (box, p) in enumerate(zip(self.boxes, self.probability, strict=True)):
            width = 2.4 if np.isnan(p) else 0.8 + 1.8 * p
            axes.plot(*outline_box(box), color=color, lw=width, label="found" if k == 0 else None)
            if not np.isnan(p):
                left, top = box[0], box[1] - 1.5
                axes.text(left, top, f"{p:.2f}", color=color, va="bottom", clip_on=True)
        height, width = self.image.shape[:2]
        axes.set(xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5), xticks=[], yticks=[])
        return axes


def outline_box(box: Array) -> tuple[list[float], list[float]]:
    """Return the corners of a box, in coordinates of pixel centres."""
    x0, y0, x1, y1 = (float(number) - 0.5 for number in box)
    return [x0, x1, x1, x0, x0], [y0, y0, y1, y1, y0]
