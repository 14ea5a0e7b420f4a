"""Windows to learn from: varied patches of objects, and windows of scenes without them."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array
from posterity.vision import resizing
from posterity.vision.integrals import Pixels
from posterity.vision.windows import grouping, pyramid, scan
from posterity.vision.windows.pyramid import Inset
from posterity.vision.windows.window_sum import WindowSum

_FINEST = 1.6  # pixels of a patch for one of the window: more are averaged before it is turned


@dataclass(frozen=True)
class Variations:
    """Sizes of the variations of a patch; standard deviations unless said otherwise."""

    mirror: bool = True
    shift: float = 0.02  # of the side of the window
    log_scale: float = 0.04
    degrees: float = 4.0
    log_gamma: float = 0.15
    blurred: float = 0.3  # share of patches
    noise: float = 3.0  # gray values, at most


def cut_windows(
    patches: Pixels,
    size: tuple[int, int],
    inset: Inset,
    n: int | None = None,
    variations: Variations | None = None,
    rng: np.random.Generator | None = None,
) -> Pixels:
    """Windows of patches, as they are or varied.

    Parameters
    ----------
    patches : array (N, P, H, W) of uint8
        Patches of one or more planes, which are varied alike but for contrast.
    size : tuple
        Height and width of windows.
    inset : Inset
        The part that windows show.
    n : int, optional
        How many windows of patches drawn at random; None: one of each.
    variations : Variations, optional
        What is varied; None: nothing.
    rng : Generator, optional
        Source of random numbers.

    Returns
    -------
    array (n, P, height, width) of uint8
    """
    patches = _coarsen_patches(patches, size, inset)
    chosen = (
        np.arange(len(patches)) if n is None or rng is None else rng.integers(len(patches), size=n)
    )
    maps = _find_maps(patches.shape[2:], size, inset, len(chosen), variations, rng)
    out = np.empty((len(chosen), patches.shape[1], *size), dtype=np.uint8)
    _warp(patches, chosen, maps, out)
    if variations is None or rng is None:
        return out
    return _change_light(out, variations, rng)


def vary_patches(patches: Pixels, variations: Variations, rng: np.random.Generator) -> Pixels:
    """One variation of each patch, whole and of its size; (N, P, H, W)."""
    height, width = patches.shape[2:]
    chosen = np.arange(len(patches))
    maps = _find_maps((height, width), (height, width), Inset(), len(patches), variations, rng)
    out = np.empty_like(patches)
    _warp(np.ascontiguousarray(patches), chosen, maps, out)
    return _change_light(out, variations, rng)


def _coarsen_patches(patches: Pixels, size: tuple[int, int], inset: Inset) -> Pixels:
    """Average pixels of patches that are much finer than windows."""
    height, width = patches.shape[2:]
    finest = _FINEST * size[0] / inset.height, _FINEST * size[1] / inset.width
    if height <= finest[0] and width <= finest[1]:
        return patches
    to = min(height, int(finest[0])), min(width, int(finest[1]))
    return resizing.resize_planes(patches, *to)


def _find_maps(
    patch: tuple[int, ...],
    size: tuple[int, int],
    inset: Inset,
    n: int,
    variations: Variations | None,
    rng: np.random.Generator | None,
) -> Array:
    """Sources of the pixels of windows: y = m0 + m1 i + m2 j and x = m3 + m4 i + m5 j, (n, 6)."""
    height, width = patch
    down, across = inset.height * height / size[0], inset.width * width / size[1]
    y = np.full(n, (inset.top + 0.5 * inset.height) * height - 0.5)
    x = np.full(n, (inset.left + 0.5 * inset.width) * width - 0.5)
    grow, turn, flip = np.ones(n), np.zeros(n), np.ones(n)
    if variations is not None and rng is not None:
        y += rng.normal(scale=variations.shift * inset.height * height, size=n)
        x += rng.normal(scale=variations.shift * inset.width * width, size=n)
        grow = np.exp(rng.normal(scale=variations.log_scale, size=n))
        turn = np.radians(rng.normal(scale=variations.degrees, size=n))
        if variations.mirror:
            flip = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    yi, yj = down * grow * np.cos(turn), across * grow * np.sin(turn) * flip
    xi, xj = -down * grow * np.sin(turn), across * grow * np.cos(turn) * flip
    i, j = 0.5 * (size[0] - 1), 0.5 * (size[1] - 1)
    return np.column_stack([y - yi * i - yj * j, yi, yj, x - xi * i - xj * j, xi, xj])


def _change_light(windows: Pixels, variations: Variations, rng: np.random.Generator) -> Pixels:
    """Change gamma and sharpness of all planes alike, and add noise."""
    gamma = np.exp(rng.normal(scale=variations.log_gamma, size=len(windows)))
    noise = rng.random(len(windows)) * variations.noise
    blurred = rng.random(len(windows)) < variations.blurred
    out = np.empty_like(windows)
    for first in range(0, len(windows), 1000):  # bounded memory
        block = slice(first, first + 1000)
        values = windows[block].astype(np.float32) / 255.0
        soft = values[blurred[block]]
        for axis in (2, 3):
            wide = np.pad(soft, [(0, 0)] * axis + [(1, 1)] + [(0, 0)] * (3 - axis), mode="edge")
            before, own, after = (
                np.take(wide, np.arange(k, k + soft.shape[axis]), axis=axis) for k in range(3)
            )
            soft = 0.25 * (before + 2.0 * own + after)
        values[blurred[block]] = soft
        values = 255.0 * values ** gamma[block, None, None, None].astype(np.float32)
        values += noise[block, None, None, None] * rng.standard_normal(
            values.shape, dtype=np.float32
        )
        out[block] = np.clip(np.rint(values), 0, 255).astype(np.uint8)
    return out


@compilation.compile_at_first_call
def _warp(patches: Pixels, chosen: NDArray[np.int64], maps: Array, out: Pixels) -> None:
    """Interpolate linearly; beyond the edge of a patch its last pixels go on."""
    height, width = patches.shape[2:]
    for n in range(len(chosen)):
        y0, yi, yj, x0, xi, xj = maps[n]
        for i in range(out.shape[2]):
            for j in range(out.shape[3]):
                y = min(max(y0 + yi * i + yj * j, 0.0), height - 1.0)
                x = min(max(x0 + xi * i + xj * j, 0.0), width - 1.0)
                top, left = int(y), int(x)
                below, right = min(top + 1, height - 1), min(left + 1, width - 1)
                v, u = y - top, x - left
                for p in range(out.shape[1]):
                    image = patches[chosen[n], p]
                    upper = (1.0 - u) * image[top, left] + u * image[top, right]
                    lower = (1.0 - u) * image[below, left] + u * image[below, right]
                    out[n, p, i, j] = np.uint8((1.0 - v) * upper + v * lower + 0.5)


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
        counts, n_passed = 0, 0

        def look(scene: int) -> tuple[list[Pixels], list[float], int, int]:
            own = np.random.default_rng(seeds[scene])
            return self._search_scene(cascade, int(scene), most_per_scene, stride, own)

        with concurrent.futures.ThreadPoolExecutor(n_jobs) as pool:
            for first in range(0, len(order), _AT_ONCE):
                for cut, values, looked, passed in pool.map(look, order[first : first + _AT_ONCE]):
                    pixels += cut
                    activation += values
                    counts, n_passed = counts + looked, n_passed + passed
                if len(pixels) >= n:
                    break
        return BackgroundWindows(
            np.array(pixels, dtype=np.uint8).reshape(-1, self.n_planes, *self.window),
            np.array(activation),
            n_passed / max(counts, 1),
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
