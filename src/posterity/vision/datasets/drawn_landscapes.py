"""Drawn landscapes: sky, walls, grass, water and soil, told by texture more than by colour."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from posterity import arrays, validation

_NAMES = ("sky", "wall", "grass", "water", "soil")
_WALL, _BELOW = 1, (2, 4)  # what is below the horizon: grass or soil
_COLORS = np.array(
    [[140, 175, 215], [165, 110, 85], [80, 135, 60], [130, 160, 195], [150, 115, 85]]
)


class Landscapes(NamedTuple):
    """Images of landscapes with the class of every pixel.

    Attributes
    ----------
    images : array of shape (N, H, W, 3), uint8
        Red, green and blue.
    labels : array of shape (N, H, W), uint8
        Places of their names in ``names``.
    names : tuple of str
        "sky", "wall", "grass", "water" and "soil".

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import vision
    >>> np.unique(vision.datasets.landscapes(8).labels)
    array([0, 1, 2, 3, 4], dtype=uint8)
    """

    images: NDArray[np.uint8]
    labels: NDArray[np.uint8]
    names: tuple[str, ...] = _NAMES


def landscapes(
    n_images: int = 20, shape: tuple[int, int] = (96, 128), *, random_state: Any = 0
) -> Landscapes:
    """Draw landscapes: a horizon, a wall before it, and grass, soil and water below.

    Places, colours and light are drawn anew for each image. Water has about the colour of sky, and
    walls that of soil.

    Parameters
    ----------
    n_images : int, default=20
        Number of images.
    shape : tuple of int, default=(96, 128)
        Height and width.
    random_state : int, Generator, RandomState or None, default=0
        Seed.

    Returns
    -------
    Landscapes
        Named tuple of ``images``, ``labels`` and ``names``.

    Examples
    --------
    >>> from posterity import vision
    >>> data = vision.datasets.landscapes(3)
    >>> data.images.shape, data.labels.shape
    ((3, 96, 128, 3), (3, 96, 128))
    """
    rng = arrays.generator(random_state)
    n = validation.check_count(n_images, "n_images")
    images, labels = [], []
    for _ in range(n):
        classes = _place_classes(shape, rng)
        images.append(_paint(classes, rng))
        labels.append(classes.astype(np.uint8))
    return Landscapes(np.stack(images), np.stack(labels))


def _place_classes(shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.int64]:
    height, width = shape
    y, x = np.mgrid[:height, :width].astype(float)
    labels = np.zeros(shape, dtype=np.int64)
    hills = np.sin(x / (width * rng.uniform(0.1, 0.2)) + rng.uniform(0.0, 6.0))
    horizon = height * (rng.uniform(0.36, 0.57) + 0.04 * hills)
    below = y > horizon
    labels[below] = rng.choice(_BELOW)
    shore = width * rng.uniform(0.3, 0.7) + 0.4 * (y - 0.73 * height) * rng.normal()
    beside = (x > shore) == (rng.random() < 0.5)
    labels[below & beside & (y > horizon + 0.06 * height)] = rng.integers(2, 5)
    left, top = width * rng.uniform(0.04, 0.66), height * rng.uniform(0.08, 0.3)
    right = left + width * rng.uniform(0.2, 0.35)
    labels[(x > left) & (x < right) & (y > top) & (y < horizon + 0.08 * height)] = _WALL
    return labels


def _paint(labels: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.uint8]:
    """Clouds, bricks, blades, waves and clods, in colours and light of this image."""
    y, x = np.mgrid[: labels.shape[0], : labels.shape[1]].astype(float)
    fine, coarse = rng.normal(size=(2, *labels.shape))
    clouds = 120.0 * ndimage.gaussian_filter(coarse, 9.0)
    bricks = ((y % 8) < 1.5) | (((x + 8 * (y // 8 % 2)) % 16) < 1.5)
    blades = 110.0 * ndimage.gaussian_filter(fine, (2.0, 0.6))
    waves = 22.0 * np.sin(y / 1.3 + 6.0 * ndimage.gaussian_filter(coarse, 6.0))
    clods = 130.0 * ndimage.gaussian_filter(fine, 1.6)
    light = np.choose(labels, [clouds, -45.0 * bricks, blades, waves, clods])
    tint = _COLORS + rng.normal(scale=12.0, size=_COLORS.shape)
    pixels = tint[labels] + light[..., None] + rng.normal(scale=4.0, size=(*labels.shape, 1))
    return np.clip(pixels * rng.uniform(0.8, 1.15), 0.0, 255.0).astype(np.uint8)
