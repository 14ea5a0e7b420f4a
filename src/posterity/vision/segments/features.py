"""Features of segments: colour, texture, place, lines, and contrast.  [P9 9.12.4]"""

from __future__ import annotations

from itertools import accumulate

import numpy as np
from numpy.typing import NDArray
from scipy import special

from posterity.arrays import Array
from posterity.vision.segments.planes import (
    CONTEXT_NAMES,
    N_HUES,
    N_SATURATIONS,
    TEXTURE_NAMES,
    ImagePlanes,
    Lines,
)

Labels = NDArray[np.int64]
"""Number of the segment of each pixel, (H, W), from 0 without gaps."""

PLACE_NAMES = (
    *("row", "column", "distance to the middle column", "spread of rows", "spread of columns"),
    *("upper row", "lower row", "left column", "right column", "height", "width"),
    *("area", "share of its box", "border over root of area"),
    *("share of the top edge", "share of the bottom edge"),
    *("share of the left edge", "share of the right edge"),
    *("row below horizon", "upper row below horizon", "lower row below horizon"),
    *("row of the horizon", "doubt of the horizon"),
)
_KINDS = ("level", "vertical", "falling", "rising", "converging", "to the left", "to the right")
LINE_NAMES = (
    *("pixels of lines", *(f"pixels of {kind} lines" for kind in _KINDS[:4])),
    "pixels of lines below the horizon",
    *(f"share of {kind} lines" for kind in _KINDS),
    "mean length of lines",
)

_QUANTILES = (0.1, 0.9)
_NEAR = 0.75  # widths of the image, from its middle to where converging lines meet the horizon


class SegmentSums:
    """Sums over the pixels of each segment of a partition.

    Parameters
    ----------
    labels : array of shape (H, W), int64
        Number of the segment of each pixel, from 0 without gaps.

    Attributes
    ----------
    count : array of shape (n,)
        Number of pixels of each segment.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision.segments.features import SegmentSums
    >>> sums = SegmentSums(np.array([[0, 0, 1]]))
    >>> mean, std = sums.compute_moments(np.array([[[1.0, 3.0, 5.0]]]))
    >>> mean.ravel(), std.ravel()
    (array([2., 5.]), array([1., 0.]))
    """

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        self.count = np.bincount(labels.ravel()).astype(float)

    def compute_moments(self, planes: NDArray[np.floating]) -> tuple[Array, Array]:
        """Compute means and standard deviations (n, K) of planes (K, H, W)."""
        mean = self._average_planes(planes)
        variance = self._average_planes(np.square(planes, dtype=np.float64)) - mean**2
        return mean, np.sqrt(np.maximum(variance, 0.0))

    def compute_histogram(self, bins: NDArray[np.int64], n_bins: int) -> Array:
        """Compute the share of the pixels of each segment in each bin, (n, n_bins)."""
        n = len(self.count)
        at = self.labels.ravel() * n_bins + bins.ravel()
        return np.bincount(at, minlength=n * n_bins).reshape(n, n_bins) / self.count[:, None]

    def _average_planes(self, planes: NDArray[np.floating]) -> Array:
        n, flat = len(self.count), self.labels.ravel()
        total = [np.bincount(flat, plane.ravel(), n) for plane in planes]
        return np.column_stack(total) / self.count[:, None]


def locate_segments(lines: Lines, sums: SegmentSums) -> Array:
    """Measure place, extent, size and shape in heights and widths of the image, (n, 23).

    Parameters
    ----------
    lines : Lines
        Lines of the image and its horizon.
    sums : SegmentSums
        Segments of a partition.
    """
    labels, count = sums.labels, sums.count
    height, width = labels.shape
    n, flat = len(count), labels.ravel()
    rows, columns = np.mgrid[:height, :width]
    places = np.stack([(rows + 0.5) / height, (columns + 0.5) / width])
    middle, spread = sums.compute_moments(places)
    row, column = middle.T
    ends = np.column_stack([_find_ends(flat, place.ravel(), count) for place in places])
    extent = ends[:, 1::2] - ends[:, ::2]
    edges = (labels[0], labels[-1], labels[:, 0], labels[:, -1])
    touching = [np.bincount(edge, minlength=n) / len(edge) for edge in edges]
    box = extent[:, 0] * extent[:, 1] * labels.size
    horizon = np.tile([lines.horizon, lines.horizon_std], (n, 1))
    return np.column_stack(
        [
            *(row, column, np.abs(column - 0.5), spread, ends, extent),
            *(count / labels.size, count / (box + 1.0), _count_borders(labels, n) / np.sqrt(count)),
            *(*touching, row - lines.horizon, ends[:, :2] - lines.horizon, horizon),
        ]
    )


