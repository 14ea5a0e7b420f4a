"""Coarse pictures of masks: how much of each cell of a grid a figure fills."""

from __future__ import annotations

import numpy as np

from posterity.arrays import Array
from posterity.vision import contours


def measure_occupancy(mask: contours.Mask, shape: tuple[int, int] = (12, 8)) -> Array:
    """Share of each cell of a grid that the largest region of a mask fills.

    The grid is as high as the figure, of square cells, with its middle column at the mean column of
    the figure; what lies beyond its sides is left out. It does not depend on size and place.

    Parameters
    ----------
    mask : array (H, W) of bool
        A mask that is not empty.
    shape : pair of int
        Rows and columns of the grid.

    Returns
    -------
    array (rows * columns,)

    Examples
    --------
    >>> import numpy as np
    >>> mask = np.zeros((10, 10), dtype=bool)
    >>> mask[2:6, 4:6] = mask[4:6, 6] = True
    >>> measure_occupancy(mask, (2, 2)).reshape(2, 2).round(2)
    array([[0.5, 0.5],
           [0.5, 1. ]])
    """
    n_rows, n_columns = shape
    region, _ = contours.find_largest_region(mask)
    rows, columns = (numbers.astype(np.float64) for numbers in np.nonzero(region))
    top, height = rows.min(), np.ptp(rows) + 1.0
    cell = height / n_rows
    across = (columns - columns.mean()) / cell + 0.5 * n_columns
    down = (rows + 0.5 - top) / cell
    counts, _, _ = np.histogram2d(down, across, bins=shape, range=((0.0, n_rows), (0.0, n_columns)))
    return np.asarray(counts.ravel() / cell**2)
