"""Colours of many labels, each far from all others."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array

# Linear red, green and blue to the responses of cones, and their cube roots to lightness, green to
# red, and blue to yellow: OKLab, in which equal distances look about equally different.
_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_OPPONENTS = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
# The palette of Okabe and Ito, distinct under every common form of colour blindness.
_BLUE, _VERMILION, _GREEN = (0, 114, 178), (213, 94, 0), (0, 158, 115)
_PINK, _SKY, _AMBER = (204, 121, 167), (86, 180, 233), (230, 159, 0)
_FIRST = (_BLUE, _VERMILION, _GREEN, _PINK, _SKY, _AMBER)
_MOST = 256
_LIGHTNESS = (0.35, 0.9)  # neither black nor white, which are those of images and of no label


def choose_colors(n_labels: int) -> NDArray[np.uint8]:
    """Colours that differ, (n_labels, 3): red, green and blue of each label.

    Each colour is as far as possible from those before, to the eye.

    Parameters
    ----------
    n_labels : int
        Number of labels, at most 256.

    Examples
    --------
    >>> from posterity import vision
    >>> vision.choose_colors(2)
    array([[  0, 114, 178],
           [213,  94,   0]], dtype=uint8)
    """
    known = _spread_colors()
    if not 0 <= n_labels <= len(known):
        raise ValueError(f"There are colours for 0 to {len(known)} labels, not for {n_labels}.")
    return known[:n_labels].copy()


@functools.cache
def _spread_colors() -> NDArray[np.uint8]:
    """Begin with the first; then take, again and again, the colour furthest from those taken."""
    start = np.array(_FIRST, dtype=np.uint8)
    levels = np.arange(0, 256, 15, dtype=np.uint8)
    every = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1).reshape(-1, 3)
    places = find_lab(every)
    fits = (places[:, 0] > _LIGHTNESS[0]) & (places[:, 0] < _LIGHTNESS[1])
    every, places = every[fits], places[fits]
    gap = np.full(len(every), np.inf)
    for taken in find_lab(start):
        gap = np.minimum(gap, np.linalg.norm(places - taken, axis=1))
    chosen = list(start)
    while len(chosen) < _MOST:
        best = int(np.argmax(gap))
        chosen.append(every[best])
        gap = np.minimum(gap, np.linalg.norm(places - places[best], axis=1))
    return np.array(chosen)


def find_lab(colors: NDArray[np.uint8]) -> Array:
    """OKLab coordinates (n, 3) of colours (n, 3): lightness from 0 to 1, and two of hue.

    Examples
    --------
    >>> import numpy as np
    >>> find_lab(np.array([[255, 0, 0]], dtype=np.uint8)).round(3)  # red
    array([[0.628, 0.225, 0.126]])
    """
    share = colors.astype(np.float64) / 255.0
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    return np.asarray(np.cbrt(linear @ _CONES.T) @ _OPPONENTS.T)
