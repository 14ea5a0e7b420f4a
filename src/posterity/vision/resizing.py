"""Images of other sizes, in whole numbers, and values between the points of their grids."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array
from posterity.vision.integrals import Pixels

_ONE = 256  # of the weights of linear interpolation
_UNIT = 1 << 11  # of the weights of areas: sums of squares of it have room in 32 bits


def resize_linearly(image: Pixels, height: int, width: int) -> Pixels:
    """Interpolate between pixel centres, with weights in 1/256 as OpenCV's INTER_LINEAR_EXACT.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import resizing
    >>> resizing.resize_linearly(np.array([[0, 100]], dtype=np.uint8), 1, 4)
    array([[  0,  25,  75, 100]], dtype=uint8)
    """
    if image.shape == (height, width):
        return image
    out = np.empty((height, width), dtype=np.uint8)
    image = np.ascontiguousarray(image)
    _interpolate(image, *_weigh(image.shape[0], height), *_weigh(image.shape[1], width), out)
    return out


def resize_by_area(image: Pixels, height: int, width: int) -> Pixels:
    """Average the part of the image under each pixel; where it grows, interpolate linearly.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import resizing
    >>> resizing.resize_by_area(np.array([[0, 100, 200]], dtype=np.uint8), 1, 2)
    array([[ 33, 167]], dtype=uint8)
    """
    if height > image.shape[0] or width > image.shape[1]:
        return resize_linearly(image, height, width)
    if image.shape == (height, width):
        return image
    out = np.empty((height, width), dtype=np.uint8)
    image = np.ascontiguousarray(image)
    _average(image, *_cover(image.shape[0], height), *_cover(image.shape[1], width), out)
    return out


def resize_planes(planes: Pixels, height: int, width: int) -> Pixels:
    """Resize the planes of an array (..., H, W), each as :func:`resize_by_area` does.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import resizing
    >>> resizing.resize_planes(np.zeros((2, 3, 60, 80), dtype=np.uint8), 30, 40).shape
    (2, 3, 30, 40)
    """
    *some, old_height, old_width = planes.shape
    flat = planes.reshape(-1, old_height, old_width)
    small = [resize_by_area(plane, height, width) for plane in flat]
    return np.stack(small).reshape(*some, height, width)


def scale_image(image: Pixels, side: int) -> Pixels:
    """Resize an image (H, W, 3) to a longest side of so many pixels.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import resizing
    >>> resizing.scale_image(np.zeros((600, 800, 3), dtype=np.uint8), 320).shape
    (240, 320, 3)
    """
    shape = find_scaled_shape(image.shape, side)
    if shape == image.shape[:2]:
        return image
    return np.stack([resize_by_area(image[..., c], *shape) for c in range(3)], axis=-1)


def find_scaled_shape(shape: tuple[int, ...], side: int) -> tuple[int, int]:
    """Find height and width of an image whose longest side has so many pixels."""
    factor = side / max(shape[:2])
    return max(round(shape[0] * factor), 1), max(round(shape[1] * factor), 1)


def halve(image: Pixels) -> Pixels:
    """Average squares of two by two pixels; an odd last line or column is left out."""
    out = np.empty((image.shape[0] // 2, image.shape[1] // 2), dtype=np.uint8)
    _halve(image, out)
    return out


@functools.lru_cache(maxsize=1024)  # images of one size come one after the other
def _weigh(old: int, new: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """For each new pixel the first of two old ones, and the weight of the second in 1/256."""
    at = (1.0 / (new / old)) * (np.arange(new) + 0.5) - 0.5
    first = np.floor(at).astype(np.int32)
    weight = np.rint((at - first) * _ONE).astype(np.int32)
    weight[(first < 0) | (first >= old - 1)] = 0
    return np.clip(first, 0, old - 1), weight


@functools.lru_cache(maxsize=1024)
def _cover(old: int, new: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """For each new pixel the first old one under it, and the weights of all of them."""
    ends = np.arange(new + 1) * (old / new)
    first = np.minimum(np.floor(ends[:-1] + 1e-9).astype(np.int32), old - 1)
    most = int(np.ceil(old / new)) + 1
    pixels = first[:, None] + np.arange(most)
    lengths = np.minimum(pixels + 1, ends[1:, None]) - np.maximum(pixels, ends[:-1, None])
    lengths = np.where(pixels < old, np.maximum(lengths, 0.0), 0.0)
    weights = np.rint(lengths * (_UNIT * new / old)).astype(np.int32)
    biggest = np.argmax(weights, axis=1)
    weights[np.arange(new), biggest] += _UNIT - weights.sum(axis=1)  # so that white stays white
    return first, weights


@compilation.compile_at_first_call
def _interpolate(
    image: Pixels,
    tops: NDArray[np.int32],
    downs: NDArray[np.int32],
    lefts: NDArray[np.int32],
    rights: NDArray[np.int32],
    out: Pixels,
) -> None:
    height, width = out.shape
    lines = np.empty((2, width), dtype=np.int32)
    known = np.full(2, -1)
    for y in range(height):
        for k in range(2):
            line = min(tops[y] + k, image.shape[0] - 1)
            if known[line % 2] != line:
                row, wide = image[line], lines[line % 2]
                for x in range(width):
                    first, weight = lefts[x], rights[x]
                    after = min(first + 1, len(row) - 1)
                    wide[x] = (_ONE - weight) * np.int32(row[first]) + weight * np.int32(row[after])
                known[line % 2] = line
        upper, lower = lines[tops[y] % 2], lines[min(tops[y] + 1, image.shape[0] - 1) % 2]
        weight = downs[y]
        for x in range(width):
            total = (_ONE - weight) * upper[x] + weight * lower[x]
            out[y, x] = (total + _ONE * _ONE // 2) // (_ONE * _ONE)


@compilation.compile_at_first_call
def _average(
    image: Pixels,
    tops: NDArray[np.int32],
    downs: NDArray[np.int32],
    lefts: NDArray[np.int32],
    rights: NDArray[np.int32],
    out: Pixels,
) -> None:
    """Down the columns first, which compiles to vector instructions, and then along the line."""
    height, width = out.shape
    old = image.shape[1]
    line = np.zeros(old + rights.shape[1], dtype=np.int32)
    for y in range(height):
        line[:old] = 0
        for k in range(downs.shape[1]):
            weight = downs[y, k]
            if weight != 0:
                row = image[tops[y] + k]
                for x in range(old):
                    line[x] += weight * np.int32(row[x])
        for x in range(width):
            total = np.int64(0)
            for k in range(rights.shape[1]):
                total += np.int64(rights[x, k]) * line[lefts[x] + k]
            out[y, x] = (total + _UNIT * _UNIT // 2) // (_UNIT * _UNIT)


@compilation.compile_at_first_call
def _halve(image: Pixels, out: Pixels) -> None:
    for y in range(out.shape[0]):
        upper, lower = image[2 * y], image[2 * y + 1]
        for x in range(out.shape[1]):
            total = np.int32(upper[2 * x]) + np.int32(upper[2 * x + 1])
            total += np.int32(lower[2 * x]) + np.int32(lower[2 * x + 1])
            out[y, x] = (total + 2) >> 2


Map = NDArray[np.float32]


def interpolate_map(values: Map, rows: Array, columns: Array) -> Map:
    """Values (h, w, C) at rows (n,) and columns (m,) between grid points, (n, m, C).

    Beyond the first and the last point, values are those there.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import resizing
    >>> values = np.array([[[0.0], [4.0]]], dtype=np.float32)
    >>> resizing.interpolate_map(values, np.array([0.0]), np.array([-1.0, 0.25, 3.0])).ravel()
    array([0., 1., 4.], dtype=float32)
    """
    first, second, share = _find_neighbours(rows, values.shape[0])
    between = values[first] + (values[second] - values[first]) * share[:, None, None]
    first, second, share = _find_neighbours(columns, values.shape[1])
    here, there = np.take(between, first, axis=1), np.take(between, second, axis=1)
    there -= here
    there *= share[:, None]
    there += here
    return there


def _find_neighbours(
    at: Array, n: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float32]]:
    """The grid points on either side, and the share of the second."""
    place = np.clip(at, 0.0, n - 1.0)
    first = np.floor(place).astype(np.intp)
    return first, np.minimum(first + 1, n - 1), (place - first).astype(np.float32)


@dataclass(frozen=True)
class PictureGrids:
    """Places of samples and cells of a reduced image in the image itself.

    Attributes
    ----------
    shape : tuple of int
        Height and width of the image.
    reduced : tuple of int
        Those of its reduced copy.
    every : int
        Pixels of the copy from one sample to the next; the first pixel is a sample.
    cell : int
        Pixels of the copy along the side of a cell.
    """

    shape: tuple[int, int]
    reduced: tuple[int, int]
    every: int
    cell: int

    def label_cells(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Labels in the middle of each cell, from those of the image (H, W)."""
        middle = (0.5 * self.cell - 0.5, self.cell)
        return labels[np.ix_(*(self._find_pixels(k, *middle) for k in range(2)))]

    def label_samples(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Labels at each sample, from those of the image (H, W)."""
        return labels[np.ix_(*(self._find_pixels(k, 0.0, self.every) for k in range(2)))]

    def spread_cells(self, values: Map) -> Map:
        """Values at samples, between those of cells (h, w, C)."""
        first = 0.5 * self.cell - 0.5
        rows, columns = ((np.arange(0, n, self.every) - first) / self.cell for n in self.reduced)
        return interpolate_map(values, rows, columns)

    def spread_samples(self, values: Map) -> Map:
        """Values at all pixels of the image, between those of samples (h, w, C)."""
        rows, columns = (self._find_samples(k) for k in range(2))
        return interpolate_map(values, rows, columns)

    def _find_pixels(self, axis: int, first: float, step: int) -> NDArray[np.intp]:
        """Pixels of the image under points of the copy, along one axis."""
        n, reduced = self.shape[axis], self.reduced[axis]
        at = np.minimum(first + step * np.arange(-(-reduced // step)), reduced - 1)
        pixels = np.floor((at + 0.5) * (n / reduced)).astype(np.intp)
        return np.minimum(pixels, n - 1)

    def _find_samples(self, axis: int) -> Array:
        """Places of the pixels of the image among samples, along one axis."""
        n, reduced = self.shape[axis], self.reduced[axis]
        return ((np.arange(n) + 0.5) * (reduced / n) - 0.5) / self.every
