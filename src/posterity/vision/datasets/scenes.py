"""Scenes with a label for every pixel: drawn landscapes, and rendered streets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from posterity import arrays, validation

Scene = tuple[NDArray[np.uint8], NDArray[np.uint8]]
"""An image, and the labels of its pixels."""

_CLASSES = ("sky", "wall", "grass", "water", "soil")
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
    names: tuple[str, ...] = _CLASSES


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
    return Landscapes(*_draw_scenes(_draw_landscape, n_images, shape, random_state))


def _draw_scenes(
    draw: Callable[[tuple[int, int], np.random.Generator], Scene],
    n_images: int,
    shape: tuple[int, int],
    random_state: Any,
) -> Scene:
    """Images (N, H, W, 3) and labels (N, H, W) of scenes that are drawn one after the other."""
    rng = arrays.generator(random_state)
    drawn = [draw(shape, rng) for _ in range(validation.check_count(n_images, "n_images"))]
    images, labels = zip(*drawn, strict=True)
    return np.stack(images), np.stack(labels)


def _draw_landscape(shape: tuple[int, int], rng: np.random.Generator) -> Scene:
    classes = _place_classes(shape, rng)
    return _paint_classes(classes, rng), classes.astype(np.uint8)


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


def _paint_classes(labels: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.uint8]:
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


_SURFACES = ("support", "vertical", "sky")
_EYE = 1.6  # metres, height of the camera


class Streets(NamedTuple):
    """Images of streets with the surface of every pixel.

    Attributes
    ----------
    images : array of shape (N, H, W, 3), uint8
        Red, green and blue.
    labels : array of shape (N, H, W), uint8
        Places of their names in ``names``.
    names : tuple of str
        "support", "vertical" and "sky".

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import vision
    >>> np.unique(vision.datasets.streets(1).labels)
    array([0, 1, 2], dtype=uint8)
    """

    images: NDArray[np.uint8]
    labels: NDArray[np.uint8]
    names: tuple[str, ...] = _SURFACES


class _Street(NamedTuple):
    """A camera between two walls, in metres, and the planes' colours."""

    horizon: float  # row
    vanishing: float  # column
    focal_length: float  # pixels
    left: float
    right: float
    end: float
    heights: NDArray[np.float64]  # of the left, right and far wall
    colors: NDArray[np.float64]  # (5, 3): ground, three walls, sky
    window: float  # distance between windows


def streets(
    n_images: int = 20, shape: tuple[int, int] = (120, 160), *, random_state: Any = 0
) -> Streets:
    """Render streets: two walls with windows, paved ground, and sky with clouds.

    Heights, colours, weather, and the direction of the camera are drawn anew for each image.

    Parameters
    ----------
    n_images : int, default=20
        Number of images.
    shape : tuple of int, default=(120, 160)
        Height and width.
    random_state : int, Generator, RandomState or None, default=0
        Seed.

    Returns
    -------
    Streets
        Named tuple of ``images``, ``labels`` and ``names``.

    Examples
    --------
    >>> from posterity import vision
    >>> data = vision.datasets.streets(3)
    >>> data.images.shape, data.labels.shape
    ((3, 120, 160, 3), (3, 120, 160))
    """
    return Streets(*_draw_scenes(_render, n_images, shape, random_state))


def _draw_street(shape: tuple[int, int], rng: np.random.Generator) -> _Street:
    height, width = shape
    gray = rng.uniform(70.0, 150.0)
    ground = gray + rng.normal(0.0, 8.0, 3)
    walls = rng.uniform(60.0, 200.0, (3, 1)) + rng.normal(0.0, 25.0, (3, 3))
    sky = np.array([130.0, 170.0, 225.0]) + rng.uniform(-40.0, 25.0)
    if rng.random() < 0.3:  # overcast
        sky[:] = rng.uniform(170.0, 225.0)
    return _Street(
        horizon=height * rng.uniform(0.4, 0.65),
        vanishing=width * rng.uniform(0.3, 0.7),
        focal_length=width * rng.uniform(0.7, 1.1),
        left=rng.uniform(3.0, 9.0),
        right=rng.uniform(3.0, 9.0),
        end=rng.uniform(25.0, 80.0),
        heights=rng.uniform(3.0, 12.0, 3) * (rng.random(3) > 0.15),
        colors=np.vstack([ground, walls, sky]),
        window=rng.uniform(2.0, 4.0),
    )


def _render(shape: tuple[int, int], rng: np.random.Generator) -> Scene:
    """Follow each pixel's ray through a street to the nearest plane, and paint it there."""
    street = _draw_street(shape, rng)
    y, x = np.mgrid[: shape[0], : shape[1]].astype(np.float64)
    up = (street.horizon - y - 0.5) / street.focal_length
    side = (x + 0.5 - street.vanishing) / street.focal_length
    depth = np.stack(
        [
            np.where(up < 0.0, _EYE / np.maximum(-up, 1e-9), np.inf),
            np.where(side < 0.0, street.left / np.maximum(-side, 1e-9), np.inf),
            np.where(side > 0.0, street.right / np.maximum(side, 1e-9), np.inf),
            np.full(shape, street.end),
        ]
    )
    for wall in (1, 2, 3):  # rays above a wall miss it
        top = street.heights[wall - 1]
        with np.errstate(invalid="ignore"):
            depth[wall][~(_EYE + up * depth[wall] < top)] = np.inf
    plane = np.where(np.isinf(depth.min(axis=0)), 4, depth.argmin(axis=0))
    z = np.where(plane == 4, 1.0, depth.min(axis=0))
    along = np.where((plane == 1) | (plane == 2), z, side * z)
    tall = np.where(plane == 0, z, _EYE + up * z)
    image = street.colors[plane] + _paint_street(street, plane, along, tall, rng)[..., None]
    image += rng.normal(0.0, 4.0, image.shape)
    labels = np.array([0, 1, 1, 1, 2], dtype=np.uint8)[plane]
    return np.clip(image, 0.0, 255.0).astype(np.uint8), labels


def _paint_street(
    street: _Street,
    plane: NDArray[np.int64],
    along: NDArray[np.float64],
    tall: NDArray[np.float64],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Light and dark of windows, paving stones and clouds."""
    step = street.window
    window = (np.mod(along, step) > 0.35 * step) & (np.mod(tall, 3.0) > 1.2)
    joint = (np.mod(along, 1.5) < 0.12) | (np.mod(tall, 1.5) < 0.12)
    rough = ndimage.gaussian_filter(rng.normal(0.0, 1.0, plane.shape), 1.0) * 40.0
    cloud = ndimage.gaussian_filter(rng.normal(0.0, 1.0, plane.shape), plane.shape[0] / 12.0)
    cloud *= 25.0 / max(float(cloud.std()), 1e-9)
    wall = np.where(window, -60.0, 0.0) + 0.5 * rough
    return np.select(
        [plane == 0, plane == 4],
        [np.where(joint, -25.0, 0.0) + rough, np.maximum(cloud, 0.0)],
        wall,
    )
