"""Windows of scenes that show no object: drawn at random, or those that a detector finds."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.vision.integrals import Pixels
from posterity.vision.windows import grouping, pyramid, scan
from posterity.vision.windows.variations import Inset
from posterity.vision.windows.window_sum import WindowSum

_FACTOR = 1.2  # between sizes of a scene
_NEAR = 0.3  # overlap with an object from which on a window is left out
_UPSIDE_DOWN = 0.25  # share of scenes: what is no object upright is none upside down
_AT_ONCE = 16  # scenes that are searched before it is asked whether there are enough


@dataclass(frozen=True, eq=False)
class BackgroundWindows:
    """Windows (n, P, h, w), and the activations with which they passed."""

    pixels: Pixels
    activation: Array
    pass_rate: float  # of all windows that were looked at
    n_scenes: int  # that were looked through

    def __len__(self) -> int:
        return len(self.pixels)


@dataclass(frozen=True, eq=False)
class Background:
    """Scenes, and the boxes in them where objects are."""

    scenes: Sequence[Pixels]  # each (F, H, W)
    boxes: Sequence[Array]  # each (n, 4), whole objects
    window: tuple[int, int]
    channels: str
    inset: Inset
    mirror: bool = True

    def draw(self, n: int, least_contrast: float, rng: np.random.Generator) -> Pixels:
        """Windows of random scenes, sizes and places, about n."""
        found: list[Pixels] = []
        each = -(-2 * n // len(self.scenes))
        for scene in rng.permutation(len(self.scenes)):
            levels = list(self._build_levels(int(scene), rng))
            if not levels:  # smaller than a window
                continue
            sizes = np.array([level.frames[0].size for level, _ in levels], dtype=np.float64)
            # Large windows are rare among all windows, but differ more from each other.
            shares = np.sqrt(sizes) / np.sqrt(sizes).sum()
            for k, count in enumerate(rng.multinomial(each, shares)):
                level, avoided = levels[k]
                lines, columns = level.frames.shape[1:]
                y = rng.integers(lines - self.window[0] + 1, size=count)
                x = rng.integers(columns - self.window[1] + 1, size=count)
                places = np.column_stack([x, y, np.zeros(count)])
                places = self._leave_out_objects(places, level, avoided)
                found += self._cut(level, places)
        pixels = np.array(found, dtype=np.uint8).reshape(-1, self.n_planes, *self.window)
        varied = pixels[:, 0].std(axis=(1, 2)) > least_contrast
        return pixels[rng.permutation(np.flatnonzero(varied))[:n]]

    def search(
        self,
        cascade: WindowSum,
        n: int,
        most_per_scene: int,
        stride: int,
        rng: np.random.Generator,
        n_jobs: int = 1,
    ) -> BackgroundWindows:
        """Windows that the cascade passes, until there are n."""
        seeds = rng.integers(2**63, size=len(self.scenes))
        order = rng.permutation(len(self.scenes))
        pixels: list[Pixels] = []
        activation: list[float] = []
        counts, n_passed, n_scenes = 0, 0, 0

        def look(scene: int) -> tuple[list[Pixels], list[float], int, int]:
            own = np.random.default_rng(seeds[scene])
            return self._search_scene(cascade, int(scene), most_per_scene, stride, own)

        with concurrent.futures.ThreadPoolExecutor(n_jobs) as pool:
            for first in range(0, len(order), _AT_ONCE):
                for cut, values, looked, passed in pool.map(look, order[first : first + _AT_ONCE]):
                    pixels += cut
                    activation += values
                    counts, n_passed, n_scenes = counts + looked, n_passed + passed, n_scenes + 1
                if len(pixels) >= n:
                    break
        return BackgroundWindows(
            np.array(pixels, dtype=np.uint8).reshape(-1, self.n_planes, *self.window),
            np.array(activation),
            n_passed / max(counts, 1),
            n_scenes,
        )

    @property
    def n_planes(self) -> int:
        """Planes of a window."""
        return pyramid.count_planes(self.channels)

    def _search_scene(
        self, cascade: WindowSum, scene: int, most: int, stride: int, rng: np.random.Generator
    ) -> tuple[list[Pixels], list[float], int, int]:
        pixels: list[Pixels] = []
        activation: list[float] = []
        looked = passed = 0
        for level, avoided in self._build_levels(scene, rng):
            planes = pyramid.compute_planes(level.frames, self.channels)
            found, counts = scan.scan_planes(cascade, planes, stride)
            found = self._leave_out_objects(found, level, avoided)
            looked, passed = looked + int(counts[0]), passed + len(found)
            found = found[_draw_hard(found[:, 2], most, rng)]
            pixels += self._cut_planes(planes, found)
            activation += found[:, 2].tolist()
        chosen = _draw_hard(np.array(activation), most, rng)
        return [pixels[k] for k in chosen], [activation[k] for k in chosen], looked, passed

    def _build_levels(
        self, scene: int, rng: np.random.Generator
    ) -> Iterator[tuple[pyramid.Level, Array]]:
        """Sizes of a scene, mirrored or not, and the objects in it."""
        frames, boxes = self.scenes[scene], self.boxes[scene]
        _, height, width = frames.shape
        if self.mirror and rng.random() < 0.5:
            frames = frames[:, :, ::-1]
            boxes = np.abs(np.array([width, 0, width, 0]) - boxes)[:, [2, 1, 0, 3]]
        if rng.random() < _UPSIDE_DOWN:
            frames = frames[:, ::-1]
            boxes = np.abs(np.array([0, height, 0, height]) - boxes)[:, [0, 3, 2, 1]]
        frames = np.ascontiguousarray(frames)
        first = _FACTOR ** rng.random()
        for level in pyramid.build_levels(frames, self.window, _FACTOR, first, 1):
            yield level, boxes

    def _leave_out_objects(self, found: Array, level: pyramid.Level, boxes: Array) -> Array:
        if len(boxes) == 0 or len(found) == 0:
            return found
        windows = self.inset.enlarge(pyramid.place_boxes(found, level, self.window))
        return found[grouping.compute_overlaps(windows, boxes).max(axis=1) < _NEAR]

    def _cut(self, level: pyramid.Level, places: Array) -> list[Pixels]:
        if len(places) == 0:
            return []
        return self._cut_planes(pyramid.compute_planes(level.frames, self.channels), places)

    def _cut_planes(self, planes: Pixels, places: Array) -> list[Pixels]:
        height, width = self.window
        corners: NDArray[np.int64] = places[:, :2].astype(np.int64)
        return [planes[:, y : y + height, x : x + width].copy() for x, y in corners]


def _draw_hard(activation: Array, most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Places of at most this many windows, drawn by the slope of their log-probability.

    Windows of low activation hardly move what is learned next.
    """
    log_slope = -np.logaddexp(0.0, -activation)
    return np.argsort(-(log_slope + rng.gumbel(size=len(activation))))[:most]
