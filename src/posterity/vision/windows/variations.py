"""Variations of patches: mirrored, shifted, turned, of other sizes, contrast and sharpness."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array
from posterity.vision import resizing
from posterity.vision.integrals import Pixels

_FINEST = 1.6  # pixels of a patch for one of the window: more are averaged before it is turned


@dataclass(frozen=True)
class Variations:
    """How far variations of a patch go; standard deviations unless said otherwise."""

    mirror: bool = True
    shift: float = 0.02  # of the side of the window
    log_scale: float = 0.04
    degrees: float = 4.0
    log_gamma: float = 0.15
    blurred: float = 0.3  # share of patches
    noise: float = 3.0  # gray values, at most


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
    patches = _coarsen(patches, size, inset)
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


def _coarsen(patches: Pixels, size: tuple[int, int], inset: Inset) -> Pixels:
    """Average pixels of patches that are much finer than windows."""
    height, width = patches.shape[2:]
    finest = _FINEST * size[0] / inset.height, _FINEST * size[1] / inset.width
    if height <= finest[0] and width <= finest[1]:
        return patches
    to = min(height, int(finest[0])), min(width, int(finest[1]))
    flat = patches.reshape(-1, height, width)
    small = np.stack([resizing.resize_by_area(plane, *to) for plane in flat])
    return small.reshape(*patches.shape[:2], *to)


def _find_maps(
    patch: tuple[int, ...],
    size: tuple[int, int],
    inset: Inset,
    n: int,
    variations: Variations | None,
    rng: np.random.Generator | None,
) -> Array:
    """Where pixels of windows come from: y = m0 + m1 i + m2 j and x = m3 + m4 i + m5 j, (n, 6)."""
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
            edges = [(0, 0)] * 4
            edges[axis] = (1, 1)
            wide = np.pad(soft, edges, mode="edge")
            k = wide.shape[axis]
            parts = [np.take(wide, np.arange(s, k - 2 + s), axis=axis) for s in range(3)]
            soft = 0.25 * (parts[0] + 2.0 * parts[1] + parts[2])
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
        y0, yi, yj, x0, xi, xj = (
            maps[n, 0],
            maps[n, 1],
            maps[n, 2],
            maps[n, 3],
            maps[n, 4],
            maps[n, 5],
        )
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
