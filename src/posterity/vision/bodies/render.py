"""Depth and parts of a body of spheres, pixel by pixel: a compiled z-buffer."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array
from posterity.vision.bodies.cameras import Camera
from posterity.vision.bodies.parts import BACKGROUND

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
