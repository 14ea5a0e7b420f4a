"""Silhouettes as a few hundred numbers: signed distances to the outline, on a coarse grid."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from posterity.arrays import Array
from posterity.vision.masks import Mask, list_masks

CELLS = (24, 18)
"""Rows and columns of the grid."""

_POINTS = 5  # along either side of a cell
_MARGIN = 0.05  # of the height of the grid, above and below a person
_REACH = 0.055  # of the height of a person: distances beyond are cut off
_MOST_ROWS = 240  # of a person: larger masks are reduced first
_LEAST_ROWS = 3  # of a person
_PAD = 2


def measure_masks(X: Any) -> Array:
    """Signed distances to the outlines of silhouettes, (N, 432).

    Each silhouette is scaled to the same height and centred by its mean column, so that its place
    and its size in the image do not matter. Distances are positive inside, in units of the height,
    and cut off at 0.055; each number is the mean over a cell of a grid of 24 x 18.

    Parameters
    ----------
    X : array of shape (H, W) or (N, H, W), or sequence of arrays (H, W)
        Masks: other than zero where the person is.

    Examples
    --------
    >>> import numpy as np
    >>> mask = np.zeros((60, 40), dtype=bool)
    >>> mask[10:50, 15:25] = True
    >>> measured = measure_masks([mask, np.roll(mask, 5, axis=1)])
    >>> measured.shape, bool(np.allclose(measured[0], measured[1]))
    ((2, 432), True)
    """
    people = [_check_person(mask, k) for k, mask in enumerate(list_masks(X))]
    if not people:
        raise ValueError("There are no masks.")
    return np.stack([_measure_mask(mask) for mask in people])


def _check_person(mask: Mask, number: int) -> Mask:
    """Refuse a silhouette of fewer than three rows of pixels."""
    if np.count_nonzero(mask.any(axis=1)) < _LEAST_ROWS:
        raise ValueError(f"Mask {number} shows no person: fewer than three of its rows are set.")
    return mask


def _measure_mask(mask: NDArray[np.bool_]) -> Array:
    person = _cut_out(mask)
    height = len(person) - 2 * _PAD
    rows, columns = _place_points(person, height)
    distance = ndimage.distance_transform_edt(person) - ndimage.distance_transform_edt(~person)
    # Beyond the cut the distance to its edge is added.
    inside = [np.clip(x, 0, n - 1) for x, n in zip((rows, columns), person.shape, strict=True)]
    beyond = np.hypot(*(x - near for x, near in zip((rows, columns), inside, strict=True)))
    values = ndimage.map_coordinates(distance, inside, order=1) - beyond
    short = np.clip(values / height, -_REACH, _REACH)
    shape = CELLS[0], _POINTS, CELLS[1], _POINTS
    return short.reshape(shape).mean(axis=(1, 3)).ravel() / _REACH


def _cut_out(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The person with a narrow frame, of 240 rows at most."""
    rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
    person = mask[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    step = -(-len(person) // _MOST_ROWS)
    if step > 1:
        short = [(0, -n % step) for n in person.shape]
        blocks = np.pad(person, short)
        shape = blocks.shape[0] // step, step, blocks.shape[1] // step, step
        person = blocks.reshape(shape).mean(axis=(1, 3)) >= 0.5
    return np.pad(person, _PAD)


def _place_points(person: NDArray[np.bool_], height: int) -> tuple[Array, Array]:
    """Rows and columns of the points of the grid in the cut, each (120, 90)."""
    n_rows, n_columns = (cells * _POINTS for cells in CELLS)
    pixels = height / (n_rows * (1.0 - 2.0 * _MARGIN))  # between two points
    share = person.sum(axis=0) / person.sum()
    middle = share @ np.arange(person.shape[1])
    rows = _PAD - 0.5 + (np.arange(n_rows) + 0.5 - _MARGIN * n_rows) * pixels
    columns = middle + (np.arange(n_columns) + 0.5 - 0.5 * n_columns) * pixels
    grid = np.meshgrid(rows, columns, indexing="ij")
    return grid[0], grid[1]
