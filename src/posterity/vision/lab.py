"""Colours by lightness and two opponent axes (CIE L*a*b*): distances are about as large as seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity.vision import images

Planes = NDArray[np.float32]

# Linear red, green and blue to X, Y, Z over those of white, D65.
_TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
_TO_XYZ = (_TO_XYZ / _TO_XYZ.sum(axis=1, keepdims=True)).astype(np.float32)
_DARK = (6.0 / 29.0) ** 3  # below, the cube root is replaced by a line
_SLOPE, _OFFSET = (29.0 / 6.0) ** 2 / 3.0, 4.0 / 29.0


def convert_to_lab(image: Any) -> Planes:
    """L*, a* and b* of an image, (H, W, 3); L* lies between 0 and 100.

    Parameters
    ----------
    image : array (H, W) or (H, W, 3)
        Gray values, or red, green and blue in sRGB, as :func:`posterity.vision.to_color` takes.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import lab
    >>> lab.convert_to_lab(np.array([[[255, 0, 0], [128, 128, 128]]], dtype=np.uint8)).round(1)
    array([[[53.2, 80.1, 67.2],
            [53.6,  0. ,  0. ]]], dtype=float32)
    """
    linear = _LINEAR[images.to_color(image)]
    ratios = linear @ _TO_XYZ.T
    roots = np.where(ratios > _DARK, np.cbrt(ratios), _SLOPE * ratios + _OFFSET)
    x, y, z = (roots[..., k] for k in range(3))
    return np.stack([116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)], axis=-1).astype(
        np.float32
    )


def _undo_gamma() -> Planes:
    """Linear intensity of each byte of sRGB."""
    value = np.arange(256) / 255.0
    bright = ((value + 0.055) / 1.055) ** 2.4
    return np.where(value > 0.04045, bright, value / 12.92).astype(np.float32)


_LINEAR = _undo_gamma()
