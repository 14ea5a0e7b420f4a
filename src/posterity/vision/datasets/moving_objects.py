"""Frames in which a textured object moves, turns, changes its size, and is hidden for a while."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from posterity import datasets
from posterity.arrays import Array

_OUTLINE = 1.12  # radius of the object in half sides of its box
_SENSOR_NOISE = 3.0  # gray values
_GRAY = 115.0


@dataclass(frozen=True, eq=False)
class MovingObject:
    """Frames, the boxes of an object in them, and how much of it is seen.

    Attributes
    ----------
    frames : array of uint8 of shape (n, H, W)
        Gray values.
    boxes : array of shape (n, 4)
        Left, top, right and bottom of the object.
    visible : array of shape (n,)
        Share of the object that nothing hides.

    Examples
    --------
    >>> from posterity import vision
    >>> vision.datasets.moving_object(2, shape=(60, 80), radius=8.0).boxes[0].round()
    array([32., 22., 48., 38.])
    """

    frames: NDArray[np.uint8]
    boxes: Array
    visible: Array


def moving_object(
    n_frames: int = 100,
    *,
    shape: tuple[int, int] = (120, 160),
    radius: float = 16.0,
    hidden: tuple[tuple[int, int], ...] = ((40, 60),),
    turning: float = 0.2,
    light: float = 0.2,
    speed: float = 1.0,
    random_state: datasets.Seed = 0,
) -> MovingObject:
    """Simulate a textured ball in front of a textured background and a moving camera.

    How far the true box follows the outline of the ball, and how far its surface as it turns,
    is drawn too, as boxes that people draw do.

    Parameters
    ----------
    n_frames : int, default=100
        Number of frames.
    shape : pair of int, default=(120, 160)
        Height and width of the frames.
    radius : float, default=16.0
        Half the width of the box in the first frame, in pixels.
    hidden : tuple of pairs of int, default=((40, 60),)
        First and last frame of each time in which a bar passes in front of the object.
    turning : float, default=0.2
        Standard deviation of the angles by which the ball is turned, in radians.
    light : float, default=0.2
        Standard deviation of the logarithm of the contrast.
    speed : float, default=1.0
        Factor of the speed at which the object and the camera move.
    random_state : int, Generator or None, default=0
        Seed or generator of the random numbers.

    Examples
    --------
    >>> from posterity import vision
    >>> sequence = vision.datasets.moving_object(30, hidden=((10, 20),))
    >>> sequence.frames.shape, float(sequence.visible.min())
    ((30, 120, 160), 0.0)
    """
    n, rng = datasets.check_count("n_frames", n_frames), np.random.default_rng(random_state)
    scene = _Scene(rng, n, shape, radius, turning, light, speed)
    drawn = [scene.draw(t, hidden) for t in range(n)]
    return MovingObject(
        np.array([frame for frame, _ in drawn]),
        np.array([scene.compute_box(t) for t in range(n)]),
        np.array([visible for _, visible in drawn]),
    )


class _Scene:
    """Textures, and paths of the object, of the camera and of the light."""

    def __init__(
        self,
        rng: np.random.Generator,
        n: int,
        shape: tuple[int, int],
        radius: float,
        turning: float,
        light: float,
        speed: float,
    ) -> None:
        height, width = shape
        self.rng, self.shape = rng, shape
        self.ground = 35.0 * _draw_texture((2 * height, 2 * width), rng, (2, 4, 8, 16))
        self.bar = 25.0 + 30.0 * _draw_texture(shape, rng, (2, 5))
        fine, coarse = (
            ndimage.gaussian_filter(rng.normal(size=(40, 40, 40)), width) for width in (1.3, 4.0)
        )
        self.surface = 32.0 * (fine / fine.std() + 1.2 * coarse / coarse.std())
        self.follows = float(rng.uniform())  # the surface rather than the outline
        self.half = radius * np.array([1.0, rng.uniform(1.05, 1.35)])

        def wander(width: float, size: float) -> Array:
            return _draw_path(n, width, size, rng)

        self.x = width / 2 + wander(18.0 / speed, 0.11 * width)
        self.y = height / 2 + wander(18.0 / speed, 0.09 * height)
        self.log_size = np.clip(wander(30.0, 0.18), -0.8, 0.6)
        self.yaw, self.pitch = wander(20, turning), wander(20, turning / 2)
        self.roll = wander(20, turning / 2)
        self.camera = np.stack(
            [wander(25.0 / speed, 0.06 * height), wander(25.0 / speed, 0.1 * width)]
        )
        self.contrast, self.brightness = np.exp(wander(20, light)), wander(20, 60.0 * light)
        self.side = wander(20, light)

    def compute_box(self, t: int) -> Array:
        """Return the true box, which may follow the surface of the ball as it turns."""
        half = self.half * np.exp(self.log_size[t])
        front = np.array([-np.sin(self.yaw[t]) * np.cos(self.pitch[t]), -np.sin(self.pitch[t])])
        middle = [self.x[t], self.y[t]] + self.follows * _OUTLINE * self._turn(front * half, t)
        return np.concatenate([middle - half, middle + half])

    def _turn(self, point: Array, t: int) -> Array:
        c, s = np.cos(self.roll[t]), np.sin(self.roll[t])
        return np.array([c * point[0] - s * point[1], s * point[0] + c * point[1]])

    def draw(self, t: int, hidden: Any) -> tuple[NDArray[np.uint8], float]:
        """Return a frame, and the share of the object that is seen."""
        height, width = self.shape
        place = [height / 2, width / 2] + self.camera[:, t]
        image = _GRAY + _cut(self.ground, place, self.shape)
        seen = self._draw_ball(image, t)
        image = self.contrast[t] * (image - _GRAY) + _GRAY + self.brightness[t]
        bar = self._find_bar(t, hidden)
        image[bar] = _GRAY + self.bar[bar]
        image += _SENSOR_NOISE * self.rng.normal(size=self.shape)
        visible = 1.0 - float(np.mean(bar[seen])) if seen.any() else 0.0
        return np.clip(image, 0, 255).astype(np.uint8), visible

    def _draw_ball(self, image: Array, t: int) -> NDArray[np.bool_]:
        y, x = np.mgrid[: self.shape[0], : self.shape[1]]
        c, s = np.cos(self.roll[t]), np.sin(self.roll[t])
        half = _OUTLINE * self.half * np.exp(self.log_size[t])
        dx, dy = x + 0.5 - self.x[t], y + 0.5 - self.y[t]
        u, v = (c * dx + s * dy) / half[0], (c * dy - s * dx) / half[1]
        inside = u * u + v * v < 1.0
        u, v = u[inside], v[inside]
        w = np.sqrt(1.0 - u * u - v * v)
        c, s = np.cos(self.yaw[t]), np.sin(self.yaw[t])
        across, deep = c * u + s * w, c * w - s * u
        c, s = np.cos(self.pitch[t]), np.sin(self.pitch[t])
        down, deep = c * v + s * deep, c * deep - s * v
        texture = ndimage.map_coordinates(
            self.surface, 20.0 + 13.0 * np.stack([deep, down, across]), order=1
        )
        image[inside] = (_GRAY + texture) * (1.0 + self.side[t] * u) * (0.6 + 0.4 * w)
        return np.asarray(inside)

    def _find_bar(self, t: int, hidden: Any) -> NDArray[np.bool_]:
        """Find the pixels of a bar as wide as the object that passes from left to right."""
        bar = np.zeros(self.shape, dtype=bool)
        for first, last in hidden:
            if first <= t <= last:
                half = 1.3 * self.half[0] * np.exp(self.log_size[t])
                path = (t - first) / max(last - first, 1)
                middle = self.x[t] + (2.0 * path - 1.0) * 2.2 * half
                columns = np.abs(np.arange(self.shape[1]) + 0.5 - middle) < half
                bar |= columns
        return bar


def _draw_texture(shape: tuple[int, int], rng: np.random.Generator, sizes: Any) -> Array:
    total = np.zeros(shape)
    for size in sizes:
        layer = ndimage.gaussian_filter(rng.normal(size=shape), size, mode="wrap")
        total += layer / layer.std() * np.sqrt(size)
    return np.asarray(total / total.std())


def _draw_path(n: int, width: float, size: float, rng: np.random.Generator) -> Array:
    """Draw a smooth path that begins at zero."""
    pad = int(4 * width)
    path = ndimage.gaussian_filter1d(rng.normal(size=max(n, 60) + 2 * pad), width)[pad:-pad]
    return np.asarray(size * (path - path[0]) / path.std())[:n]


def _cut(texture: Array, place: Any, shape: tuple[int, int]) -> Array:
    """Interpolate a part of a texture that repeats itself."""
    top, left = (int(np.floor(number)) for number in place)
    down, across = place[0] - top, place[1] - left
    rows = np.arange(top, top + shape[0] + 1) % texture.shape[0]
    columns = np.arange(left, left + shape[1] + 1) % texture.shape[1]
    part = texture[np.ix_(rows, columns)]
    part = (1.0 - down) * part[:-1] + down * part[1:]
    return np.asarray((1.0 - across) * part[:, :-1] + across * part[:, 1:])
