"""Images in many sizes, the planes of windows at each size, and boxes that a search finds."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from posterity.arrays import Array
from posterity.vision import resizing
from posterity.vision.integrals import Pixels
from posterity.vision.windows import grouping, scan
from posterity.vision.windows.grouping import Groups
from posterity.vision.windows.window_sum import WindowSum

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
        planes = resizing.resize_planes(octave, lines, columns)
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


@dataclass(frozen=True)
class Inset:
    """The part of a patch that the window shows, in fractions of its height and width."""

    top: float = 0.0
    left: float = 0.0
    bottom: float = 0.0
    right: float = 0.0

    @property
    def height(self) -> float:
        """Height of the window as a fraction of that of the patch."""
        return 1.0 - self.top - self.bottom

    @property
    def width(self) -> float:
        """Width of the window as a fraction of that of the patch."""
        return 1.0 - self.left - self.right

    def enlarge(self, windows: Array) -> Array:
        """Boxes of whole patches, from boxes of windows; both (n, 4), x and y of two corners."""
        x0, y0, x1, y1 = windows.T
        across, down = (x1 - x0) / self.width, (y1 - y0) / self.height
        left, top = x0 - self.left * across, y0 - self.top * down
        return np.column_stack([left, top, left + across, top + down])


@dataclass(frozen=True)
class SearchOptions:
    """Settings of the search of an image."""

    channels: str
    inset: Inset
    factor: float
    stride: int
    overlap: float
    min_size: float | None
    n_jobs: int


def find_boxes(cascade: WindowSum, frames: Pixels, options: SearchOptions) -> Groups:
    """Boxes of whole objects in an image (F, H, W)."""
    windows, activation = find_windows(cascade, frames, options)
    if cascade.skips:
        return grouping.group_like_opencv(windows, activation)
    boxes = options.inset.enlarge(windows)
    return grouping.group_windows(boxes, activation, options.overlap)


def find_windows(cascade: WindowSum, frames: Pixels, options: SearchOptions) -> tuple[Array, Array]:
    """Windows (n, 4) that pass all bounds, and their activations (n,)."""
    if options.factor <= 1.0:
        raise ValueError(f"scale_factor={options.factor} must be more than 1.")

    def look(level: Level) -> tuple[Array, Array]:
        planes = compute_planes(level.frames, options.channels)
        found, _ = scan.scan_planes(cascade, planes, level.stride)
        return _place(found, level, cascade, frames.shape), found[:, 2]

    levels = _build_levels(cascade, frames, options)
    if options.n_jobs == 1:
        parts = [look(level) for level in levels]
    else:
        with concurrent.futures.ThreadPoolExecutor(options.n_jobs) as pool:
            parts = list(pool.map(look, levels))
    if not parts:
        return np.empty((0, 4)), np.empty(0)
    return np.concatenate([b for b, _ in parts]), np.concatenate([a for _, a in parts])


def _build_levels(cascade: WindowSum, frames: Pixels, options: SearchOptions) -> Iterator[Level]:
    height, width = cascade.shape[1:]
    least = options.min_size
    if cascade.skips:
        for level in build_opencv_levels(frames[0], (height, width), options.factor):
            if least is None or round(height * level.scale) >= least:
                yield level
    else:
        first = 1.0 if least is None else least * options.inset.height / height
        yield from build_levels(frames, (height, width), options.factor, first, options.stride)


def _place(found: Array, level: Level, cascade: WindowSum, shape: tuple[int, ...]) -> Array:
    window = (cascade.shape[1], cascade.shape[2])
    if not cascade.skips:
        return place_boxes(found, level, window)
    single = np.float32(level.scale)
    corners = np.rint(found[:, :2].astype(np.float32) * single)
    size = np.rint(np.array([window[1], window[0]], dtype=np.float32) * single)
    last = np.minimum(corners + size, np.array([shape[2], shape[1]], dtype=np.float32))
    return np.column_stack([corners, last]).astype(np.float64)
