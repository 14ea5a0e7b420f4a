"""Features of segments: colour, texture, place, lines, and contrast.  [P9 9.12.4]"""

from __future__ import annotations

from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.vision.segments import geometry
from posterity.vision.segments.planes import (
    CONTEXT_NAMES,
    N_HUES,
    N_SATURATIONS,
    TEXTURE_NAMES,
    ImagePlanes,
)
from posterity.vision.segments.segmentations import Labels

_COLORS = ("L*", "a*", "b*", "hue", "saturation", "value")
_PER_SCALE = 6  # planes of texture: all directions, each of four, Laplacian

_NAMES: dict[str, tuple[str, ...]] = {
    "colour": (
        *_COLORS,
        *(f"spread of {name}" for name in _COLORS),
        *(f"share of colour {k}" for k in range(N_HUES * N_SATURATIONS)),
        "entropy of colours",
    ),
    "texture": (
        *TEXTURE_NAMES,
        *(f"spread of {name}" for name in TEXTURE_NAMES[::_PER_SCALE]),
        *(f"share of strongest {name}" for name in TEXTURE_NAMES),
        "entropy of textures",
    ),
    "place": geometry.PLACE_NAMES,
    "lines": geometry.LINE_NAMES,
    "contrast": (
        *(f"{name} less that around" for name in (*_COLORS[:3], *TEXTURE_NAMES)),
        *(f"distance of {name} to that around" for name in _COLORS[:3]),
        *CONTEXT_NAMES,
        *(f"spread of {name}" for name in CONTEXT_NAMES),
        *(f"{name} less that of the image" for name in _COLORS[:3]),
    ),
    "image": (
        *(f"{name} of the image" for name in _COLORS[:5]),
        *(f"{name} of the image" for name in TEXTURE_NAMES[::_PER_SCALE]),
    ),
}
_ENDS = tuple(accumulate(len(names) for names in _NAMES.values()))

FEATURE_NAMES = tuple(name for names in _NAMES.values() for name in names)
"""Names of the features of a segment, in order."""

CUES = {
    cue: slice(end - len(names), end)
    for (cue, names), end in zip(_NAMES.items(), _ENDS, strict=True)
}
"""Which features are of colour, texture, place, lines, contrast, and of the whole image."""


def describe_segments(planes: ImagePlanes, labels: Labels) -> Array:
    """Describe each segment of a partition, (n, D).

    Parameters
    ----------
    planes : ImagePlanes
        What the pixels of the image show.
    labels : array of shape (H, W), int64
        Number of the segment of each pixel.
    """
    sums = _SegmentSums(labels)
    color, spread = sums.moments(planes.color)
    texture, texture_spread = sums.moments(planes.texture)
    context, context_spread = sums.moments(planes.context)
    hues = sums.histogram(planes.hue_bin, N_HUES * N_SATURATIONS)
    textures = sums.histogram(planes.texture_bin, len(TEXTURE_NAMES))
    own = np.column_stack([color[:, :3], texture])
    off = own - geometry.average_neighbours(labels, own)
    image = planes.average_image()
    return np.column_stack(
        [
            *(color, spread, hues, _entropy(hues)),
            *(texture, texture_spread[:, ::_PER_SCALE], textures, _entropy(textures)),
            geometry.locate_segments(planes.lines, labels, sums.count),
            geometry.describe_lines(planes.lines, labels, sums.count),
            *(off, np.abs(off[:, :3]), context, context_spread, color[:, :3] - image[:3]),
            np.tile(image, (len(color), 1)),
        ]
    )


class _SegmentSums:
    """Sums over the pixels of each segment."""

    def __init__(self, labels: Labels) -> None:
        self.flat = labels.ravel()
        self.count = np.bincount(self.flat).astype(float)

    def moments(self, planes: NDArray[np.float32]) -> tuple[Array, Array]:
        """Means and standard deviations (n, K) of planes (K, H, W)."""
        mean = self._average(planes)
        variance = self._average(np.square(planes, dtype=np.float64)) - mean**2
        return mean, np.sqrt(np.maximum(variance, 0.0))

    def histogram(self, bins: NDArray[np.int64], n_bins: int) -> Array:
        """Share of the pixels in each bin, (n, n_bins)."""
        n = len(self.count)
        counts = np.bincount(self.flat * n_bins + bins.ravel(), minlength=n * n_bins)
        return counts.reshape(n, n_bins) / self.count[:, None]

    def _average(self, planes: NDArray[np.floating]) -> Array:
        n = len(self.count)
        total = [np.bincount(self.flat, plane.ravel(), n) for plane in planes]
        return np.column_stack(total) / self.count[:, None]


def _entropy(p: Array) -> Array:
    """Entropy of distributions (n, K), in nats."""
    return -np.sum(p * np.log(np.maximum(p, 1e-300)), axis=1)
