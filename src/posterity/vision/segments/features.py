"""Features of segments: colour, texture, place, lines, and contrast.  [P9 9.12.4]"""

from __future__ import annotations

from itertools import accumulate

import numpy as np
from scipy import special

from posterity.arrays import Array
from posterity.vision.segments import geometry
from posterity.vision.segments.planes import (
    CONTEXT_NAMES,
    N_HUES,
    N_SATURATIONS,
    TEXTURE_NAMES,
    ImagePlanes,
)
from posterity.vision.segments.segment_sums import SegmentSums
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
    """Describe each segment of a partition by D features, (n, D).

    Parameters
    ----------
    planes : ImagePlanes
        Colour, texture, context and lines of the image.
    labels : array of shape (H, W), int64
        Number of the segment of each pixel.
    """
    sums = SegmentSums(labels)
    color, spread = sums.compute_moments(planes.color)
    texture, texture_spread = sums.compute_moments(planes.texture)
    context, context_spread = sums.compute_moments(planes.context)
    hues = sums.compute_histogram(planes.hue_bin, N_HUES * N_SATURATIONS)
    textures = sums.compute_histogram(planes.texture_bin, len(TEXTURE_NAMES))
    own = np.column_stack([color[:, :3], texture])
    off = own - geometry.average_neighbours(labels, own)
    image = planes.average_image()
    hue_entropy, texture_entropy = (np.sum(special.entr(p), axis=1) for p in (hues, textures))
    return np.column_stack(
        [
            *(color, spread, hues, hue_entropy),
            *(texture, texture_spread[:, ::_PER_SCALE], textures, texture_entropy),
            geometry.locate_segments(planes.lines, sums),
            geometry.describe_lines(planes.lines, sums),
            *(off, np.abs(off[:, :3]), context, context_spread, color[:, :3] - image[:3]),
            np.tile(image, (len(color), 1)),
        ]
    )
