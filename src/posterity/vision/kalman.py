"""Kalman filter of a few coordinates that keep their velocity for a while."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posterity import linalg
from posterity.arrays import Array


@dataclass(frozen=True, eq=False)
class NormalState:
    """Normal distribution of coordinates and their velocities.

    Parameters
    ----------
    mean : array of shape (2 k,)
        Coordinates, and then their velocities per frame.
    covariance : array of shape (2 k, 2 k)
        Covariance of both.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision.kalman import NormalState
    >>> NormalState.at_rest(np.array([3.0]), np.array([1.0]), np.array([4.0])).covariance
    array([[1., 0.],
           [0., 4.]])
    """

    mean: Array
    covariance: Array

    @classmethod
    def at_rest(cls, position: Array, variance: Array, velocity_variance: Array) -> NormalState:
        """State at a known position, with velocities about zero."""
        covariance = np.diag(np.concatenate([variance, velocity_variance]))
        return cls(np.concatenate([position, np.zeros_like(position)]), covariance)

    @property
    def position(self) -> Array:
        """Mean of the coordinates."""
        return self.mean[: len(self.mean) // 2]

    @property
    def position_covariance(self) -> Array:
        """Covariance of the coordinates."""
        k = len(self.mean) // 2
        return self.covariance[:k, :k]


@dataclass(frozen=True, eq=False)
class ConstantVelocityFilter:
    """Predicts coordinates from their velocities, and corrects them by measurements.

    From frame to frame a velocity keeps the share ``persistence`` and gains normal noise; the
    coordinate moves by it. So while nothing is measured the prediction comes to rest, and its
    variance grows.

    Parameters
    ----------
    acceleration_variance : array of shape (k,)
        Variance that a velocity gains per frame.
    persistence : float
        Share of the velocity that is kept, from 0 to 1.

    Examples
    --------
    A point that moved by 2 in each of ten frames is expected to go on:

    >>> import numpy as np
    >>> from posterity.vision.kalman import ConstantVelocityFilter, NormalState
    >>> motion = ConstantVelocityFilter(np.array([0.01]), persistence=1.0)
    >>> state = NormalState.at_rest(np.zeros(1), np.ones(1), np.ones(1))
    >>> for place in np.arange(2.0, 22.0, 2.0):
    ...     state = motion.correct(motion.predict(state), np.array([place]), np.eye(1))
    >>> motion.predict(state).position.round()
    array([22.])
    """

    acceleration_variance: Array
    persistence: float = 0.9

    def predict(self, state: NormalState) -> NormalState:
        """Distribution in the next frame, before it is seen."""
        k = len(self.acceleration_variance)
        move = np.eye(2 * k)
        move[:k, k:] = move[k:, k:] = self.persistence * np.eye(k)
        # A gain of velocity within the frame moves the coordinate by half of it.
        kick = np.vstack([0.5 * np.eye(k), np.eye(k)])
        noise = kick @ np.diag(self.acceleration_variance) @ kick.T
        return NormalState(move @ state.mean, move @ state.covariance @ move.T + noise)

    def correct(self, state: NormalState, measured: Array, noise: Array) -> NormalState:
        """Condition a prediction on measured coordinates with the covariance ``noise``."""
        k = len(measured)
        L = linalg.cholesky(state.covariance[:k, :k] + noise)
        A = linalg.solve_lower(L, state.covariance[:k])
        mean = state.mean + A.T @ linalg.solve_lower(L, measured - state.mean[:k])
        return NormalState(mean, linalg.symmetrize(state.covariance - A.T @ A))


def measure_surprise(state: NormalState, measured: Array, noise: Array) -> float:
    """Squared Mahalanobis distance of measured coordinates from their prediction.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision.kalman import NormalState, measure_surprise
    >>> state = NormalState.at_rest(np.zeros(1), np.ones(1), np.ones(1))
    >>> measure_surprise(state, np.array([4.0]), np.array([[3.0]]))
    4.0
    """
    k = len(measured)
    L = linalg.cholesky(state.covariance[:k, :k] + noise)
    z = linalg.solve_lower(L, measured - state.mean[:k])
    return float(z @ z)


def mix_states(first: NormalState, second: NormalState, share: float) -> NormalState:
    """Normal distribution with mean and covariance of a mixture of two.

    Parameters
    ----------
    first, second : NormalState
        The parts.
    share : float
        Weight of the first, from 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision.kalman import NormalState, mix_states
    >>> near = NormalState.at_rest(np.zeros(1), np.ones(1), np.ones(1))
    >>> far = NormalState.at_rest(np.full(1, 4.0), np.ones(1), np.ones(1))
    >>> mixed = mix_states(near, far, 0.5)
    >>> mixed.position, mixed.position_covariance
    (array([2.]), array([[5.]]))
    """
    gap = first.mean - second.mean
    spread = share * (1.0 - share) * np.outer(gap, gap)
    return NormalState(
        share * first.mean + (1.0 - share) * second.mean,
        share * first.covariance + (1.0 - share) * second.covariance + spread,
    )
