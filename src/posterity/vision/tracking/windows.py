"""Where a window lies: its middle in the frame, and its size relative to the first one."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from posterity.arrays import Array
from posterity.vision.integrals import Pixels
from posterity.vision.tracking import channels
from posterity.vision.tracking.channels import Channels

_AREA = 1600.0  # pixels of a window that the object covers, whatever its size
_CONTEXT = 1.4  # sides of a window in sides of the object
_LEAST_CELLS, _MOST_CELLS = 5, 28  # along a side of a window


@dataclass(frozen=True, eq=False)
class WindowFrame:
    """Size of windows: in pixels of the first frame, and in cells.

    A pose is an array of three numbers: x and y of the middle in pixels of the frame, and the
    logarithm of the size relative to the first box.

    Attributes
    ----------
    size : array of shape (2,)
        Width and height of the first box.
    step : float
        Pixels of the first frame per pixel of a window.
    shape : pair of int
        Lines and columns of cells.
    """

    size: Array
    step: float
    shape: tuple[int, int]

    @classmethod
    def around(cls, size: Array) -> WindowFrame:
        """Choose windows for an object of this width and height."""
        step = float(np.sqrt(size.prod() / _AREA))
        cells = np.clip(
            np.rint(_CONTEXT * size / (step * channels.CELL)), _LEAST_CELLS, _MOST_CELLS
        )
        return cls(size, step, (int(cells[1]), int(cells[0])))

    def get_size(self, pose: Array) -> Array:
        """Return width and height of the object in pixels of the frame."""
        return np.asarray(self.size * np.exp(pose[2]))

    def get_step(self, pose: Array) -> float:
        """Return the pixels of the frame per pixel of the window."""
        return float(self.step * np.exp(pose[2]))

    def build_pyramid(self, frame: Pixels, pose: Array) -> tuple[Pixels, ...]:
        """Halve a frame as often as windows of this size and a little larger ones need."""
        return channels.build_pyramid(frame, channels.count_levels(2.0 * self.get_step(pose)))

    def compute(self, pyramid: tuple[Pixels, ...], pose: Array) -> Channels:
        """Compute the channels of the window at a pose."""
        return self.compute_region(pyramid, pose, (0, 0))

    def compute_region(
        self, pyramid: tuple[Pixels, ...], pose: Array, margin: tuple[int, int]
    ) -> Channels:
        """Compute channels with this many more cells above and below, left and right."""
        shape = (self.shape[0] + 2 * margin[0], self.shape[1] + 2 * margin[1])
        return channels.compute_channels(
            pyramid, float(pose[0]), float(pose[1]), self.get_step(pose), shape
        )

    @functools.cached_property
    def taper(self) -> Channels:
        """Weights of cells (lines, columns, 1): one in the middle, less towards the edge."""
        lines, columns = (np.sqrt(np.hanning(n + 4)[2:-2]) for n in self.shape)
        return np.outer(lines, columns)[:, :, None].astype(np.float32)
