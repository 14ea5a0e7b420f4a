"""Integral images: sums of pixels above and to the left of every corner of the grid.

All sums are 32-bit integers that may wrap around. The sum over a rectangle is a difference of
them, and so is right whenever that sum itself has room in 32 bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posterity import compilation

Pixels = NDArray[np.uint8]
Sums = NDArray[np.int32]


def integrate_image(image: Pixels, *, tilted: bool = False) -> Sums:
    """Sum the pixels above and to the left of each corner.

    Parameters
    ----------
    image : array (H, W) of uint8
        Gray values.
    tilted : bool
        Sum over the triangle above each corner instead, whose sides run at 45 degrees.

    Returns
    -------
    array (H + 1, W + 1) of int32

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import integrals
    >>> integrals.integrate_image(np.array([[1, 2], [3, 4]], dtype=np.uint8))
    array([[ 0,  0,  0],
           [ 0,  1,  3],
           [ 0,  4, 10]], dtype=int32)
    """
    height, width = image.shape
    sums = np.zeros((1, height + 1, width + 1), dtype=np.int32)
    if tilted:
        _sum_triangles(image, sums[0])
    else:
        _sum_rectangles(image, False, sums)
    return sums[0]


def integrate_planes(planes: Pixels, stride: int, *, tilted: bool = False) -> Sums:
    """Integral images of several planes, laid out for windows that move in strides.

    Parameters
    ----------
    planes : array (P, H, W) of uint8
        Planes of one image. The first one has its squares summed too.
    stride : int
        Windows start at every stride-th column.
    tilted : bool
        Whether to sum the triangles of the first plane.

    Returns
    -------
    array (P + tilted + 1, stride, H + 1, ceil((W + 1) / stride)) of int32
        Sums of each plane, triangles of the first if asked for, and squares of the first. Column c
        of the grid is column c // stride of part c % stride, so that the windows of a row lie side
        by side in each part.
    """
    n_planes, height, width = planes.shape
    shape = (n_planes + tilted + 1, stride, height + 1, -(-(width + 1) // stride))
    sums = np.zeros(shape, dtype=np.int32)
    for plane, out in zip(planes, sums, strict=False):
        _sum_rectangles(plane, False, out)
    _sum_rectangles(planes[0], True, sums[-1])
    if tilted:
        triangles = integrate_image(planes[0], tilted=True)
        for part in range(stride):
            columns = triangles[:, part::stride]
            sums[-2, part, :, : columns.shape[1]] = columns
    return sums


def integrate_windows(windows: Pixels) -> Sums:
    """Integral images of many windows of the same size, windows last.

    Parameters
    ----------
    windows : array (N, P, h, w) of uint8
        Windows of one or more planes.

    Returns
    -------
    array (P, h + 1, w + 1, N) of int32
    """
    n_windows, n_planes, height, width = windows.shape
    sums = np.zeros((n_planes, height + 1, width + 1, n_windows), dtype=np.int32)
    inner = sums[:, 1:, 1:]
    np.cumsum(windows.transpose(1, 2, 3, 0), axis=1, dtype=np.int32, out=inner)
    np.cumsum(inner, axis=2, dtype=np.int32, out=inner)
    return sums


@compilation.compile_at_first_call
def _sum_rectangles(image: Pixels, squared: bool, sums: Sums) -> None:
    """Write sums of pixels, or of their squares, split by the remainder of the column."""
    height, width = image.shape
    stride = sums.shape[0]
    line = np.zeros(width + 1, dtype=np.int32)
    for y in range(height):
        row, total = image[y], np.int32(0)
        for x in range(width):
            value = np.int32(row[x])
            total += value * value if squared else value
            line[x + 1] += total
        for part in range(stride):
            out = sums[part, y + 1]
            for k in range((width - part) // stride + 1):
                out[k] = line[part + k * stride]


@compilation.compile_at_first_call
def _sum_triangles(image: Pixels, sums: Sums) -> None:
    """Write the sum over the triangle whose lowest pixel is left of and above each corner."""
    height, width = image.shape
    for y in range(1, height + 1):
        for x in range(width + 1):
            total = np.int32(0)
            if x > 0:
                total += np.int32(image[y - 1, x - 1]) + sums[y - 1, x - 1]
            if x == 0 and width > 0:
                total += sums[y - 1, 1]
            if y > 1 and x > 0:
                total += np.int32(image[y - 2, x - 1])
                if x < width:  # beyond the edge, these two are the same triangle
                    total += sums[y - 1, x + 1] - sums[y - 2, x]
            sums[y, x] = total
