"""Linear interpolation of maps of numbers between the points of a grid."""

from __future__ import annotations

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
    >>> from posterity.vision import interpolation
    >>> values = np.array([[[0.0], [4.0]]], dtype=np.float32)
    >>> interpolation.interpolate_map(values, np.array([0.0]), np.array([-1.0, 0.25, 3.0])).ravel()
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
