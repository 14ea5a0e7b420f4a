"""Plot a track: frames with box and ellipse, and the probability that the object is seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from posterity import vision
from posterity.arrays import Array
from posterity.displays.style import COLORS, axes_or_new
from posterity.vision.displays.detection import outline_box
from posterity.vision.images import to_pixels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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
        known = np.empty((0, 4)) if objects is None else np.asarray(objects, dtype=np.float64)
        return cls(frames, found, known, coverage)

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
        image = to_pixels(self.frames[place])
        axes.imshow(image, cmap="gray", vmin=0, vmax=255)
        if len(self.objects):
            axes.plot(*outline_box(self.objects[place]), color=COLORS["sky"], lw=1.2, ls="--")
        color = COLORS["amber"] if found.probability >= 0.5 else COLORS["orange"]
        axes.plot(*outline_box(found.box), color=color, lw=0.8 + 1.6 * found.probability)
        axes.plot(*(found.ellipse(self.coverage) - 0.5).T, color=color, lw=1.4)
        height, width = image.shape[:2]
        axes.set(xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5), xticks=[], yticks=[])
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
