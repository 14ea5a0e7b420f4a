"""Distributions of poses as mixtures over prototypes, frame by frame or smoothed over a video."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.special import logsumexp

from posterity import distributions
from posterity.arrays import Array
from posterity.vision.pose_modes import PoseModes
from posterity.vision.pose_prototypes import PosePrototypes

N_COMPONENTS = 32
"""Prototypes of the largest probabilities that are kept of a frame."""

_EM_STEPS = 6
_SEPARATE = 2.0  # standard deviations between poses from which they are different modes


@dataclass(frozen=True, eq=False)
class PoseMixture:
    """Some poses of each frame and their probabilities.

    Attributes
    ----------
    log_weights : ndarray of shape (n, K)
    poses : ndarray of shape (n, K, P)
    """

    log_weights: Array
    poses: Array

    @classmethod
    def from_weights(
        cls, prototypes: PosePrototypes, rows: Array, log_weights: Array, most: int = N_COMPONENTS
    ) -> Self:
        """Keep the most probable prototypes of each whitened row."""
        k = min(most, log_weights.shape[1])
        which = np.argsort(-log_weights, axis=1, kind="stable")[:, :k]
        kept = np.take_along_axis(log_weights, which, axis=1)
        kept = kept - logsumexp(kept, axis=1, keepdims=True)
        return cls(kept, prototypes.place_poses(rows, which))

    @classmethod
    def join(cls, parts: Sequence[PoseMixture]) -> PoseMixture:
        """Mixtures of several blocks of frames."""
        k = min(part.log_weights.shape[1] for part in parts)
        weights = [part.log_weights[:, :k] for part in parts]
        scaled = [w - logsumexp(w, axis=1, keepdims=True) for w in weights]
        return cls(np.concatenate(scaled), np.concatenate([part.poses[:, :k] for part in parts]))

    def __getitem__(self, rows: slice) -> PoseMixture:
        return PoseMixture(self.log_weights[rows], self.poses[rows])

    def mean(self) -> Array:
        """Mean pose of each frame, (n, P)."""
        return np.einsum("nk,nkp->np", np.exp(self.log_weights), self.poses)

    def learn_scale(self, truth: Array) -> tuple[Array, float]:
        """Standard deviation of each coordinate about the poses, and the mean log density.

        Steps of expectation and maximisation raise the density of each coordinate of the true
        poses, (n, P), under its mixture of normals.
        """
        squares = (truth[:, None] - self.poses) ** 2
        shares = np.exp(self.log_weights)[:, :, None]
        floor = 1e-12 * max(float(truth.var()), np.finfo(np.float64).tiny)
        variance = np.maximum(np.sum(shares * squares, axis=1).mean(axis=0), floor)
        score = -np.inf
        for _ in range(_EM_STEPS):
            log_p = self.log_weights[:, :, None] - 0.5 * squares / variance
            total = logsumexp(log_p, axis=1, keepdims=True)
            score = float(np.mean(total) - 0.5 * np.mean(np.log(2.0 * np.pi * variance)))
            own = np.exp(log_p - total)
            variance = np.maximum(np.sum(own * squares, axis=1).mean(axis=0), floor)
        return np.sqrt(variance), score

    def to_distribution(self, scale: Array, shape: tuple[int, ...]) -> distributions.Mixture:
        """Distribution of each coordinate; targets had this shape."""
        n, k = self.log_weights.shape
        means = np.moveaxis(self.poses, 1, 2).reshape(n, *shape, k)
        normals = distributions.Normal(
            means, np.broadcast_to(scale.reshape(*shape, 1), means.shape)
        )
        return distributions.Mixture(normals, self.log_weights.reshape(n, *(1 for _ in shape), k))

    def find_modes(self, scale: Array, shape: tuple[int, ...]) -> PoseModes:
        """Poses of each frame that stay apart, from the most probable on."""
        each = zip(self.log_weights, self.poses, strict=True)
        return PoseModes.join([_merge_poses(log_w, poses, scale, shape) for log_w, poses in each])


def weigh_frames(squares: Array, sharpness: float) -> Array:
    """Log probability of each prototype for each frame by itself, (n, M).

    Examples
    --------
    >>> import numpy as np
    >>> np.exp(weigh_frames(np.array([[0.0, np.log(3.0)]]), 1.0))
    array([[0.75, 0.25]])
    """
    log_p = -sharpness * squares
    return np.asarray(log_p - logsumexp(log_p, axis=1, keepdims=True))


def smooth_frames(squares: Array, sharpness: float, transitions: Array) -> Array:
    """Log probability of each prototype for each frame given all frames of a video, (n, M).

    Sums over all paths through the prototypes, forwards and backwards.

    Parameters
    ----------
    squares : array (n, M)
        Distances of frames from prototypes.
    sharpness : float
        Log probability that a unit of distance costs.
    transitions : array (M, M)
        Probability of each prototype after each.
    """
    seen = np.exp(-sharpness * (squares - squares.min(axis=1, keepdims=True)))
    forward, backward = np.empty_like(seen), np.ones_like(seen)
    forward[0] = seen[0] / seen[0].sum()
    for t in range(1, len(seen)):
        reached = (forward[t - 1] @ transitions) * seen[t]
        forward[t] = reached / reached.sum()
    for t in range(len(seen) - 2, -1, -1):
        ahead = transitions @ (seen[t + 1] * backward[t + 1])
        backward[t] = ahead / ahead.max()
    both = np.maximum(forward * backward, np.finfo(np.float64).tiny)
    return np.asarray(np.log(both / both.sum(axis=1, keepdims=True)))


def _merge_poses(
    log_weights: Array, poses: Array, scale: Array, shape: tuple[int, ...]
) -> PoseModes:
    """Join poses of one frame that chains of near ones connect."""
    standard = poses / scale
    gaps = np.sqrt(np.mean((standard[:, None] - standard) ** 2, axis=2))
    _, owner = connected_components(gaps < _SEPARATE, directed=False)
    weights: NDArray[np.float64] = np.exp(log_weights)
    probability = np.bincount(owner, weights)
    order = np.argsort(-probability, kind="stable")
    shares = np.where(owner == order[:, None], weights, 0.0)
    shares /= np.maximum(probability[order], np.finfo(np.float64).tiny)[:, None]
    middles = shares @ poses
    variance = scale**2 + np.maximum(shares @ poses**2 - middles**2, 0.0)
    return PoseModes(
        probability[None, order] / probability.sum(),
        middles.reshape(1, -1, *shape),
        np.sqrt(variance).reshape(1, -1, *shape),
    )
