"""Depth cameras: points of space and pixels, rendered bodies, and errors of the sensor."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import compilation, validation
from posterity.arrays import Array
from posterity.vision.bodies.bvh import turn_about_axis
from posterity.vision.bodies.spheres import BACKGROUND


@dataclass(frozen=True)
class Camera:
    """A pinhole camera without distortion, in the axes of which x is right, y down, z forward.

    Parameters
    ----------
    height, width : int
        Pixels of a picture.
    focal_length : float
        In pixels.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import bodies
    >>> camera = bodies.Camera()
    >>> camera.find_pixels(np.array([[0.0, 0.0, 2.0], [0.5, 0.0, 2.0]]))
    array([[120. , 160. ],
           [120. , 231.25]])
    """

    height: int = 240
    width: int = 320
    focal_length: float = 285.0

    def __post_init__(self) -> None:
        validation.check_count(self.height, "height")
        validation.check_count(self.width, "width")
        validation.check_positive(self.focal_length, "focal_length")

    def find_pixels(self, points: Array) -> Array:
        """Row and column of points (..., 3); the middle of the first pixel is (0.5, 0.5)."""
        x, y, z = np.moveaxis(points, -1, 0)
        row = self.focal_length * y / z + 0.5 * self.height
        column = self.focal_length * x / z + 0.5 * self.width
        return np.stack([row, column], axis=-1)

    def find_points(self, rows: Array, columns: Array, depth: Array) -> Array:
        """Points (..., 3) in space, in metres, of whole pixels at these depths."""
        x = (columns + 0.5 - 0.5 * self.width) * depth / self.focal_length
        y = (rows + 0.5 - 0.5 * self.height) * depth / self.focal_length
        return np.stack([x, y, np.broadcast_to(depth, x.shape)], axis=-1)


@dataclass(frozen=True)
class Viewpoint:
    """Place of a camera relative to a person.

    Attributes
    ----------
    turn : float
        Angle about the vertical from the direction that the person faces, in radians.
    distance : float
        From the middle of the person, in metres.
    height : float
        Of the camera above the middle of the person, in metres.
    pitch : float
        Angle by which the camera looks down, in radians.
    """

    turn: float
    distance: float
    height: float = 0.0
    pitch: float = 0.0

    def look_at(self, points: Array, centre: Array, heading: float) -> Array:
        """Points (..., 3) with y up in the axes of the camera.

        Parameters
        ----------
        points : array (..., 3)
            Metres.
        centre : array (3,)
            The middle of the person.
        heading : float
            The direction that the person faces: 0 is z, pi / 2 is x.
        """
        about = turn_about_axis(np.array(self.turn - heading), 1)
        tilt = turn_about_axis(np.array(self.pitch), 0)
        level = (points - centre) @ about.T - np.array([0.0, self.height, self.distance])
        return (level @ tilt.T) * np.array([1.0, -1.0, -1.0])


_NEAREST = 0.1  # metres: what is closer is behind the lens


def render_spheres(
    centres: Array, radii: Array, parts: NDArray[np.uint8], camera: Camera
) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """Depth and label of each pixel: the exact surface of the union of the spheres.

    Parameters
    ----------
    centres : array (S, 3)
        In the axes of the camera, in metres.
    radii : array (S,)
    parts : array (S,) of uint8
    camera : Camera

    Returns
    -------
    depth : array (H, W) of float32
        Metres along the axis of the camera; 0 where there is no body, as depth cameras say it.
    labels : array (H, W) of uint8
        Part of the body; 255 where there is no body. Other labels are the silhouette.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import bodies
    >>> ball, red = np.array([[0.0, 0.0, 3.0]]), np.array([7], dtype=np.uint8)
    >>> camera = bodies.Camera(3, 5, 6.0)
    >>> depth, labels = bodies.render_spheres(ball, np.array([0.6]), red, camera)
    >>> depth.round(2)
    array([[0.  , 0.  , 2.58, 0.  , 0.  ],
           [0.  , 2.58, 2.4 , 2.58, 0.  ],
           [0.  , 0.  , 2.58, 0.  , 0.  ]], dtype=float32)
    >>> np.unique(labels)
    array([  7, 255], dtype=uint8)
    """
    depth = np.full((camera.height, camera.width), np.inf, dtype=np.float32)
    labels = np.full(depth.shape, BACKGROUND, dtype=np.uint8)
    _draw_spheres(centres, radii, parts, float(camera.focal_length), depth, labels)
    depth[labels == BACKGROUND] = 0.0
    return depth, labels


@compilation.compile_at_first_call
def _draw_spheres(
    centres: Array,
    radii: Array,
    parts: NDArray[np.uint8],
    focal_length: float,
    depth: NDArray[np.float32],
    labels: NDArray[np.uint8],
) -> None:
    """Keep the nearest of all spheres that the ray of a pixel meets."""
    H, W = depth.shape
    for s in range(len(radii)):
        x, y, z = centres[s]
        if z - radii[s] < _NEAREST:
            continue
        # No point of a sphere is further from the pixel of its centre.
        slant = math.sqrt(1.0 + (x * x + y * y) / (z * z))
        reach = focal_length * radii[s] / (z - radii[s]) * slant * slant + 1.0
        column, row = focal_length * x / z + 0.5 * W, focal_length * y / z + 0.5 * H
        first, last = max(0, int(column - reach)), min(W, int(column + reach) + 1)
        beyond = x * x + y * y + z * z - radii[s] * radii[s]
        for j in range(max(0, int(row - reach)), min(H, int(row + reach) + 1)):
            v = (j + 0.5 - 0.5 * H) / focal_length
            for i in range(first, last):
                u = (i + 0.5 - 0.5 * W) / focal_length
                a, b = u * u + v * v + 1.0, u * x + v * y + z
                inside = b * b - a * beyond
                if inside > 0.0:
                    d = (b - math.sqrt(inside)) / a
                    if d < depth[j, i]:
                        depth[j, i] = d
                        labels[j, i] = parts[s]


@dataclass(frozen=True)
class DepthSensor:
    """A camera that triangulates a projected pattern.

    It measures disparities, which are inverse depths. Their errors and steps are constant, so those
    of depths grow with the square of the distance. Next to the edge of a surface, part of the
    pattern is hidden, and many pixels have no reading.

    Parameters
    ----------
    noise : float, default=0.0015
        Standard deviation of a depth of one metre, in metres.
    step : float, default=0.0029
        Steps between readings of one metre, in metres.
    hole_rate : float, default=0.3
        Share of the pixels at edges that have no reading.
    edge : float, default=0.1
        Difference in depth of neighbouring pixels that is an edge, in metres.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import bodies
    >>> wall = np.full((4, 4), 2.0, dtype=np.float32)
    >>> sensor = bodies.DepthSensor(hole_rate=0.0)
    >>> sensor.measure(wall, np.random.default_rng(0))[0].round(3)
    array([2.005, 2.005, 1.993, 2.005], dtype=float32)
    """

    noise: float = 0.0015
    step: float = 0.0029
    hole_rate: float = 0.3
    edge: float = 0.1

    def measure(self, depth: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
        """Readings (H, W) of true depths; 0 where the sensor has no reading."""
        rows, columns = np.nonzero(depth > 0.0)
        true = depth[rows, columns].astype(np.float64)
        disparity = 1.0 / true + self.noise * rng.standard_normal(len(true))
        if self.step > 0.0:
            disparity = np.rint(disparity / self.step) * self.step
        lost = find_edges(depth, self.edge)[rows, columns]
        lost &= rng.random(len(true)) < self.hole_rate
        lost |= disparity <= 0.0  # too far
        readings = np.zeros_like(depth)
        readings[rows[~lost], columns[~lost]] = 1.0 / disparity[~lost]
        return readings


def find_edges(depth: NDArray[np.float32], least: float) -> NDArray[np.bool_]:
    """Pixels that differ in depth from a neighbour in their row or column by more than ``least``.

    Examples
    --------
    >>> import numpy as np
    >>> find_edges(np.array([[2.0, 2.0, 3.0]], dtype=np.float32), 0.5)
    array([[False,  True,  True]])
    """
    edges = np.zeros(depth.shape, dtype=np.bool_)
    for axis in (0, 1):
        jump = np.abs(np.diff(depth, axis=axis)) > least
        first, second = np.moveaxis(edges, axis, 0)[:-1], np.moveaxis(edges, axis, 0)[1:]
        first |= np.moveaxis(jump, axis, 0)
        second |= np.moveaxis(jump, axis, 0)
    return edges
