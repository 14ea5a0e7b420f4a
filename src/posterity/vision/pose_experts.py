"""Experts for poses: kernel regressions, one for each cluster of poses, with a gate.

Features are whitened by their covariance between people in nearly the same pose, so that distances
count what tells poses apart. All experts and the gate share the columns of one kernel. An expert
learns from the poses of one cluster only, so that different poses that look alike are not averaged.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from scipy.special import log_softmax
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from posterity import linalg, validation
from posterity.arrays import Array
from posterity.linalg.leading import leading_eigenpairs
from posterity.vision.silhouettes import find_squares

_NEIGHBOURS = 10  # nearest poses between which features differ by noise
_MOST_ROWS = 2000  # whose neighbours, or distances, are looked for
_WIDTH = 0.7  # of the kernel, in units of the median distance between rows
_JITTER = 1e-6  # of the kernel between its columns
_GATE_PENALTY = 0.01  # on squared weights of the gate
_MAX_ITER = 30  # of searches for clusters
_GATE_MAX_ITER = 200

Labels = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class PoseExperts:
    """Kernel regressions of poses on features of silhouettes, and a gate between them.

    Attributes
    ----------
    mean : ndarray of shape (D,)
        Mean of the features.
    basis : ndarray of shape (D, Q)
        Whitens features, and keeps their leading directions.
    centres : ndarray of shape (M, Q)
        Whitened features at which the kernel has columns.
    width : float
        Width of the kernel.
    whitening : ndarray of shape (M, M)
        Makes the columns of the kernel independent under its prior.
    gate_weights, gate_offset : ndarray of shape (M, K) and (K,)
        Logistic regression of experts on columns.
    offsets : ndarray of shape (K, 2 P)
        Mean pose of each expert, and its mean change until the next frame.
    weights : ndarray of shape (K, M, 2 P), float32
        Weights of the regressions of both: most of a file.
    covariance : ndarray of shape (M, M)
        Posterior covariance of weights, in units of their prior variance.
    """

    mean: Array
    basis: Array
    centres: Array
    width: float
    whitening: Array
    gate_weights: Array
    gate_offset: Array
    offsets: Array
    weights: NDArray[np.float32]
    covariance: Array

    @classmethod
    def learn(
        cls,
        features: Array,
        poses: Array,
        speeds: Array,
        groups: Labels | None = None,
        *,
        n_experts: int,
        n_columns: int,
        n_components: int,
        shrinkage: float,
        penalty: float,
        rng: np.random.Generator,
    ) -> Self:
        """Learn experts from rows.

        Parameters
        ----------
        features : array (N, D)
        poses, speeds : array (N, P)
            Poses, and their changes until the next frame.
        groups : array (N,) of int, optional
            Features are compared between groups. None: between all rows.
        n_experts, n_columns, n_components : int
            Numbers of experts, of columns of the kernel, and of directions of features, at most.
        shrinkage : float
            Share of the diagonal in the covariance of noise.
        penalty : float
            On squared weights of experts, in units of the prior variance.
        rng : Generator
        """
        mean = features.mean(axis=0)
        factor = find_whitening(features - mean, poses, groups, shrinkage, rng)
        basis = factor @ _find_directions((features - mean) @ factor, n_components)
        rows = (features - mean) @ basis
        seeds = rng.integers(1 << 31, size=2)
        _, centres = _find_clusters(rows, n_columns, int(seeds[0]))
        width = _WIDTH * _measure_distance(rows, rng)
        gram = _measure_kernel(centres, centres, width) + _JITTER * np.eye(len(centres))
        whitening = np.asarray(linalg.solve_lower(linalg.cholesky(gram), np.eye(len(gram)))).T
        columns = _measure_kernel(rows, centres, width) @ whitening
        owner = _find_clusters(poses, n_experts, int(seeds[1]))[0]
        targets = np.column_stack([poses, speeds])
        offsets = _average_clusters(targets, owner)
        gate_weights, gate_offset = _learn_gate(columns, owner)
        return cls(
            mean=mean,
            basis=basis,
            centres=centres,
            width=width,
            whitening=whitening,
            gate_weights=gate_weights,
            gate_offset=gate_offset,
            offsets=offsets,
            weights=_learn_regressions(columns, targets, owner, offsets, penalty),
            covariance=_find_covariance(columns, penalty),
        )

    def __len__(self) -> int:
        return len(self.offsets)

    def measure_columns(self, features: Array) -> Array:
        """Columns of the kernel for rows of features, (n, M)."""
        rows = (features - self.mean) @ self.basis
        return _measure_kernel(rows, self.centres, self.width) @ self.whitening

    def weigh(self, columns: Array) -> Array:
        """Log probability of each expert, (n, K)."""
        return np.asarray(log_softmax(columns @ self.gate_weights + self.gate_offset, axis=1))

    def place_poses(self, columns: Array, which: Labels) -> tuple[Array, Array]:
        """Poses and speeds of rows (n, M) under the experts ``which`` (n, k): (n, k, P) each."""
        both = np.empty((*which.shape, self.offsets.shape[1]))
        for expert in range(len(self)):
            row, place = np.nonzero(which == expert)
            both[row, place] = columns[row] @ self.weights[expert] + self.offsets[expert]
        poses, speeds = np.split(both, 2, axis=2)
        return poses, speeds

    def measure_doubt(self, columns: Array) -> Array:
        """Variance of a function under the kernel, given all rows, over that before any, (n,).

        Near 0 where rows are dense, and 1 far from all.
        """
        beyond = np.maximum(1.0 - np.sum(columns**2, axis=1), 0.0)
        return np.asarray(beyond + np.sum((columns @ self.covariance) * columns, axis=1))

    def check_consistency(self) -> None:
        """Check shapes that were read from a file."""
        validation.require_array(self.basis, "basis", np.float64, (None, None))
        validation.require_array(self.weights, "weights", np.float32, (None, None, None))
        (D, Q), (K, M, P) = self.basis.shape, self.weights.shape
        shapes = {
            "mean": (D,), "centres": (M, Q), "whitening": (M, M), "gate_weights": (M, K),
            "gate_offset": (K,), "offsets": (K, P), "covariance": (M, M),
        }  # fmt: skip
        for name, shape in shapes.items():
            validation.require_array(getattr(self, name), name, np.float64, shape)
        validation.require(P % 2 == 0, "offsets must have poses and their changes.")


def find_whitening(
    features: Array,
    poses: Array,
    groups: Labels | None,
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
    squares = find_squares(poses[some], poses)
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


def _find_directions(rows: Array, most: int) -> Array:
    """Directions in which whitened features vary most, (D, at most ``most``)."""
    _, directions = leading_eigenpairs(rows.T @ rows, min(most, rows.shape[1]))
    return directions


def _find_clusters(rows: Array, most: int, seed: int) -> tuple[Labels, Array]:
    """Cluster of each row, numbered without gaps, and the mean of each cluster."""
    search = KMeans(most, n_init=1, max_iter=_MAX_ITER, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different rows than clusters
        found = search.fit_predict(rows)
    owner = np.unique(found, return_inverse=True)[1]
    return owner, _average_clusters(rows, owner)


def _average_clusters(rows: Array, owner: Labels) -> Array:
    sums = np.zeros((int(owner.max()) + 1, rows.shape[1]))
    np.add.at(sums, owner, rows)
    return np.asarray(sums / np.bincount(owner)[:, None])


def _measure_distance(rows: Array, rng: np.random.Generator) -> float:
    """Median distance between rows."""
    typical = float(np.median(pdist(rows[rng.permutation(len(rows))[:_MOST_ROWS]])))
    return typical if typical > 0.0 else 1.0


def _measure_kernel(a: Array, b: Array, width: float) -> Array:
    """Squared-exponential kernel, (len(a), len(b))."""
    return np.asarray(np.exp(-0.5 * find_squares(a, b) / width**2))


def _learn_gate(columns: Array, owner: Labels) -> tuple[Array, Array]:
    """Weights (M, K) and offset (K,) of a penalised logistic regression of the clusters."""
    n_experts = int(owner.max()) + 1
    if n_experts == 1:
        return np.zeros((columns.shape[1], 1)), np.zeros(1)
    model = LogisticRegression(C=1.0 / _GATE_PENALTY, max_iter=_GATE_MAX_ITER)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a little more penalty is no harm
        model.fit(columns, owner)
    weights, offset = model.coef_.T, model.intercept_
    if n_experts == 2:  # scikit-learn keeps the difference of the two alone
        return np.column_stack([np.zeros(len(weights)), weights]), np.append(0.0, offset)
    return weights, offset


def _learn_regressions(
    columns: Array, targets: Array, owner: Labels, offsets: Array, penalty: float
) -> NDArray[np.float32]:
    """Weights of a ridge regression in each cluster, about its mean."""
    weights = np.empty((len(offsets), columns.shape[1], targets.shape[1]), dtype=np.float32)
    for expert, offset in enumerate(offsets):
        own = owner == expert
        gram = _add_penalty(columns[own], penalty)
        weights[expert] = linalg.solve_cholesky(
            linalg.cholesky(gram), columns[own].T @ (targets[own] - offset)
        )
    return weights


def _find_covariance(columns: Array, penalty: float) -> Array:
    lower = linalg.cholesky(_add_penalty(columns, penalty))
    return np.asarray(penalty * linalg.solve_cholesky(lower, np.eye(len(lower))))


def _add_penalty(columns: Array, penalty: float) -> Array:
    return np.asarray(columns.T @ columns + penalty * np.eye(columns.shape[1]))
