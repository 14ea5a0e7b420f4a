"""Masks: arrays that are other than zero inside a figure, and image files of them.

In a file, a figure is what is opaque, or else what differs from the edge of the image.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import files
from posterity.vision import contours, images
from posterity.vision.contours import Mask
from posterity.vision.images import ImageError

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


def check_figure(mask: Mask, name: str) -> Mask:
    """Refuse a figure that is too small to have a shape.

    Examples
    --------
    >>> import numpy as np
    >>> check_figure(np.ones((9, 20), dtype=bool), "a.png")
    Traceback (most recent call last):
        ...
    posterity.vision.images.ImageError: a.png shows a figure of 9 pixels in height: 20 are needed.
    """
    region, _ = contours.find_largest_region(mask)
    height = int(np.ptp(np.flatnonzero(region.any(axis=1)))) + 1
    if height < _LEAST_HEIGHT:
        raise ImageError(
            f"{name} shows a figure of {height} pixels in height: {_LEAST_HEIGHT} are needed."
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