def describe_lines(lines: Lines, sums: SegmentSums) -> Array:
    """Measure the length, direction and vanishing side of the lines in segments, (n, 14)."""
    labels, count = sums.labels, sums.count
    n = len(count)
    on = lines.owner >= 0
    segment, line = labels[on], lines.owner[on]
    total = np.bincount(segment, minlength=n).astype(float)
    below = np.nonzero(on)[0] > lines.horizon * labels.shape[0]
    crossing = lines.find_crossings()
    slanted = ~(lines.is_level | lines.is_vertical)
    kinds = (
        *(lines.is_level, lines.is_vertical),
        *(slanted & (lines.angle > 0.0), slanted & (lines.angle <= 0.0)),
        slanted & (np.abs(crossing - 0.5) < _NEAR),
        *(slanted & (crossing < 0.0), slanted & (crossing > 1.0)),
    )
    pixels = np.column_stack([np.bincount(segment, kind[line], n) for kind in kinds])
    length = np.bincount(segment, lines.length[line], n) / np.maximum(total, 1.0)
    amounts = np.column_stack([total, pixels[:, :4], np.bincount(segment, below, n)])
    return np.column_stack(
        [
            amounts / np.sqrt(count)[:, None],
            pixels / np.maximum(total, 1.0)[:, None],
            length / np.hypot(*labels.shape),
        ]
    )


def average_neighbours(labels: Labels, values: Array) -> Array:
    """Average the values (n, D) of the neighbours of each segment by the length of the border.

    A segment without neighbours has its own values.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision.segments import features
    >>> labels = np.array([[0, 1, 2]])
    >>> features.average_neighbours(labels, np.array([[1.0], [5.0], [3.0]])).ravel()
    array([5., 2., 5.])
    """
    n = len(values)
    pairs = _list_borders(labels)
    first, second = np.concatenate([pairs, pairs[::-1]], axis=1)
    key, length = np.unique(first * n + second, return_counts=True)
    first, second = np.divmod(key, n)
    total = np.bincount(first, length, n)
    sums = [np.bincount(first, length * column[second], n) for column in values.T]
    around = np.column_stack(sums) / np.maximum(total, 1.0)[:, None]
    return np.where(total[:, None] > 0.0, around, values)


def _find_ends(flat: NDArray[np.int64], values: Array, count: Array) -> Array:
    """Find two quantiles of the values of each segment, (n, 2)."""
    order = np.lexsort((values, flat))
    start = np.cumsum(count) - count
    at = [(start + q * (count - 1.0)).astype(np.int64) for q in _QUANTILES]
    return values[order][np.column_stack(at)]


def _count_borders(labels: Labels, n: int) -> Array:
    """Count the pixel edges that each segment shares with others."""
    return np.bincount(_list_borders(labels).ravel(), minlength=n).astype(float)


def _list_borders(labels: Labels) -> NDArray[np.int64]:
    """List pairs (2, m) of different segments at adjacent pixels, down or right."""
    down = np.stack([labels[:-1].ravel(), labels[1:].ravel()])
    right = np.stack([labels[:, :-1].ravel(), labels[:, 1:].ravel()])
    pairs = np.concatenate([down, right], axis=1)
    return pairs[:, pairs[0] != pairs[1]]


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
    "place": PLACE_NAMES,
    "lines": LINE_NAMES,
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
"""Places of the features of colour, texture, place, lines, contrast, and of the whole image."""


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
    off = own - average_neighbours(labels, own)
    image = planes.average_image()
    hue_entropy, texture_entropy = (np.sum(special.entr(p), axis=1) for p in (hues, textures))
    return np.column_stack(
        [
            *(color, spread, hues, hue_entropy),
            *(texture, texture_spread[:, ::_PER_SCALE], textures, texture_entropy),
            locate_segments(planes.lines, sums),
            describe_lines(planes.lines, sums),
            *(off, np.abs(off[:, :3]), context, context_spread, color[:, :3] - image[:3]),
            np.tile(image, (len(color), 1)),
        ]
    )
