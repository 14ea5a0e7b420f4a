"""Search an image at all sizes, and group what is found into boxes."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from posterity.arrays import Array
from posterity.vision.integrals import Pixels
from posterity.vision.windows import grouping, pyramid, scan
from posterity.vision.windows.grouping import Groups
from posterity.vision.windows.pyramid import Level
from posterity.vision.windows.samples import Inset
from posterity.vision.windows.window_sum import WindowSum


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
        planes = pyramid.compute_planes(level.frames, options.channels)
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
        for level in pyramid.build_opencv_levels(frames[0], (height, width), options.factor):
            if least is None or round(height * level.scale) >= least:
                yield level
    else:
        first = 1.0 if least is None else least * options.inset.height / height
        yield from pyramid.build_levels(
            frames, (height, width), options.factor, first, options.stride
        )


def _place(found: Array, level: Level, cascade: WindowSum, shape: tuple[int, ...]) -> Array:
    window = (cascade.shape[1], cascade.shape[2])
    if not cascade.skips:
        return pyramid.place_boxes(found, level, window)
    single = np.float32(level.scale)
    corners = np.rint(found[:, :2].astype(np.float32) * single)
    size = np.rint(np.array([window[1], window[0]], dtype=np.float32) * single)
    last = np.minimum(corners + size, np.array([shape[2], shape[1]], dtype=np.float32))
    return np.column_stack([corners, last]).astype(np.float64)
