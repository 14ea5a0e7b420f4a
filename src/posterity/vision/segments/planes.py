"""Colour and texture of every pixel of an image, and how it differs from above and below."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from posterity.vision import filters, images
from posterity.vision.integrals import Pixels
from posterity.vision.segments import lines

Plane = NDArray[np.float32]

_SCALES = (1.0, 2.0, 4.0)  # pixels, of derivatives
_DIRECTIONS = ("vertical", "falling", "level", "rising")  # edges, not gradients
_STRIP = 0.08  # of the image, at its top and bottom
N_HUES, N_SATURATIONS = 6, 3

TEXTURE_NAMES = tuple(
    f"{kind} of {scale:g} pixels"
    for scale in _SCALES
    for kind in ("edges", *(f"{direction} edges" for direction in _DIRECTIONS), "spots")
)
"""Planes of texture."""

CONTEXT_NAMES = tuple(
    f"{name} less that {place}"
    for place in ("above", "below", "at the top", "at the bottom")
    for name in ("L*", "a*", "b*", "edges")
)
"""Planes of contrast within a column."""


@dataclass(frozen=True, eq=False)
class ImagePlanes:
    """Numbers of every pixel of an image.

    Attributes
    ----------
    color : array (6, H, W)
        L*, a*, b*, hue, saturation and value.
    texture : array (T, H, W)
        Strengths of derivatives at several scales and in four directions, and of Laplacians.
    context : array (K, H, W)
        Differences of L*, a*, b* and fine texture to the means above and below in the column, and
        to the strips at the top and the bottom of the image.
    hue_bin, texture_bin : array (H, W) of int
        Bin of hue and saturation; filter that answers most strongly.
    lines : Lines
        Straight lines.
    """

    color: Plane
    texture: Plane
    context: Plane
    hue_bin: NDArray[np.int64]
    texture_bin: NDArray[np.int64]
    lines: lines.Lines

    def average_image(self) -> NDArray[np.float32]:
        """Mean L*, a*, b*, hue and saturation of the image, and of edges at each scale."""
        step = len(TEXTURE_NAMES) // len(_SCALES)
        return np.concatenate([self.color[:5].mean((1, 2)), self.texture[::step].mean((1, 2))])


def compute_planes(image: Pixels) -> ImagePlanes:
    """Compute the planes of an image (H, W, 3) of uint8.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision.segments import planes
    >>> image = np.full((20, 30, 3), (0, 0, 255), dtype=np.uint8)
    >>> planes.compute_planes(image).color[:, 0, 0].round(1)
    array([  32.3,   79.2, -107.9,    0.7,    1. ,    1. ], dtype=float32)
    """
    share = image.astype(np.float32) / np.float32(255.0)
    hsv = np.moveaxis(images.import_skimage("color").rgb2hsv(share), -1, 0)
    lab = np.moveaxis(filters.convert_to_lab(image), -1, 0)
    light = np.ascontiguousarray(lab[0])
    texture = _filter_light(light)
    hue = np.minimum((hsv[0] * N_HUES).astype(np.int64), N_HUES - 1)
    saturation = np.minimum((hsv[1] * N_SATURATIONS).astype(np.int64), N_SATURATIONS - 1)
    return ImagePlanes(
        np.concatenate([lab, hsv]),
        texture,
        _compare_columns(np.concatenate([lab, texture[:1]])),
        hue * N_SATURATIONS + saturation,
        np.argmax(texture / texture.mean(axis=(1, 2), keepdims=True).clip(1e-6), axis=0),
        lines.find_lines(light),
    )


def _filter_light(light: Plane) -> Plane:
    """Strengths of gradients, also by direction, and of Laplacians: (6 x scales, H, W)."""
    found, n = [], len(_DIRECTIONS)
    for scale in _SCALES:
        down, right = (
            scale * ndimage.gaussian_filter(light, scale, order=order) for order in ((1, 0), (0, 1))
        )
        strength = np.hypot(down, right)
        angle = np.mod(np.arctan2(down, right), np.pi)
        bins = np.floor(angle * (n / np.pi) + 0.5).astype(np.int64) % n
        found.append(strength)
        found += [strength * (bins == k) for k in range(n)]
        found.append(np.abs(scale**2 * ndimage.gaussian_laplace(light, scale)))
    return np.stack(found).astype(np.float32)


def _compare_columns(planes: Plane) -> Plane:
    """Differences to means above, below, and to the strips at top and bottom: (4 C, H, W)."""
    height = planes.shape[1]
    total = np.cumsum(planes, axis=1, dtype=np.float64)
    n = np.arange(1, height + 1)[:, None]
    above = total / n
    below = (total[:, -1:] - total + planes) / (height + 1 - n)
    strip = max(int(_STRIP * height), 1)
    width = max(int(_STRIP * planes.shape[2]), 1)
    edges = [
        ndimage.uniform_filter1d(part.mean(axis=1), 2 * width + 1, axis=1)[:, None]
        for part in (planes[:, :strip], planes[:, -strip:])
    ]
    return np.concatenate([planes - other for other in (above, below, *edges)]).astype(np.float32)
