"""Place and shape of segments, their neighbours, and the lines in them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.vision.segments.lines import Lines
from posterity.vision.segments.segment_sums import SegmentSums
from posterity.vision.segments.segmentations import Labels

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
    >>> from posterity.vision.segments import geometry
    >>> labels = np.array([[0, 1, 2]])
    >>> geometry.average_neighbours(labels, np.array([[1.0], [5.0], [3.0]])).ravel()
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
