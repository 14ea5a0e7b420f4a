"""Coordinates in which a search goes equally far in every direction.

L-BFGS learns curvature from its steps, a direction at a time. Latent points have thousands of
directions, held a million times more tightly in some than in others: what is known of that, it is
told.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posterity import linalg
from posterity.arrays import Array
from posterity.inference.search import Objective


@dataclass(frozen=True)
class Coordinates:
    """x = origin + (L^-T t, unit t), for the first entries of x and for the others.

    Examples
    --------
    >>> coordinates = Coordinates(np.array([1.0, 5.0]), np.array([[4.0]]), np.array([0.1]))
    >>> coordinates.to_point(np.array([8.0, 2.0]))
    array([3. , 5.2])
    """

    origin: Array  # (P,)
    L: Array  # (K, K), lower factor of the curvature of the first K
    unit: Array  # (P - K,)

    def to_point(self, t: Array) -> Array:
        """The point x that has coordinates t."""
        K = len(self.L)
        step = linalg.solve_lower_transposed(self.L, t[:K])
        return self.origin + np.concatenate([step, self.unit * t[K:]])

    def pull_back(self, dx: Array) -> Array:
        """dL/dt, given dL/dx."""
        K = len(self.L)
        return np.concatenate([linalg.solve_lower(self.L, dx[:K]), self.unit * dx[K:]])

    def wrap_objective(self, objective: Objective) -> Objective:
        """A function of x and its gradient, as those of t."""

        def value_and_gradient(t: Array) -> tuple[float, Array]:
            value, dx = objective(self.to_point(t))
            return value, self.pull_back(dx)

        return value_and_gradient

    def limits(self, limits: Array) -> Array:
        """Those of t, (P, 2), given those of x; the first K have none."""
        K = len(self.L)
        others = (limits[K:] - self.origin[K:, None]) / self.unit[:, None]
        return np.vstack([limits[:K], others])
