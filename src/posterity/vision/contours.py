"""Contours of masks: the largest region, its borders, and points at equal distances on them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from posterity import compilation
from posterity.arrays import Array

Mask = NDArray[np.bool_]
_SMALL = 0.05  # borders of holes count from this share of the length of all borders


def find_largest_region(mask: Mask) -> tuple[Mask, int]:
    """Find the largest region of pixels that touch, also at corners; and how many regions.

    Parameters
    ----------
    mask : array (H, W) of bool

    Examples
    --------
    >>> import numpy as np
    >>> mask = np.array([[1, 0, 0, 1], [0, 1, 0, 0]], dtype=bool)
    >>> find_largest_region(mask)
    (array([[ True, False, False, False],
           [False,  True, False, False]]), 2)
    """
    regions, n = ndimage.label(mask, structure=np.ones((3, 3)))
    if n == 1:
        return mask, 1
    sizes = np.bincount(regions.ravel())
    sizes[0] = 0
    return np.asarray(regions == sizes.argmax()), int(n)


def trace_borders(mask: Mask) -> list[Array]:
    """Trace all borders of a mask.

    Parameters
    ----------
    mask : array (H, W) of bool

    Returns
    -------
    list of arrays (n, 2)
        Row and column of the middles of the edges between pixels inside and outside, in order, with
        the figure on the right-hand side: outer borders run clockwise, those of holes against it.
        The corner of the first pixel is (0, 0).

    Examples
    --------
    >>> import numpy as np
    >>> trace_borders(np.array([[True]]))[0]
    array([[0. , 0.5],
           [0.5, 1. ],
           [1. , 0.5],
           [0.5, 0. ]])
    """
    padded = np.zeros((mask.shape[0] + 2, mask.shape[1] + 2), dtype=np.bool_)
    padded[1:-1, 1:-1] = mask
    n_edges = int(np.sum(padded[1:] != padded[:-1]) + np.sum(padded[:, 1:] != padded[:, :-1]))
    points, starts = np.empty((n_edges, 2)), np.empty(n_edges + 1, dtype=np.int64)
    n_borders = _follow_edges(padded, points, starts)
    return [points[starts[k] : starts[k + 1]] - 1.0 for k in range(n_borders)]


def sample_contour(mask: Mask, n_points: int) -> Array:
    """Points at equal distances on the borders of the largest region of a mask.

    Borders of holes count where they are longer than a twentieth of all borders.

    Parameters
    ----------
    mask : array (H, W) of bool
    n_points : int

    Returns
    -------
    array (n_points, 2)
        Row and column.

    Examples
    --------
    >>> import numpy as np
    >>> mask = np.zeros((40, 40), dtype=bool)
    >>> mask[10:30, 10:30] = True
    >>> points = sample_contour(mask, 80)
    >>> np.linalg.norm(np.diff(points, axis=0), axis=1).round(2).max()
    np.float64(0.99)
    """
    borders = trace_borders(find_largest_region(mask)[0])
    lengths = [_measure_steps(border) for border in borders]
    total = sum(float(steps.sum()) for steps in lengths)
    kept = [
        (border, steps)
        for border, steps in zip(borders, lengths, strict=True)
        if steps.sum() >= _SMALL * total
    ]
    ends = np.cumsum([steps.sum() for _, steps in kept])
    at = (np.arange(n_points) + 0.5) * ends[-1] / n_points
    owner = np.searchsorted(ends, at, side="right")
    sampled = np.empty((n_points, 2))
    for number, (border, steps) in enumerate(kept):
        own = owner == number
        along = np.concatenate([[0.0], np.cumsum(steps)])
        begin = ends[number] - along[-1]
        closed = np.concatenate([border, border[:1]])
        for axis in range(2):
            sampled[own, axis] = np.interp(at[own] - begin, along, closed[:, axis])
    return sampled


def _measure_steps(border: Array) -> Array:
    """Lengths of the steps from each point to the next, around a closed border."""
    return np.asarray(np.linalg.norm(np.roll(border, -1, axis=0) - border, axis=1))


@compilation.compile_at_first_call
def _turn(mask: Mask, row: int, column: int, down: int, right: int) -> tuple[int, int]:
    """The next direction at a corner, by the pixels ahead on the left and on the right."""
    ahead_left = mask[row + (down - right - 1) // 2, column + (right + down - 1) // 2]
    if ahead_left:
        return -right, down
    ahead_right = mask[row + (down + right - 1) // 2, column + (right - down - 1) // 2]
    if ahead_right:
        return down, right
    return right, -down


@compilation.compile_at_first_call
def _follow_edges(mask: Mask, points: Array, starts: NDArray[np.int64]) -> int:
    """Follow the edges of a mask with a margin; the number of borders.

    A position is a corner of the grid and a direction: east, south, west, north. Every border has
    an edge that runs east, above a pixel inside, and each of these is followed once.
    """
    H, W = mask.shape
    seen = np.zeros((H, W), dtype=np.bool_)
    n, borders = 0, 0
    for top in range(1, H):
        for left in range(1, W):
            if not mask[top, left] or mask[top - 1, left] or seen[top, left]:
                continue
            starts[borders] = n
            row, column, down, right = top, left, 0, 1
            while True:
                if right == 1:
                    if seen[row, column]:
                        break
                    seen[row, column] = True
                points[n, 0] = row + 0.5 * down
                points[n, 1] = column + 0.5 * right
                n += 1
                row += down
                column += right
                down, right = _turn(mask, row, column, down, right)
            borders += 1
    starts[borders] = n
    return borders
