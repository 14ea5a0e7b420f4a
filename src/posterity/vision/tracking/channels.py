"""Windows of a frame as orientation channels, which hardly change with the light.

A window has a middle in the frame, and a size relative to the first one. It is sampled at a fixed
number of pixels, whatever its size. Its gradient is divided by the mean length of the gradients
around it, split into directions, and averaged in cells.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array
from posterity.vision import resizing
from posterity.vision.integrals import Pixels

Channels: TypeAlias = NDArray[np.float32]
CELL = 4
"""Pixels of a window along the side of a cell."""
N_DIRECTIONS = 8
_COARSEST = 1.6  # pixels of the frame under a pixel of the window, before the frame is halved
_DARK = 2.0  # gray values per pixel: gradients about as long as the noise of a camera


def build_pyramid(frame: Pixels, n_levels: int) -> tuple[Pixels, ...]:
    """Halve a frame until it has this many levels, or is too small."""
    levels = [np.ascontiguousarray(frame)]
    while len(levels) < n_levels and min(levels[-1].shape) >= 8:
        levels.append(resizing.halve(levels[-1]))
    return tuple(levels)


def count_levels(step: float) -> int:
    """Count the levels that a window with this many pixels of the frame per pixel needs."""
    n = 1
    while step > _COARSEST and n < 8:
        step, n = step / 2.0, n + 1
    return n


def compute_channels(
    pyramid: tuple[Pixels, ...], x: float, y: float, step: float, shape: tuple[int, int]
) -> Channels:
    """Compute orientation channels (lines, columns, directions) of the window about a point.

    Parameters
    ----------
    pyramid : tuple of arrays
        The frame and its halves.
    x, y : float
        Middle of the window in the frame; the first pixel reaches from 0 to 1.
    step : float
        Pixels of the frame per pixel of the window.
    shape : pair of int
        Lines and columns of cells.
    """
    level = min(count_levels(step), len(pyramid)) - 1
    small = 0.5**level
    out = np.empty((*shape, N_DIRECTIONS), dtype=np.float32)
    _fill_channels(pyramid[level], x * small - 0.5, y * small - 0.5, step * small, out)
    return out


@compilation.compile_at_first_call(fastmath=True)
def _sample(image: Pixels, x: float, y: float, step: float, out: Any) -> None:
    """Interpolate linearly at points around (x, y); beyond the frame its last pixels go on."""
    lines, columns = out.shape
    height, width = image.shape
    for i in range(lines):
        at = min(max(y + (i - 0.5 * (lines - 1)) * step, 0.0), height - 1.0)
        top = int(at)
        low = min(top + 1, height - 1)
        down = np.float32(at - top)
        for j in range(columns):
            at = min(max(x + (j - 0.5 * (columns - 1)) * step, 0.0), width - 1.0)
            left = int(at)
            right = min(left + 1, width - 1)
            across = np.float32(at - left)
            upper = image[top, left] * (np.float32(1.0) - across) + image[top, right] * across
            lower = image[low, left] * (np.float32(1.0) - across) + image[low, right] * across
            out[i, j] = upper * (np.float32(1.0) - down) + lower * down


@compilation.compile_at_first_call(fastmath=True)
def _average_length(gx: Any, gy: Any, out: Any) -> None:
    """Average the lengths of gradients in three by three cells about each cell."""
    lines, columns = out.shape
    own = np.zeros((lines, columns), dtype=np.float32)
    for i in range(gx.shape[0]):
        for j in range(gx.shape[1]):
            own[i // CELL, j // CELL] += np.sqrt(gx[i, j] ** 2 + gy[i, j] ** 2)
    for i in range(lines):
        for j in range(columns):
            total, n = np.float32(0.0), 0
            for k in range(max(i - 1, 0), min(i + 2, lines)):
                for m in range(max(j - 1, 0), min(j + 2, columns)):
                    total += own[k, m]
                    n += CELL * CELL
            out[i, j] = total / n


@compilation.compile_at_first_call(fastmath=True)
def _fill_channels(image: Pixels, x: float, y: float, step: float, out: Any) -> None:
    lines, columns, n = out.shape
    patch = np.empty((lines * CELL + 2, columns * CELL + 2), dtype=np.float32)
    _sample(image, x, y, step, patch)
    gx = np.ascontiguousarray(patch[1:-1, 2:] - patch[1:-1, :-2])
    gy = np.ascontiguousarray(patch[2:, 1:-1] - patch[:-2, 1:-1])
    around = np.empty((lines, columns), dtype=np.float32)
    _average_length(gx, gy, around)
    directions = np.empty((2, n), dtype=np.float32)
    for k in range(n):
        directions[0, k] = np.cos(2.0 * np.pi * k / n)
        directions[1, k] = np.sin(2.0 * np.pi * k / n)
    out[:] = 0.0
    share = np.empty(n, dtype=np.float32)
    for i in range(gx.shape[0]):
        for j in range(gx.shape[1]):
            scale = around[i // CELL, j // CELL] + np.float32(_DARK)
            _split_gradient(gx[i, j], gy[i, j], scale, directions, share)
            _add_to_cells(i, j, share, out)


@compilation.compile_at_first_call(fastmath=True)
def _split_gradient(a: Any, b: Any, scale: Any, directions: Any, share: Any) -> None:
    """Split a gradient into directions: zero but for three neighbours, and smooth in the angle."""
    length = np.sqrt(a * a + b * b)
    # Long gradients count less than in proportion: an edge is an edge.
    weight = np.sqrt(length / scale) / np.float32(CELL * CELL)
    inverse = np.float32(1.0) / (length + np.float32(1e-6))
    for k in range(len(share)):
        along = max(a * directions[0, k] + b * directions[1, k], np.float32(0.0)) * inverse
        share[k] = weight * along * along * along


@compilation.compile_at_first_call(fastmath=True)
def _add_to_cells(i: int, j: int, share: Any, out: Any) -> None:
    """Add the directions of a pixel to the four cells around it, by linear interpolation."""
    y, x = (i + 0.5) / CELL - 0.5, (j + 0.5) / CELL - 0.5
    top, left = int(np.floor(y)), int(np.floor(x))
    for line in range(max(top, 0), min(top + 2, out.shape[0])):
        vertical = 1.0 - abs(y - line)
        for column in range(max(left, 0), min(left + 2, out.shape[1])):
            part = np.float32(vertical * (1.0 - abs(x - column)))
            for k in range(len(share)):
                out[line, column, k] += part * share[k]


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
        cells = np.clip(np.rint(_CONTEXT * size / (step * CELL)), _LEAST_CELLS, _MOST_CELLS)
        return cls(size, step, (int(cells[1]), int(cells[0])))

    def get_size(self, pose: Array) -> Array:
        """Return width and height of the object in pixels of the frame."""
        return np.asarray(self.size * np.exp(pose[2]))

    def get_step(self, pose: Array) -> float:
        """Return the pixels of the frame per pixel of the window."""
        return float(self.step * np.exp(pose[2]))

    def build_pyramid(self, frame: Pixels, pose: Array) -> tuple[Pixels, ...]:
        """Halve a frame as often as windows of this size and a little larger ones need."""
        return build_pyramid(frame, count_levels(2.0 * self.get_step(pose)))

    def compute(self, pyramid: tuple[Pixels, ...], pose: Array) -> Channels:
        """Compute the channels of the window at a pose."""
        return self.compute_region(pyramid, pose, (0, 0))

    def compute_region(
        self, pyramid: tuple[Pixels, ...], pose: Array, margin: tuple[int, int]
    ) -> Channels:
        """Compute channels with this many more cells above and below, left and right."""
        shape = (self.shape[0] + 2 * margin[0], self.shape[1] + 2 * margin[1])
        return compute_channels(pyramid, float(pose[0]), float(pose[1]), self.get_step(pose), shape)

    @functools.cached_property
    def taper(self) -> Channels:
        """Weights of cells (lines, columns, 1): one in the middle, less towards the edge."""
        lines, columns = (np.sqrt(np.hanning(n + 4)[2:-2]) for n in self.shape)
        return np.outer(lines, columns)[:, :, None].astype(np.float32)
