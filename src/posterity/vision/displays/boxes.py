"""Plot images with boxes: those that a detector found, and those of a track."""

from __future__ import annotations

from collections.abc import Sequence
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
    from matplotlib.figure import Figure


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
        return cls(to_pixels(image), shown.boxes, shown.probability, _read_objects(objects))

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
        draw_image(axes, self.image)
        known: dict[str, Any] = {"color": COLORS["sky"], "lw": 1.4, "ls": "--"}
        for k, box in enumerate(self.objects):
            axes.plot(*outline_box(box), label="known" if k == 0 else None, **known)
        for k, (box, p) in enumerate(zip(self.boxes, self.probability, strict=True)):
            width = 2.4 if np.isnan(p) else 0.8 + 1.8 * p
            axes.plot(*outline_box(box), color=color, lw=width, label="found" if k == 0 else None)
            if not np.isnan(p):
                left, top = box[0], box[1] - 1.5
                axes.text(left, top, f"{p:.2f}", color=color, va="bottom", clip_on=True)
        return axes


def _read_objects(objects: ArrayLike | None) -> Array:
    return np.asarray([] if objects is None else objects, dtype=np.float64).reshape(-1, 4)


def draw_image(axes: Axes, image: NDArray[np.uint8]) -> None:
    """Draw the whole image, to which the axes then keep."""
    axes.imshow(image, cmap="gray", vmin=0, vmax=255)
    height, width = image.shape[:2]
    axes.set(xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5), xticks=[], yticks=[])
    axes.autoscale(False)


def outline_box(box: Array) -> tuple[list[float], list[float]]:
    """Return the corners of a box, in coordinates of pixel centres."""
    x0, y0, x1, y1 = (float(number) - 0.5 for number in box)
    return [x0, x1, x1, x0, x0], [y0, y0, y1, y1, y0]


@dataclass(frozen=True)
class TrackDisplay:
    """Frames, and what a tracker found in each of them.

    Parameters
    ----------
    frames : sequence of arrays of shape (H, W) or (H, W, 3)
        The frames.
    found : sequence of TrackedBox
        Box, covariance and probability in each frame.
    objects : array of shape (n, 4)
        True boxes; empty if unknown.
    coverage : float
        Probability that the middle is inside the ellipse.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import vision
    >>> box = vision.TrackedBox(np.array([10.0, 5.0, 30.0, 25.0]), 0.5 * np.eye(3), 0.98)
    >>> frames = [np.full((40, 80), 128, dtype=np.uint8)] * 3
    >>> display = vision.displays.TrackDisplay.from_track(frames, [box] * 3)
    >>> display.plot_probability().get_ylabel()
    'probability'
    """

    frames: Sequence[Any]
    found: Sequence[vision.TrackedBox]
    objects: Array = field(default_factory=lambda: np.empty((0, 4)))
    coverage: float = 0.9

    @classmethod
    def from_track(
        cls,
        frames: Sequence[Any],
        found: Sequence[vision.TrackedBox],
        *,
        objects: ArrayLike | None = None,
        coverage: float = 0.9,
    ) -> TrackDisplay:
        """Take frames and the boxes that were found in them.

        Parameters
        ----------
        frames : sequence of arrays of shape (H, W) or (H, W, 3)
            The frames.
        found : sequence of TrackedBox
            One per frame.
        objects : array-like of shape (n, 4), optional
            True boxes to draw too: left, top, right, bottom.
        coverage : float, default=0.9
            Probability that the middle is inside the ellipse.
        """
        if len(frames) != len(found):
            raise ValueError(f"There are {len(frames)} frames but {len(found)} boxes.")
        return cls(frames, found, _read_objects(objects), coverage)

    def plot(self, chosen: Sequence[int] | None = None) -> Figure:
        """Draw some of the frames in a row, and the probability of all of them below.

        Parameters
        ----------
        chosen : sequence of int, optional
            Places of the frames to draw. None: five at equal distances.
        """
        import matplotlib.pyplot as plt

        last = len(self.found) - 1
        shown = np.linspace(0, last, min(5, last + 1)).astype(int) if chosen is None else chosen
        figure = plt.figure(figsize=(2.6 * len(shown), 4.4))
        grid = figure.add_gridspec(2, len(shown), height_ratios=(1.5, 1.0))
        for k, place in enumerate(shown):
            self.plot_frame(int(place), figure.add_subplot(grid[0, k]))
        below = figure.add_subplot(grid[1, :])
        self.plot_probability(below)
        below.plot(shown, np.full(len(shown), 1.06), "v", color=COLORS["black"], clip_on=False)
        return figure

    def plot_frame(self, place: int, ax: Axes | None = None) -> Axes:
        """Draw a frame with the box, the ellipse of its middle, and the true box dashed.

        Parameters
        ----------
        place : int
            Which frame.
        ax : matplotlib Axes, optional
            Axes to draw on. None: a new figure.
        """
        axes, found = axes_or_new(ax), self.found[place]
        draw_image(axes, to_pixels(self.frames[place]))
        if len(self.objects):
            axes.plot(*outline_box(self.objects[place]), color=COLORS["sky"], lw=1.2, ls="--")
        color = COLORS["amber"] if found.probability >= 0.5 else COLORS["orange"]
        axes.plot(*outline_box(found.box), color=color, lw=0.8 + 1.6 * found.probability)
        axes.plot(*(found.ellipse(self.coverage) - 0.5).T, color=color, lw=1.4)
        axes.set_title(f"{place}: {found.probability:.2f}", fontsize=10)
        return axes

    def plot_probability(self, ax: Axes | None = None) -> Axes:
        """Draw the probability that the object is seen, and the radius of the ellipse.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. None: a new figure.
        """
        axes = axes_or_new(ax)
        probability = [found.probability for found in self.found]
        axes.plot(probability, color=COLORS["amber"], label="probability that it is seen")
        axes.set(xlabel="frame", ylabel="probability", ylim=(-0.03, 1.03))
        axes.set_xlim(0, max(len(probability) - 1, 1))
        radii = axes.twinx()
        longest = [found.radii(self.coverage)[0] for found in self.found]
        radii.plot(longest, color=COLORS["blue"], lw=1.4, label="radius of the ellipse")
        radii.set_ylabel("pixels", color=COLORS["blue"])
        radii.set_ylim(bottom=0.0)
        radii.spines["right"].set_visible(True)
        lines = [axes.lines[0], radii.lines[0]]
        axes.legend(lines, [str(line.get_label()) for line in lines], loc="center left", fontsize=9)
        return axes
