"""Poses by many experts: mixtures of single frames, and chains of them through videos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components
from scipy.special import logsumexp

from posterity import distributions
from posterity.arrays import Array
from posterity.vision.pose_experts import PoseExperts


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


_LOG_JUMP = np.log(1e-4)  # what a jump costs at most

Follows = NDArray[np.bool_]


def measure_speeds(poses: Array, follows: Follows) -> Array:
    """Change of each pose until the next frame, (n, P).

    A last frame goes on as it came; frames alone stand still.

    Parameters
    ----------
    poses : array (n, P)
    follows : array (n - 1,) of bool
        Whether each row but the first is the frame after the one before it.

    Examples
    --------
    >>> import numpy as np
    >>> measure_speeds(np.array([[0.0], [1.0], [3.0]]), np.array([True, True])).ravel()
    array([1., 2., 2.])
    """
    speeds = np.zeros_like(poses)
    moved = np.flatnonzero(follows)
    speeds[moved] = poses[moved + 1] - poses[moved]
    last = np.setdiff1d(moved + 1, moved)
    speeds[last] = speeds[last - 1]
    return speeds


def measure_bend(poses: Array, follows: Follows) -> float:
    """Root mean square change of the velocity, over all coordinates together.

    Zero where no three frames follow each other.

    Examples
    --------
    >>> import numpy as np
    >>> measure_bend(np.array([[0.0], [1.0], [3.0]]), np.array([True, True]))
    1.0
    """
    bends = np.diff(poses, 2, axis=0)[follows[1:] & follows[:-1]]
    return float(np.sqrt(np.mean(np.sum(bends**2, axis=1)))) if len(bends) else 0.0


def weigh_paths(log_weights: Array, poses: Array, speeds: Array, scale: float) -> Array:
    """Log probability of each hypothesis of each frame, given all frames of a video.

    Sums over all paths through the hypotheses. A path costs half the squared differences between
    each pose and the one before, moved by its speed, and half the squared changes of velocity, both
    in units of ``scale``; the cost of a jump is bounded.

    Parameters
    ----------
    log_weights : array (n, K)
        Log probability of each hypothesis of a frame by itself.
    poses, speeds : array (n, K, P)
        Pose of each hypothesis, and its expected change until the next frame.
    scale : float
        Size of changes of velocity.

    Returns
    -------
    array (n, K)

    Examples
    --------
    Of a point that moves evenly, the middle frame is undecided by itself:

    >>> import numpy as np
    >>> poses = np.array([[[0.0], [0.0]], [[1.0], [-1.0]], [[2.0], [2.0]]])
    >>> log_weights = np.log(np.full((3, 2), 0.5))
    >>> np.exp(weigh_paths(log_weights, poses, np.ones_like(poses), 0.5))[1].round(3)
    array([1., 0.])
    """
    if len(poses) < 2:
        return log_weights - logsumexp(log_weights, axis=1, keepdims=True)
    steps = _score_steps(poses, speeds, scale) + log_weights[1:, None]
    bends = _score_bends(poses, scale)
    # Entry (a, b) of a message: hypothesis a of a frame, and b of the next.
    ahead = [steps[0] + log_weights[0][:, None]]
    for step, bend in zip(steps[1:], bends, strict=True):
        ahead.append(_rescale(logsumexp(ahead[-1][:, :, None] + bend, axis=0) + step))
    back = [np.zeros_like(ahead[0])]
    for step, bend in zip(steps[:0:-1], bends[::-1], strict=True):
        back.append(_rescale(logsumexp(bend + back[-1] + step, axis=2)))
    pairs = np.array(ahead) + np.array(back[::-1])
    found = np.vstack([logsumexp(pairs[:1], axis=2), logsumexp(pairs, axis=1)])
    return np.asarray(found - logsumexp(found, axis=1, keepdims=True))


def _score_steps(poses: Array, speeds: Array, scale: float) -> Array:
    """Log potentials of pairs of hypotheses of successive frames, (n - 1, K, K)."""
    gaps = poses[1:, None] - (poses + speeds)[:-1, :, None]
    return _bound(np.sum(gaps**2, axis=3), scale)


def _score_bends(poses: Array, scale: float) -> Array:
    """Log potentials of three hypotheses a, b, c of successive frames, (n - 2, K, K, K).

    |a - 2 b + c|^2 is written with inner products: differences would take P times the memory.
    """
    centred = poses - poses.mean(axis=(0, 1))
    norms = np.sum(centred**2, axis=2)
    one, two = (np.einsum("tap,tbp->tab", centred[:-gap], centred[gap:]) for gap in (1, 2))
    squares = (
        norms[:-2, :, None, None]
        + 4.0 * norms[1:-1, None, :, None]
        + norms[2:, None, None, :]
        - 4.0 * one[:-1, :, :, None]
        - 4.0 * one[1:, None, :, :]
        + 2.0 * two[:, :, None, :]
    )
    return _bound(np.maximum(squares, 0.0), scale)


def _bound(squares: Array, scale: float) -> Array:
    return np.asarray(np.logaddexp(-0.5 * squares / scale**2, _LOG_JUMP))


def _rescale(message: Array) -> Array:
    return np.asarray(message - message.max())


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

    def list_poses(self, scale: Array, growth: float, shape: tuple[int, ...]) -> PoseModes:
        """Poses of all experts, as modes; targets had this shape."""
        n, k = self.log_weights.shape
        poses = self.poses.reshape(n, k, *shape)
        spread = self.find_spread(growth).reshape(n, *(1 for _ in poses.shape[1:]))
        deviations = np.broadcast_to(spread * scale.reshape(shape), poses.shape)
        return PoseModes(np.exp(self.log_weights), poses, deviations)

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
