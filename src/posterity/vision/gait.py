"""The cycle of a walk: the phase of every frame, and the mean path of latent points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array

_SHARPNESS = 40.0  # of the weights over phases: about a fortieth of a cycle
_LEAST_TURNS = 0.75  # of the longest motion
_TURN = 2.0 * np.pi


@dataclass(frozen=True, eq=False)
class Gait:
    """Phases of frames of periodic motions.

    Attributes
    ----------
    phase : ndarray of shape (N,)
        Share of the cycle that has passed, from 0 to 1, in proportion to time.
    period : float
        Duration of a cycle, in units of the times.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.arange(40) * 0.1
    >>> gait = Gait.from_frames(np.sin(2.0 * np.pi * t / 1.25), t, np.zeros(40, dtype=int))
    >>> round(gait.period, 2)
    1.26
    """

    phase: Array
    period: float

    @classmethod
    def from_frames(cls, swing: Array, times: Array, groups: NDArray[np.intp]) -> Gait | None:
        """Follow the angle of a swing and its rate; None if no motion goes round once.

        Parameters
        ----------
        swing : array (N,)
            The leading component of the poses: of a walk, how far the left leg is before the right.
        times : array (N,)
        groups : array (N,)
            Motion of each frame.
        """
        angle, rates, weights, most = np.full(len(swing), np.nan), [], [], 0.0
        for group in np.unique(groups):
            frames = np.flatnonzero(groups == group)
            frames = frames[np.argsort(times[frames], kind="stable")]
            if len(frames) < 3 or np.ptp(times[frames]) <= 0.0:
                continue
            x, t = swing[frames] - swing.mean(), times[frames]
            rate = np.gradient(x, t)
            turn = np.arctan2(-rate * (x.std() / max(rate.std(), 1e-300)), x)
            wound = np.unwrap(turn)
            angle[frames] = turn
            rates.append(abs(wound[-1] - wound[0]) / np.ptp(t))
            weights.append(np.ptp(t))
            most = max(most, abs(wound[-1] - wound[0]) / _TURN)
        if most < _LEAST_TURNS:
            return None
        # Frames follow each other at equal times, so ranks of angles are shares of time.
        known = np.isfinite(angle)
        ordered = np.sort(angle[known])
        phase = np.searchsorted(ordered, np.where(known, angle, 0.0)) / len(ordered)
        return cls(phase, float(_TURN / np.average(rates, weights=weights)))

    def find_path(self, points: Array, phases: Array) -> Array:
        """Mean (n, Q) at phases (n,) of points (N, Q), weighed by how close their phases are."""
        apart = np.cos(_TURN * (phases[:, None] - self.phase))
        weights = np.exp(_SHARPNESS * (apart - 1.0))
        return weights @ points / weights.sum(axis=1, keepdims=True)
