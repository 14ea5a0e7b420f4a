"""Masks of figures: image files of them, their contours, and coarse pictures of them.

A mask is an array that is other than zero inside a figure. In a file, a figure is what is opaque,
or else what differs from the edge of the image.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from posterity import compilation, files
from posterity.arrays import Array
from posterity.vision import images
from posterity.vision.images import ImageError

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


_CLEAR = (0.2, 0.8)  # of the range of values: those between are neither inside nor outside
_MOST_UNCLEAR = 0.1  # share of the pixels of a mask
_LEAST_HEIGHT = 20  # pixels


def read_mask(path: str | os.PathLike[str], *, most_pixels: int = images.MOST_PIXELS) -> Mask:
    """Read the mask of a figure from an image file.

    Parameters
    ----------
    path : str or path
        Image with one or more bits. A pixel is inside if it is opaque, where some are transparent;
        else if it is brighter than the middle between the darkest and the brightest; or darker, if
        most of the edge of the image is bright.
    most_pixels : int
        Images with more pixels are refused.

    Returns
    -------
    array (H, W) of bool

    Raises
    ------
    ImageError
        If the file is not an image, or not a mask with a figure, in a sentence that names it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from posterity.vision import read_mask, write_image
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "mask.png"
    >>> write_image(place, np.array([[0, 0, 0], [0, 255, 0], [0, 0, 0]], dtype=np.uint8))
    >>> read_mask(place)[1]
    array([False,  True, False])
    """
    place = files.check_path(path)
    return to_mask(images.decode_file(place, _decode, most_pixels=most_pixels), str(place))


def to_mask(values: Any, name: str) -> Mask:
    """Turn gray values or opacity (H, W) into a mask; messages call the image by its name.

    Examples
    --------
    >>> import numpy as np
    >>> to_mask(np.array([[255, 0, 255], [255, 0, 255]], dtype=np.uint8), "a.png").sum()
    np.int64(2)
    """
    pixels = np.asarray(values)
    if pixels.ndim == 3:
        pixels = images.to_gray(pixels)
    bytes_ = pixels.astype(np.float64)
    low, high = bytes_.min(), bytes_.max()
    if low == high:
        raise ImageError(f"{name} is empty: all pixels have the value {low:g}, so no figure shows.")
    share = (bytes_ - low) / (high - low)
    if np.mean((share > _CLEAR[0]) & (share < _CLEAR[1])) > _MOST_UNCLEAR:
        raise ImageError(
            f"{name} is not a mask: many pixels are neither dark nor bright. Cut out the figure "
            "first, white on black or opaque on transparent."
        )
    inside = share > 0.5
    edge = np.concatenate([inside[0], inside[-1], inside[:, 0], inside[:, -1]])
    try:
        return check_mask(~inside if edge.mean() > 0.5 else inside, name)
    except ValueError as error:
        raise ImageError(str(error)) from error


def check_mask(mask: Any, name: str = "The mask") -> Mask:
    """Check that an array is a mask with a figure in it.

    Parameters
    ----------
    mask : array (H, W)
        Booleans, or numbers that are other than zero inside the figure.
    name : str
        The mask as messages call it.

    Examples
    --------
    >>> import numpy as np
    >>> check_mask(np.array([[0, 255]], dtype=np.uint8))
    array([[False,  True]])
    """
    array = np.asarray(mask)
    if array.ndim != 2 or array.dtype.kind not in "buif":
        raise ValueError(f"{name} must be an array (height, width), not of shape {array.shape}.")
    inside = array if array.dtype == np.bool_ else np.nan_to_num(array) != 0
    if not inside.any():
        raise ValueError(f"{name} is empty: no pixel is inside a figure.")
    if inside.all():
        raise ValueError(f"{name} has no background: every pixel is inside.")
    return np.asarray(inside)


def list_masks(masks: Any) -> Iterator[Mask]:
    """Yield the masks of one array (H, W), or of a sequence of them, and check each.

    Examples
    --------
    >>> import numpy as np
    >>> [mask.sum() for mask in list_masks(np.eye(3))]
    [np.int64(3)]
    """
    is_single = isinstance(masks, np.ndarray) and masks.ndim == 2
    for number, mask in enumerate([masks] if is_single else masks):
        yield check_mask(mask, f"Mask {number}")


def read_figure(path: str | os.PathLike[str], *, most_pixels: int = images.MOST_PIXELS) -> Mask:
    """Read a mask as :func:`read_mask` does, and refuse a figure that is too small for a shape.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from posterity.vision import masks, write_image
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "small.png"
    >>> write_image(place, np.eye(9, dtype=np.uint8) * np.uint8(255))
    >>> try:
    ...     masks.read_figure(place)
    ... except masks.ImageError as error:
    ...     print(str(error).rpartition("/")[2])
    small.png shows a figure of 9 pixels in height: 20 are needed.
    """
    mask = read_mask(path, most_pixels=most_pixels)
    region, _ = find_largest_region(mask)
    height = int(np.ptp(np.flatnonzero(region.any(axis=1)))) + 1
    if height < _LEAST_HEIGHT:
        raise ImageError(
            f"{path} shows a figure of {height} pixels in height: {_LEAST_HEIGHT} are needed."
        )
    return mask


def _decode(image: Any) -> NDArray[Any]:
    """Opacity where some pixels are transparent, and gray values otherwise."""
    if images.may_be_clear(image):
        opacity = np.asarray(image.convert("RGBA"))[:, :, 3]
        if opacity.min() < opacity.max():
            return opacity
    if image.mode in images.WIDE:
        return np.nan_to_num(np.asarray(image, dtype=np.float64))
    return np.asarray(image.convert("L"))


def measure_occupancy(mask: Mask, shape: tuple[int, int] = (12, 8)) -> Array:
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
    region, _ = find_largest_region(mask)
    rows, columns = (numbers.astype(np.float64) for numbers in np.nonzero(region))
    top, height = rows.min(), np.ptp(rows) + 1.0
    cell = height / n_rows
    across = (columns - columns.mean()) / cell + 0.5 * n_columns
    down = (rows + 0.5 - top) / cell
    counts, _, _ = np.histogram2d(down, across, bins=shape, range=((0.0, n_rows), (0.0, n_columns)))
    return np.asarray(counts.ravel() / cell**2)
