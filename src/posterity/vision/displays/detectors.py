"""Plot what a detector asks of windows first, and how many are left after each tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from posterity import arrays, vision
from posterity.arrays import Array
from posterity.displays.style import COLORS, axes_or_new
from posterity.vision.haar import WindowRows
from posterity.vision.windows import boosting, inputs, pyramid, samples
from posterity.vision.windows.samples import Background

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GAP = 2  # pixels between two windows
_STRENGTH = 0.75  # of a feature over the patch behind it


@dataclass(frozen=True)
class WindowFeaturesDisplay:
    """Features of a detector: weights of the pixels of a window, over a patch.

    Parameters
    ----------
    weights : array of shape (n, h, w)
        Weight of each pixel, 0 where the feature does not look.
    planes : array of shape (n,)
        The plane of each feature: 0 for gray values, from 1 on differences of two frames.
    patch : array of shape (h, w)
        Gray values from 0 to 1 behind the features.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import displays
    >>> edge = np.kron([[1.0, -1.0]], np.ones((4, 2)))
    >>> display = displays.WindowFeaturesDisplay(edge[None], np.zeros(1), np.full((4, 4), 0.5))
    >>> np.asarray(display.plot().get_images()[0].get_array())[0].round(2)
    array([0.88, 0.88, 0.12, 0.12])
    """

    weights: Array
    planes: Array
    patch: Array

    @classmethod
    def from_estimator(
        cls,
        estimator: vision.WindowDetector,
        *,
        n_features: int = 6,
        patches: ArrayLike | None = None,
    ) -> WindowFeaturesDisplay:
        """Take the features of the first trees of a detector, the root of each tree.

        Features that are turned by 45 degrees, of some cascades of OpenCV, are left out.

        Parameters
        ----------
        estimator : WindowDetector
            Fitted.
        n_features : int, default=6
            Number of features.
        patches : array-like of shape (N, h, w), optional
            Windows of objects, whose mean is drawn behind the features. None: gray.
        """
        cascade = estimator.cascade_
        chosen = cascade.features[cascade.roots]
        chosen = chosen[~cascade.tilted[chosen]][:n_features]
        height, width = cascade.shape[1:]
        weights = np.zeros((len(chosen), height, width))
        for k, rectangles in enumerate(cascade.rectangles[chosen]):
            for _, top, left, high, wide, weight in rectangles.tolist():
                weights[k, top : top + high, left : left + wide] += weight
        planes = cascade.rectangles[chosen][:, 0, 0].astype(np.float64)
        return cls(weights, planes, _average(patches, (height, width)))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the features side by side, added pixels bright and subtracted ones dark.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. None: a new figure.
        """
        axes = axes_or_new(ax)
        asked, bright = self.weights != 0.0, (self.weights > 0.0).astype(np.float64)
        opacity = _STRENGTH * asked
        tiles = opacity * bright + (1.0 - opacity) * self.patch
        framed = np.pad(tiles, ((0, 0), (0, 0), (0, _GAP)), constant_values=1.0)
        mosaic = np.concatenate(list(framed), axis=1)[:, :-_GAP]
        axes.imshow(mosaic, cmap="gray", vmin=0.0, vmax=1.0)
        pitch = self.patch.shape[1] + _GAP
        names = [
            f"{k + 1}" if plane == 0 else f"{k + 1}, differences"
            for k, plane in enumerate(self.planes)
        ]
        places = [pitch * k + 0.5 * self.patch.shape[1] - 0.5 for k in range(len(names))]
        axes.set_xticks(places, names if self.planes.any() else [f"tree {n}" for n in names])
        axes.set_yticks([])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        return axes


def _average(patches: Any, shape: tuple[int, int]) -> Array:
    """Mean of patches of the size of a window, stretched to the range from 0 to 1."""
    if patches is None:
        return np.full(shape, 0.5)
    mean = np.asarray(patches, dtype=np.float64).reshape(-1, *np.shape(patches)[-2:]).mean(axis=0)
    if mean.shape != shape:
        raise ValueError(f"patches must have the shape (N, {shape[0]}, {shape[1]}) of windows.")
    low, high = float(mean.min()), float(mean.max())
    return (mean - low) / (high - low or 1.0)


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
        inset = pyramid.Inset(*estimator.inset)
        window = (cascade.shape[1], cascade.shape[2])
        objects = samples.cut_windows(inputs.check_patches(patches, channels), window, inset)
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
