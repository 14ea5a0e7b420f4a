"""Prototypes of poses: pairs of a typical silhouette and a pose, and how poses follow each other.

Features are whitened by their covariance between people in nearly the same pose, so that distances
count what tells poses apart. A prototype is the middle of a cluster of features and poses; near
it, the pose changes linearly with the features. In a video the prototypes are the states of a
hidden Markov chain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.cluster import KMeans

from posterity import linalg, validation
from posterity.arrays import Array

_NEIGHBOURS = 10  # nearest poses between which features differ by noise
_MOST_ROWS = 2000  # whose neighbours are looked for
_POSE_SHARE = 5.0  # variance of poses over that of features, where clusters are formed
_MAX_ITER = 15  # of the search for clusters
_PRIOR_COUNT = 3.0  # transitions that the distance between poses is worth
_JUMP = 1e-3  # chance that any pose follows

Follows = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class PosePrototypes:
    """Typical silhouettes with their poses.

    Attributes
    ----------
    mean : ndarray of shape (D,)
        Of the features.
    factor : ndarray of shape (D, D)
        Whitens features: its product with its transpose is the inverse covariance of noise.
    centres : ndarray of shape (M, D)
        Whitened features.
    poses, speeds : ndarray of shape (M, P)
        Mean poses, and their change until the next frame.
    slopes : ndarray of shape (D, P)
        Change of poses with whitened features, about all prototypes alike.
    reach : float
        Largest distance of a row from its prototype, beyond which slopes do not lead.
    starts, ends : ndarray of shape (T,), int32
        Transitions between successive frames.
    step : float
        Root mean square change of a pose in one frame; 0 where no frames follow each other.
    """

    mean: Array
    factor: Array
    centres: Array
    poses: Array
    speeds: Array
    slopes: Array
    reach: float
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    step: float

    @classmethod
    def learn(
        cls,
        features: Array,
        poses: Array,
        follows: Follows,
        groups: NDArray[np.intp] | None = None,
        *,
        n_prototypes: int,
        shrinkage: float,
        stiffness: float,
        rng: np.random.Generator,
    ) -> Self:
        """Learn prototypes from rows.

        Parameters
        ----------
        features : array (N, D)
        poses : array (N, P)
        follows : array (N - 1,) of bool
            Whether each row but the first is the frame after the one before it.
        groups : array (N,) of int, optional
            Features are compared between groups. None: between all rows.
        n_prototypes : int
        shrinkage : float
            Share of the diagonal in the covariance of noise.
        stiffness : float
            Penalty on slopes, in units of the number of rows.
        rng : Generator
        """
        mean = features.mean(axis=0)
        factor = find_whitening(features - mean, poses, groups, shrinkage, rng)
        rows = (features - mean) @ factor
        owner = _find_clusters(rows, poses, n_prototypes, rng)
        speeds, step = measure_speeds(poses, follows)
        middles = [_average_clusters(columns, owner) for columns in (rows, poses, speeds)]
        within = rows - middles[0][owner]
        moved = np.flatnonzero(follows)
        return cls(
            mean=mean,
            factor=factor,
            centres=middles[0],
            poses=middles[1],
            speeds=middles[2],
            slopes=_find_slopes(within, poses - middles[1][owner], stiffness),
            reach=float(np.sqrt(np.max(np.sum(within**2, axis=1)))),
            starts=owner[moved].astype(np.int32),
            ends=owner[moved + 1].astype(np.int32),
            step=step,
        )

    def __len__(self) -> int:
        return len(self.centres)

    def whiten(self, features: Array) -> Array:
        """Whitened features of rows."""
        return (features - self.mean) @ self.factor

    def find_squares(self, rows: Array) -> Array:
        """Mean squared distance, over features, of whitened rows from each prototype, (n, M)."""
        cross = rows @ self.centres.T
        squares = np.sum(rows**2, axis=1)[:, None] + np.sum(self.centres**2, axis=1) - 2.0 * cross
        return np.maximum(squares, 0.0) / rows.shape[1]

    def place_poses(self, rows: Array, which: NDArray[np.intp]) -> Array:
        """Place the poses of whitened rows (n, D) near prototypes ``which`` (n, K): (n, K, P)."""
        squares = np.take_along_axis(self.find_squares(rows), which, axis=1) * rows.shape[1]
        scale = np.ones_like(squares)
        far = squares > self.reach**2
        scale[far] = self.reach / np.sqrt(squares[far])
        moved = (rows @ self.slopes)[:, None] - (self.centres @ self.slopes)[which]
        return self.poses[which] + scale[:, :, None] * moved

    def find_transitions(self, width: float) -> Array:
        """Probability of each prototype in the next frame, (M, M).

        Counts of the transitions that were seen are added to what the poses let expect: the next
        pose is near the pose moved by its speed, within ``width`` steps, and the speed is kept.
        """
        ahead = _find_squares(self.poses + self.speeds, self.poses)
        bend = _find_squares(self.speeds, self.speeds)
        scale = 2.0 * (width * max(self.step, np.finfo(np.float64).tiny)) ** 2
        log_p = -(ahead + bend) / scale
        expected = np.exp(log_p - logsumexp(log_p, axis=1, keepdims=True))
        counts = _PRIOR_COUNT * expected
        np.add.at(counts, (self.starts, self.ends), 1.0)
        counts /= counts.sum(axis=1, keepdims=True)
        return np.asarray((1.0 - _JUMP) * counts + _JUMP / len(self))

    def check_consistency(self) -> None:
        """Check shapes and indices that were read from a file."""
        validation.require_array(self.centres, "centres", np.float64, (None, None))
        validation.require_array(self.poses, "poses", np.float64, (None, None))
        M, D, P = *self.centres.shape, self.poses.shape[1]
        shapes = {
            "mean": (D,), "factor": (D, D), "poses": (M, P), "speeds": (M, P), "slopes": (D, P)
        }  # fmt: skip
        for name, shape in shapes.items():
            validation.require_array(getattr(self, name), name, np.float64, shape)
        for name in ("starts", "ends"):
            numbers = getattr(self, name)
            validation.require_array(numbers, name, np.int32, (len(self.starts),))
            validation.require_within(numbers, name, 0, M)


def find_whitening(
    features: Array,
    poses: Array,
    groups: NDArray[np.intp] | None,
    shrinkage: float,
    rng: np.random.Generator,
) -> Array:
    """Find a matrix that makes the noise of features white: its covariance between near poses.

    Parameters
    ----------
    features : array (N, D)
    poses : array (N, P)
    groups : array (N,) of int, optional
        The nearest poses are looked for in other groups: those of the same person are too alike.
    shrinkage : float
        Share of the diagonal in the covariance.
    rng : Generator
        Draws the rows whose neighbours are compared.
    """
    n = len(poses)
    some = rng.permutation(n)[:_MOST_ROWS]
    squares = _find_squares(poses[some], poses)
    squares[np.arange(len(some)), some] = np.inf
    if groups is not None and len(np.unique(groups)) > 1:
        squares[groups[some][:, None] == groups] = np.inf
    k = min(_NEIGHBOURS, n - 1)
    near = np.argpartition(squares, k - 1, axis=1)[:, :k]
    known = np.isfinite(np.take_along_axis(squares, near, axis=1))
    gaps = (features[some][:, None] - features[near])[known]
    covariance = 0.5 * gaps.T @ gaps / len(gaps)
    variance = np.diagonal(covariance)
    floor = 1e-9 * max(float(variance.max()), np.finfo(np.float64).tiny)
    shrunk = (1.0 - shrinkage) * covariance + np.diag(shrinkage * variance + floor)
    lower = linalg.cholesky(shrunk)
    return np.asarray(linalg.solve_lower(lower, np.eye(len(lower)))).T


def measure_speeds(poses: Array, follows: Follows) -> tuple[Array, float]:
    """Change of each pose until the next frame, and the root mean square of its length.

    A last frame goes on as it came; frames alone stand still.

    Examples
    --------
    >>> import numpy as np
    >>> measure_speeds(np.array([[0.0], [1.0], [3.0]]), np.array([True, True]))[0].ravel()
    array([1., 2., 2.])
    """
    speeds = np.zeros_like(poses)
    moved = np.flatnonzero(follows)
    speeds[moved] = poses[moved + 1] - poses[moved]
    last = np.setdiff1d(moved + 1, moved)
    speeds[last] = speeds[last - 1]
    step = np.sqrt(np.mean(np.sum(speeds[moved] ** 2, axis=1))) if len(moved) else 0.0
    return speeds, float(step)


def _find_clusters(
    rows: Array, poses: Array, n_clusters: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Cluster of each row by features and pose; clusters are numbered without gaps."""
    spread = np.sqrt(_POSE_SHARE * np.sum(rows.var(axis=0)) / np.sum(poses.var(axis=0)))
    both = np.column_stack([rows, spread * poses]).astype(np.float32)
    seed = int(rng.integers(1 << 31))
    search = KMeans(n_clusters, n_init=1, max_iter=_MAX_ITER, random_state=seed)
    return np.unique(search.fit_predict(both), return_inverse=True)[1]


def _average_clusters(columns: Array, owner: NDArray[np.intp]) -> Array:
    sums = np.zeros((int(owner.max()) + 1, columns.shape[1]))
    np.add.at(sums, owner, columns)
    return np.asarray(sums / np.bincount(owner)[:, None])


def _find_slopes(within: Array, poses: Array, stiffness: float) -> Array:
    """Ridge regression of poses on features, both about their prototypes."""
    gram = within.T @ within
    gram[np.diag_indices_from(gram)] += stiffness * len(within)
    return np.asarray(linalg.solve_cholesky(linalg.cholesky(gram), within.T @ poses))


def _find_squares(a: Array, b: Array) -> Array:
    squares = np.sum(a**2, axis=1)[:, None] + np.sum(b**2, axis=1) - 2.0 * (a @ b.T)
    return np.maximum(squares, 0.0)
