"""Distributions of poses as mixtures over experts, frame by frame or smoothed over a video."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.special import logsumexp

from posterity import distributions
from posterity.arrays import Array
from posterity.vision.pose_chains import weigh_paths
from posterity.vision.pose_experts import PoseExperts
from posterity.vision.pose_modes import PoseModes

N_COMPONENTS = 8
"""Experts of the largest probabilities that are kept of a frame."""

_EM_STEPS = 8
_SEPARATE = 2.0  # standard deviations between poses from which they are different modes


@dataclass(frozen=True, eq=False)
class PoseMixture:
    """Some poses of each frame and their probabilities.

    Attributes
    ----------
    log_weights : ndarray of shape (n, K)
        Log probability of each pose.
    poses, speeds : ndarray of shape (n, K, P)
        Poses, and their expected changes until the next frame.
    doubt : ndarray of shape (n,)
        Share of a frame that is unlike those learned from, from 0 to 1.
    """

    log_weights: Array
    poses: Array
    speeds: Array
    doubt: Array

    @classmethod
    def from_features(cls, experts: PoseExperts, features: Array) -> Self:
        """Poses under the most probable experts of each row of features."""
        columns = experts.measure_columns(features)
        log_weights = experts.weigh(columns)
        which = np.argsort(-log_weights, axis=1, kind="stable")[:, :N_COMPONENTS]
        kept = np.take_along_axis(log_weights, which, axis=1)
        kept = kept - logsumexp(kept, axis=1, keepdims=True)
        return cls(kept, *experts.place_poses(columns, which), experts.measure_doubt(columns))

    @classmethod
    def join(cls, parts: Sequence[PoseMixture]) -> PoseMixture:
        """Join the frames of several mixtures."""
        k = min(part.log_weights.shape[1] for part in parts)
        weights = np.concatenate([part.log_weights[:, :k] for part in parts])
        return cls(
            weights - logsumexp(weights, axis=1, keepdims=True),
            np.concatenate([part.poses[:, :k] for part in parts]),
            np.concatenate([part.speeds[:, :k] for part in parts]),
            np.concatenate([part.doubt for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.doubt)

    def __getitem__(self, rows: slice) -> PoseMixture:
        return PoseMixture(*(getattr(self, field.name)[rows] for field in fields(self)))

    def smooth(self, scale: float, sharpness: float) -> PoseMixture:
        """Weigh the same poses by all frames of a video.

        ``scale`` is the size of changes of velocity, ``sharpness`` the power of the probabilities
        of single frames: errors of successive frames are alike, so that a frame counts less than it
        would by itself.
        """
        weights = weigh_paths(sharpness * self.log_weights, self.poses, self.speeds, scale)
        return replace(self, log_weights=weights)

    def mean(self) -> Array:
        """Mean pose of each frame, (n, P)."""
        return np.einsum("nk,nkp->np", np.exp(self.log_weights), self.poses)

    def find_spread(self, growth: float) -> Array:
        """Standard deviation of each frame over that of frames like those learned from, (n,)."""
        return np.asarray(np.sqrt(1.0 + growth * self.doubt))

    def learn_scale(self, truth: Array, growth: float = 0.0) -> tuple[Array, float]:
        """Standard deviation of each coordinate about the poses, and the mean log density.

        Steps of expectation and maximisation raise the density of each coordinate of the true
        poses, (n, P), under its mixture of normals, whose variance grows with the doubt.
        """
        spread = self.find_spread(growth)[:, None, None]
        squares = ((truth[:, None] - self.poses) / spread) ** 2
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
        return np.sqrt(variance), score - float(np.mean(np.log(spread)))

    def to_distribution(
        self, scale: Array, growth: float, shape: tuple[int, ...]
    ) -> distributions.Mixture:
        """Distribution of each coordinate; targets had this shape."""
        n, k = self.log_weights.shape
        one = tuple(1 for _ in shape)
        means = np.moveaxis(self.poses, 1, 2).reshape(n, *shape, k)
        deviations = self.find_spread(growth).reshape(n, *one, 1) * scale.reshape(*shape, 1)
        normals = distributions.Normal(means, np.broadcast_to(deviations, means.shape))
        return distributions.Mixture(normals, self.log_weights.reshape(n, *one, k))

    def find_modes(self, scale: Array, growth: float, shape: tuple[int, ...]) -> PoseModes:
        """Poses of each frame that stay apart, from the most probable on.

        Whether poses differ does not depend on the doubt: two legs do not become one in a frame
        that is unlike those learned from.
        """
        each = zip(self.log_weights, self.poses, self.find_spread(growth), strict=True)
        return PoseModes.join([_merge_poses(*one, scale, shape) for one in each])


def _merge_poses(
    log_weights: Array, poses: Array, spread: float, scale: Array, shape: tuple[int, ...]
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
    variance = (spread * scale) ** 2 + np.maximum(shares @ poses**2 - middles**2, 0.0)
    return PoseModes(
        probability[None, order] / probability.sum(),
        middles.reshape(1, -1, *shape),
        np.sqrt(variance).reshape(1, -1, *shape),
    )
