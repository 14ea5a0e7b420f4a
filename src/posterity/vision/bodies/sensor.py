"""What a depth camera of the kind of Kinect makes of true depths: noise, steps and holes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
