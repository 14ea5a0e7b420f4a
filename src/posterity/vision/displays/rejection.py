"""Plot how many windows are left after each tree of a detector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from posterity import arrays, vision
from posterity.arrays import Array
from posterity.displays.style import COLORS, axes_or_new
from posterity.vision.haar import WindowRows
from posterity.vision.windows import boosting, inputs, variations
from posterity.vision.windows.background import Background

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class RejectionDisplay:
    """Shares of windows that are left after each tree of a detector.

    Parameters
    ----------
    objects : array of shape (T + 1,)
        Share of windows with an object that are left after 0, 1, ... trees.
    background : array of shape (T + 1,)
        Share of windows without an object.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import displays
    >>> display = displays.RejectionDisplay(np.array([1.0, 1.0, 0.99]), np.array([1.0, 0.5, 0.1]))
    >>> display.trees_per_window
    1.5
    """

    objects: Array
    background: Array

    @property
    def trees_per_window(self) -> float:
        """Mean number of trees that a window without an object takes."""
        return float(self.background[:-1].sum())

    @classmethod
    def from_estimator(
        cls,
        estimator: vision.WindowDetector,
        patches: Any,
        scenes: Sequence[Any],
        *,
        n_windows: int = 10_000,
        random_state: Any = None,
    ) -> RejectionDisplay:
        """Follow windows of patches, and random windows of scenes, through the trees.

        Parameters
        ----------
        estimator : WindowDetector
            Fitted; not a cascade of OpenCV, whose sums begin again at each stage.
        patches : array of uint8, (N, H, W)
            Objects that the detector was not fitted to.
        scenes : sequence of images
            Images without objects that the detector was not fitted to.
        n_windows : int, default=10000
            Number of windows of scenes.
        random_state : int, Generator, RandomState or None, default=None
            Seed of the windows.
        """
        cascade, channels = estimator.cascade_, estimator.channels
        if cascade.restarts.any() or channels != "gray":
            raise ValueError("Rejection is shown of sums over gray values without stages.")
        inset = variations.Inset(*estimator.inset)
        window = (cascade.shape[1], cascade.shape[2])
        objects = variations.cut_windows(inputs.check_patches(patches, channels), window, inset)
        views = inputs.check_scenes(scenes, channels)
        background = Background(
            views, inputs.check_boxes(None, len(views)), window, channels, inset
        ).draw(n_windows, cascade.least_contrast, arrays.generator(random_state))
        trees = boosting.WindowTrees.from_sum(cascade)
        left = []
        for pixels in (objects, background):
            sums = boosting.sum_partially(trees, WindowRows.from_pixels(pixels))
            passed = np.logical_and.accumulate(sums >= cascade.bounds[:, None], axis=0)
            left.append(np.append(1.0, passed.mean(axis=1)))
        return cls(*left)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw both shares on logarithmic axes, and return the axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. None: a new figure.
        """
        axes = axes_or_new(ax)
        n_trees = np.arange(len(self.objects))
        axes.step(n_trees, self.objects, where="post", color=COLORS["blue"], label="objects")
        axes.step(
            n_trees, self.background, where="post", color=COLORS["orange"], label="background"
        )
        axes.set(xlabel="trees", ylabel="share of windows left", yscale="log")
        return axes
