"""Banks of filters that describe the surroundings of a pixel: texture, colour and gradients.

Colours are lightness and two opponent axes (CIE L*a*b*): distances are about as large as seen.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from posterity.vision import images

Planes = NDArray[np.float32]


def convert_to_lab(image: Any) -> Planes:
    """L*, a* and b* of an image, (H, W, 3); L* lies between 0 and 100.

    Parameters
    ----------
    image : array (H, W) or (H, W, 3)
        Gray values, or red, green and blue in sRGB, as :func:`posterity.vision.to_color` takes.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import filters
    >>> filters.convert_to_lab(np.array([[[255, 0, 0]]], dtype=np.uint8)).round(1)
    array([[[53.2, 80.1, 67.2]]], dtype=float32)
    """
    share = images.to_color(image).astype(np.float32) / np.float32(255.0)
    planes: Planes = images.import_skimage("color").rgb2lab(share)
    return planes


Responses = NDArray[np.float32]
"""Answers of each pixel to each filter, (H, W, D)."""

_COLOR_WIDTHS = (1.0, 2.0, 4.0)
_LAPLACIAN_WIDTHS = (1.0, 2.0, 4.0, 8.0)
_DERIVATIVE_WIDTHS = (2.0, 4.0)
_REACH, _REACH_OF_DERIVATIVES = 3.0, 4.0  # standard deviations
N_TEXTURE_FILTERS = 3 * len(_COLOR_WIDTHS) + len(_LAPLACIAN_WIDTHS) + 2 * len(_DERIVATIVE_WIDTHS)

_BLUR_OF_COLOR = 1.0
_N_DIRECTIONS = 8
N_GRADIENT_FILTERS = 9 * _N_DIRECTIONS
_CELL = 5.0  # pixels between the places at which gradients are looked at
_CONTRAST = 2.0  # gradients of this many units of lightness a pixel count as much as they are


def filter_texture(planes: Planes, every: int = 1) -> Responses:
    """Responses to 17 filters: textures and colours at several scales.  [P9 9.12.3]

    Gaussians of 1, 2 and 4 pixels on L*, a* and b*; Laplacians of Gaussians of 1, 2, 4 and 8
    pixels, and derivatives in both directions of 2 and 4, on L*. Derivatives are times their
    width, so that they are of the same size at all scales.

    Parameters
    ----------
    planes : array (H, W, 3)
        L*, a* and b*.
    every : int, default=1
        Step between the pixels whose responses are computed, down and across.

    Returns
    -------
    array (H / every, W / every, 17) of float32

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import filters
    >>> edge = np.zeros((32, 32, 3), dtype=np.float32)
    >>> edge[:, 16:, 0] = 50.0
    >>> filters.filter_texture(edge)[16, 15, 13:].round(1)
    array([19.5,  0. , 19.8,  0. ], dtype=float32)
    """
    light = np.ascontiguousarray(planes[..., 0])
    found = [plane for width in _COLOR_WIDTHS for plane in _blur_planes(planes, width)]
    for width in _LAPLACIAN_WIDTHS:
        down, right = (_blur(light, width, order) for order in ((2, 0), (0, 2)))
        found.append((down + right) * np.float32(width**2))
    for width in _DERIVATIVE_WIDTHS:
        found.extend(_blur(light, width, order) * np.float32(width) for order in ((0, 1), (1, 0)))
    return np.stack([response[::every, ::every] for response in found], axis=-1)


def filter_color(planes: Planes, every: int = 1) -> Responses:
    """L*, a* and b* of slightly blurred images, (H / every, W / every, 3)."""
    blurred = _blur_planes(planes, _BLUR_OF_COLOR)
    return np.stack([plane[::every, ::every] for plane in blurred], axis=-1)


def filter_gradients(planes: Planes, every: int = 1) -> Responses:
    """Directions of the gradients of L* at nine places around each pixel, 72 numbers.

    At each place, gradients are summed by direction in eight bins, weighted by a Gaussian; the 72
    numbers are divided by their length, and small lengths are left small, so that flat parts of an
    image differ from edges. Their roots are returned: distances are then those of Hellinger.

    Parameters
    ----------
    planes : array (H, W, 3)
        L*, a* and b*.
    every : int, default=1
        Step between the pixels whose responses are computed, down and across.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import filters
    >>> edge = np.zeros((32, 32, 3), dtype=np.float32)
    >>> edge[:, 16:, 0] = 50.0
    >>> centre = filters.filter_gradients(edge)[16, 16].reshape(3, 3, 8)[1, 1]
    >>> int(np.argmax(centre))
    0
    """
    light = np.ascontiguousarray(planes[..., 0])
    down, right = (_blur(light, 1.0, order) for order in ((1, 0), (0, 1)))
    sums = _sum_by_direction(np.hypot(down, right), np.arctan2(down, right))
    shift = round(_CELL)
    padded = np.pad(sums, ((0, 0), (shift, shift), (shift, shift)), mode="edge")
    height, width = light.shape
    places = [
        padded[:, y : y + height : every, x : x + width : every]
        for y in (0, shift, 2 * shift)
        for x in (0, shift, 2 * shift)
    ]
    joined = np.concatenate(places)
    total = np.sqrt(np.einsum("dyx,dyx->yx", joined, joined))
    joined /= total + np.float32(_CONTRAST)
    return np.ascontiguousarray(np.moveaxis(np.sqrt(joined), 0, -1))


def _sum_by_direction(strength: NDArray[Any], angle: NDArray[Any]) -> NDArray[np.float32]:
    """Gradients around each pixel in eight directions, (8, H, W), shared between neighbours."""
    place = angle * (_N_DIRECTIONS / (2.0 * np.pi))
    first = np.floor(place)
    share = (place - first).astype(np.float32)
    bins = first.astype(np.int64) % _N_DIRECTIONS
    sums = np.zeros((_N_DIRECTIONS, *strength.shape), dtype=np.float32)
    y, x = np.ogrid[: strength.shape[0], : strength.shape[1]]
    sums[bins, y, x] = strength * (1.0 - share)
    sums[(bins + 1) % _N_DIRECTIONS, y, x] += strength * share
    return np.stack([_blur(plane, 0.5 * _CELL) for plane in sums])


def _blur_planes(planes: Planes, width: float) -> list[Any]:
    return [_blur(np.ascontiguousarray(planes[..., c]), width) for c in range(3)]


def _blur(plane: NDArray[Any], width: float, order: tuple[int, int] = (0, 0)) -> Any:
    """A Gaussian or its derivative down and right, of the mirrored image at the edges."""
    reach = _REACH_OF_DERIVATIVES if any(order) else _REACH  # else flat parts had a curvature
    return ndimage.gaussian_filter(
        plane, width, order=order, output=np.float32, mode="reflect", truncate=reach
    )
