"""A camera: where points of space are in its picture, and pixels in space."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posterity import validation
from posterity.arrays import Array
from posterity.vision.bodies.kinematics import turn_about_axis


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
    """Where a camera stands relative to a person.

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
