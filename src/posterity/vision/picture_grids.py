"""The grids of an image, its pixels, samples and cells of samples, and values between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array

Map = NDArray[np.float32]


def interpolate_map(values: Map, rows: Array, columns: Array) -> Map:
    """Values (h, w, C) at rows (n,) and columns (m,) between grid points, (n, m, C).

    Beyond the first and the last point, values are those there.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import picture_grids
    >>> values = np.array([[[0.0], [4.0]]], dtype=np.float32)
    >>> picture_grids.interpolate_map(values, np.array([0.0]), np.array([-1.0, 0.25, 3.0])).ravel()
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
