"""Different poses that a frame may show: a mixture of normals for every coordinate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from posterity import distributions
from posterity.arrays import Array


@dataclass(frozen=True, eq=False)
class PoseModes:
    """Different poses that each of n frames may show, the most probable first.

    Attributes
    ----------
    probability : ndarray of shape (n, K)
        Probability of each mode, with the sum one; zero where a frame has fewer than K.
    poses : ndarray of shape (n, K, ...)
        Pose of each mode.
    standard_deviations : ndarray of shape (n, K, ...)
        Standard deviation of each coordinate about its mode.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import PoseModes
    >>> poses = np.stack([np.zeros((16, 3)), np.ones((16, 3))])
    >>> modes = PoseModes(np.array([[0.75, 0.25]]), poses[None], np.full((1, 2, 16, 3), 0.1))
    >>> modes.best()[0, 0], modes.mean()[0, 0]
    (array([0., 0., 0.]), array([0.25, 0.25, 0.25]))
    """

    probability: Array
    poses: Array
    standard_deviations: Array

    @classmethod
    def join(cls, parts: Sequence[PoseModes]) -> PoseModes:
        """Join the frames of several parts; a frame with fewer modes repeats its last one."""
        most = max(part.probability.shape[1] for part in parts)
        filled = [part._repeat_last(most) for part in parts]
        each = ([getattr(part, field.name) for part in filled] for field in fields(cls))
        return cls(*(np.concatenate(arrays) for arrays in each))

    def __len__(self) -> int:
        return len(self.probability)

    def __getitem__(self, frames: slice) -> PoseModes:
        return PoseModes(*(getattr(self, field.name)[frames] for field in fields(self)))

    def list_probable(self, frame: int, least: float = 0.0) -> tuple[Array, Array]:
        """Probabilities (k,) and poses (k, ...) of the modes of a frame.

        Parameters
        ----------
        frame : int
            Number of the frame.
        least : float, default=0
            Modes of a smaller probability are left out, except for the most probable one.
        """
        p = self.probability[frame]
        kept = (p > 0.0) & (p >= min(least, float(p[0])))
        return p[kept], self.poses[frame, kept]

    def to_distribution(self) -> distributions.Mixture:
        """Return the mixture of all modes, for each coordinate by itself, (n, ...)."""
        with np.errstate(divide="ignore"):
            log_p = np.log(self.probability).reshape(
                len(self), *(1 for _ in self.poses.shape[2:]), -1
            )
        each = (np.moveaxis(a, 1, -1) for a in (self.poses, self.standard_deviations))
        return distributions.Mixture(distributions.Normal(*each), log_p)

    def mean(self) -> Array:
        """Mean over all modes, (n, ...): between two modes, this need not be a pose."""
        return np.einsum("nk,nk...->n...", self.probability, self.poses)

    def best(self) -> Array:
        """Pose of the most probable mode, (n, ...)."""
        return self.poses[:, 0]

    def standard_deviation(self) -> Array:
        """Standard deviation of the mixture, (n, ...)."""
        return self.to_distribution().standard_deviation()

    def interval(self, coverage: float = 0.9) -> tuple[Array, Array]:
        """Bounds between which each coordinate lies with this probability, (n, ...) each."""
        return self.to_distribution().interval(coverage)

    def _repeat_last(self, most: int) -> PoseModes:
        """Add modes of probability zero, which repeat the last, until there are ``most``."""
        n_modes = self.probability.shape[1]
        which = np.minimum(np.arange(most), n_modes - 1)
        p = np.where(np.arange(most) < n_modes, self.probability[:, which], 0.0)
        return PoseModes(p, self.poses[:, which], self.standard_deviations[:, which])


def check_poses(y: ArrayLike, n_masks: int, *, least: int) -> Array:
    """Check poses to learn from, (N, ...): finite, enough of them, and one for each mask.

    Examples
    --------
    >>> import numpy as np
    >>> check_poses(np.ones((3, 2)), 3, least=30)
    Traceback (most recent call last):
        ...
    ValueError: 3 poses are too few to learn from: 30 at least.
    """
    poses = np.asarray(y, dtype=np.float64)
    if poses.ndim < 2 or poses[0].size == 0:
        raise ValueError(f"Poses must have a row each, not the shape {poses.shape}.")
    if not np.isfinite(poses).all():
        row = int(np.flatnonzero(~np.isfinite(poses.reshape(len(poses), -1)).all(axis=1))[0])
        raise ValueError(f"The pose in row {row} has a number that is not finite.")
    if len(poses) != n_masks:
        raise ValueError(f"There are {n_masks} silhouettes, but {len(poses)} poses.")
    if len(poses) < least:
        raise ValueError(f"{len(poses)} poses are too few to learn from: {least} at least.")
    return poses
