"""Small images of one size, as arrays of gray values."""

from __future__ import annotations

from typing import Any

import numpy as np

from posterity.vision import images, resizing
from posterity.vision.integrals import Pixels


def stack_gray_patches(X: Any, size: tuple[int, int] | None = None) -> Pixels:
    """Return patches as gray values (N, H, W).

    Parameters
    ----------
    X : array of shape (N, H, W) or (N, H, W, 3), or sequence of images
        Images of bytes, or as :func:`posterity.vision.to_gray` takes them.
    size : pair of int, optional
        Height and width to which images are brought. None: they must have one size.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import patches
    >>> patches.stack_gray_patches([np.full((4, 6), 9, dtype=np.uint8)], (2, 2))
    array([[[9, 9],
            [9, 9]]], dtype=uint8)
    """
    if _are_stacked(X) and size in (None, X.shape[1:]):
        return X
    gray = [images.to_gray(image) for image in X]
    if not gray:
        raise ValueError("There are no patches; pass at least one image.")
    if size is not None:
        gray = [_resize(image, size) for image in gray]
    for i, image in enumerate(gray):
        if image.shape != gray[0].shape:
            raise ValueError(
                f"Patch {i} has {image.shape[0]} x {image.shape[1]} pixels, but patch 0 has "
                f"{gray[0].shape[0]} x {gray[0].shape[1]}; bring all patches to one size."
            )
    return np.stack(gray)


def _are_stacked(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.dtype == np.uint8 and X.ndim == 3 and len(X) > 0


def _resize(image: Pixels, size: tuple[int, int]) -> Pixels:
    if image.shape == size:
        return image
    return resizing.resize_by_area(np.ascontiguousarray(image), *size)
