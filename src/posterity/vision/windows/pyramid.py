"""Images in many sizes, and the planes of which windows are made at each size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from posterity.arrays import Array
from posterity.vision import resizing
from posterity.vision.integrals import Pixels

CHANNELS = ("gray", "motion", "differences")
_SHIFTS = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))  # of the later frame, in pixels of a level


@dataclass(frozen=True, eq=False)
class Level:
    """An image at one size: columns and lines of the original are ``scale`` times as many."""

    frames: Pixels  # (1 or 2, H, W)
    scale: float  # nominal
    scale_x: float
    scale_y: float
    stride: int


def count_planes(channels: str) -> int:
    """Number of planes of a window."""
    return {"gray": 1, "motion": 1 + len(_SHIFTS), "differences": 1 + len(_SHIFTS)}[channels]


def build_levels(
    frames: Pixels, window: tuple[int, int], factor: float, first: float, stride: int
) -> Iterator[Level]:
    """All sizes of an image in which a window has room, from the largest on.

    Parameters
    ----------
    frames : array (F, H, W) of uint8
        The image, or an earlier and a later frame.
    window : tuple
        Height and width of windows.
    factor : float
        Ratio of neighbouring sizes, more than 1.
    first : float
        Size of the object in the first level over that of the window; less than 1 enlarges.
    stride : int
        Step between windows.
    """
    height, width = frames.shape[1:]
    octave, halved, scale = frames, 1.0, first
    while True:
        lines, columns = round(height / scale), round(width / scale)
        if lines < window[0] or columns < window[1]:
            return
        while scale / halved >= 2.0 and min(octave.shape[1:]) >= 4:
            octave, halved = np.stack([resizing.halve(frame) for frame in octave]), 2.0 * halved
        planes = np.stack([resizing.resize_by_area(frame, lines, columns) for frame in octave])
        yield Level(planes, scale, width / columns, height / lines, stride)
        scale *= factor


def build_opencv_levels(image: Pixels, window: tuple[int, int], factor: float) -> Iterator[Level]:
    """The sizes of an image at which OpenCV looks, to the last pixel."""
    height, width = image.shape
    scale = 1.0
    while round(window[0] * scale) <= height and round(window[1] * scale) <= width:
        single = np.float32(scale)
        lines = int(np.rint(np.float32(height) / single))
        columns = int(np.rint(np.float32(width) / single))
        small = resizing.resize_linearly(image, lines, columns)[None]
        nominal = float(single)
        yield Level(small, nominal, nominal, nominal, 1 if nominal >= 2.0 else 2)
        scale *= factor


def compute_planes(frames: Pixels, channels: str) -> Pixels:
    """The planes of windows: the image, and its differences from a frame before.

    Parameters
    ----------
    frames : array (..., F, H, W) of uint8
        Images, or an earlier and a later frame.
    channels : {"gray", "motion", "differences"}
        The image alone; or the later frame and five differences, of the earlier frame and the later
        one as it is and shifted by a pixel up, down, left and right; or the same with features of
        the differences alone.
    """
    if channels == "gray":
        return frames
    before, now = frames[..., 0, :, :], frames[..., 1, :, :]
    *some, height, width = now.shape
    # Beyond the edge of a frame its last pixels go on.
    wide = np.empty((*some, height + 2, width + 2), dtype=np.uint8)
    wide[..., 1:-1, 1:-1] = now
    wide[..., 0, 1:-1], wide[..., -1, 1:-1] = now[..., 0, :], now[..., -1, :]
    wide[..., 0], wide[..., -1] = wide[..., 1], wide[..., -2]
    planes = np.empty((*some, 1 + len(_SHIFTS), height, width), dtype=np.uint8)
    planes[..., 0, :, :] = now
    for k, (down, across) in enumerate(_SHIFTS, 1):
        shifted = wide[..., 1 - down : height + 1 - down, 1 - across : width + 1 - across]
        np.maximum(before, shifted, out=planes[..., k, :, :])
        planes[..., k, :, :] -= np.minimum(before, shifted)
    return planes


def place_boxes(found: Array, level: Level, window: tuple[int, int]) -> Array:
    """Boxes of windows in the image, (n, 4): x and y of two corners."""
    x, y = found[:, 0] * level.scale_x, found[:, 1] * level.scale_y
    across, down = window[1] * level.scale_x, window[0] * level.scale_y
    return np.column_stack([x, y, x + across, y + down])
