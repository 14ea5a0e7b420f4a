"""A fitted model of walking people: latent points, and the units of poses and silhouettes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import linalg
from posterity.arrays import Array
from posterity.inference import gplvm
from posterity.vision.gait import Gait
from posterity.vision.pose_hypotheses import PoseHypotheses
from posterity.vision.principal_frame import PrincipalFrame

_MOST_AXES = 20  # of poses
_LEFT_OVER = 5e-4  # share of the variance of poses that axes may leave over
_BLOCKS = 5  # of one motion, in place of several
_FAINT = 1e-3  # probability of a hypothesis that is left out


def fit_walk(
    plan: gplvm.LatentPlan, poses: Array, masks: Array, path: gplvm.Path, mask_components: int
) -> FittedWalk:
    """Fit poses alone, measure the noise of both, and fit both, silhouettes with their weights.

    Parameters
    ----------
    plan : LatentPlan
        Settings of both fits.
    poses : array (N, J, 3)
    masks : array (N, F)
        Measurements of silhouettes.
    path : Path
        Times and motions of the frames.
    mask_components : int
        Principal components of silhouettes.
    """
    flat = poses.reshape(len(poses), -1)
    pose_frame = PrincipalFrame.from_rows(flat, most=_MOST_AXES, left_over=_LEFT_OVER)
    mask_frame = PrincipalFrame.from_rows(masks, most=mask_components)
    T, S = pose_frame.project(flat), mask_frame.project(masks)
    parts = _split_frames(path)
    alone = _fit_points(plan, T, path)
    size = float(np.sqrt(np.mean(T * T) / max(np.mean(S * S), np.finfo(np.float64).tiny)))
    pose_noise = np.sqrt(np.mean(gplvm.measure_left_out_noise(alone, T, parts) ** 2))
    mask_noise = gplvm.measure_left_out_noise(alone, S, parts, size)
    weights = pose_noise / np.maximum(mask_noise, np.finfo(np.float64).tiny)
    process = _fit_points(plan, np.hstack([T, S * weights]), path)
    is_pose = np.arange(process.Y.shape[1]) < T.shape[1]
    widening = _compute_widening(process, pose_frame, parts, is_pose)
    gait = Gait.from_frames(T[:, 0], path.times, path.groups)
    return FittedWalk(pose_frame, mask_frame, weights, process, parts, widening, gait)


def _fit_points(plan: gplvm.LatentPlan, Y: Array, path: gplvm.Path) -> gplvm.MapFit:
    fitted = gplvm.fit_latent_points(plan, Y, path)
    assert isinstance(fitted, gplvm.MapFit)
    return fitted


def _compute_widening(
    process: gplvm.MapFit,
    frame: PrincipalFrame,
    parts: NDArray[np.intp],
    hidden: NDArray[np.bool_],
) -> Array:
    """What the variance of each coordinate of a pose lacked for motions left out, (D,).

    Mean squares of errors, in deviations, are added up over motions, with one deviation more, and
    divided by the number of motions: one is lost, since latent points were found with the motions
    that are left out. What axes leave over has the variance that is known of it.
    """
    K = len(frame.axes)
    rows, mean, variance = gplvm.fill_in_left_out(process, parts, hidden)
    error = np.where(hidden[:K], process.Y[rows, :K] - mean[:, :K], 0.0) @ frame.axes
    predicted = frame.spread(np.where(hidden[:K], variance[:, :K], 0.0))
    tiny = np.finfo(np.float64).tiny
    squares = (error**2 + frame.residual_variance) / np.maximum(predicted, tiny)
    each = [np.mean(squares[parts[rows] == part], axis=0) for part in np.unique(parts[rows])]
    return (np.sum(each, axis=0) + 1.0) / len(each)


def _split_frames(path: gplvm.Path) -> NDArray[np.intp]:
    """The motions; of one motion, parts that follow each other."""
    if len(np.unique(path.groups)) > 1:
        return path.groups
    order = np.argsort(np.argsort(path.times, kind="stable"), kind="stable")
    return order * _BLOCKS // len(order)


@dataclass(frozen=True, eq=False)
class FittedWalk:
    """Latent points of poses and silhouettes, and the units of both."""

    pose_frame: PrincipalFrame
    mask_frame: PrincipalFrame
    mask_weights: Array  # (M,)
    process: gplvm.MapFit  # of rows (K + M): components of poses, and of silhouettes
    parts: NDArray[np.intp]  # (N,), of frames that are left out together
    widening: Array  # (3 J,), of variances of poses found from silhouettes
    gait: Gait | None

    @property
    def n_axes(self) -> int:
        """Number of components of a pose."""
        return len(self.pose_frame.axes)

    @property
    def noise(self) -> float:
        """Standard deviation of components of poses."""
        return float(np.sqrt(self.process.decoder.noise_variance))

    @property
    def interval(self) -> float:
        """Median time between frames."""
        path = self.process.path
        assert path is not None
        steps = np.diff(path.times)[np.diff(path.groups) == 0]
        return float(np.median(np.abs(steps))) if len(steps) else 1.0

    def decode(self, points: Array) -> Array:
        """Mean poses (n, J, 3) at latent points."""
        f = self.process.decoder.latent(points).mean[:, : self.n_axes]
        return self.pose_frame.restore(f).reshape(len(points), -1, 3)

    def describe(self, mean: Array, variance: Array, found: gplvm.RowHypotheses) -> PoseHypotheses:
        """Hypotheses with these coordinates (h, 3 J), the most probable first.

        Faint ones are left out.
        """
        order = np.lexsort((-found.weight, found.row))
        row = found.row[order]
        rank = np.arange(len(row)) - np.searchsorted(row, row)
        keep = (found.weight[order] > _FAINT) | (rank == 0)
        order, row, rank = order[keep], row[keep], rank[keep]
        n, most = int(row[-1]) + 1, int(rank.max()) + 1
        weights = np.zeros((n, most))
        weights[row, rank] = found.weight[order]
        weights /= weights.sum(axis=1, keepdims=True)
        first = np.searchsorted(row, np.arange(n))
        which = np.repeat(order[first][:, None], most, axis=1)  # what is not there repeats the best
        which[row, rank] = order
        shape = n, most, -1, 3
        return PoseHypotheses(
            weights,
            mean[which].reshape(shape),
            np.sqrt(variance)[which].reshape(shape),
            found.point[which],
        )

    def describe_from_masks(self, found: gplvm.RowHypotheses) -> PoseHypotheses:
        """Hypotheses of poses found from silhouettes alone."""
        mean, f = (a[:, : self.n_axes] for a in (found.mean, found.variance))
        variance = self.pose_frame.spread(f + self.process.decoder.noise_variance)
        return self.describe(self.pose_frame.restore(mean), variance * self.widening, found)

    def flatten_points(self, points: ArrayLike) -> Array:
        """Points of n frames as rows (n, 3 J), the same coordinates known in all."""
        given = np.asarray(points, dtype=np.float64)
        n_values = len(self.pose_frame.centre)
        if given.ndim not in (2, 3) or given[..., 0].size * 3 != given.size:
            raise ValueError(f"points must have the shape (J, 3) or (n, J, 3), not {given.shape}.")
        rows = given.reshape(-1, given.shape[-2] * 3)
        if rows.shape[1] != n_values:
            raise ValueError(
                f"points have {rows.shape[1] // 3} joints; the model has {n_values // 3}."
            )
        known = ~np.isnan(rows)
        if not known.any() or (known != known[0]).any() or np.isinf(rows).any():
            raise ValueError(
                "points must be finite, and the same coordinates must be known in all frames, one "
                "at least."
            )
        return rows

    def look_from(self, known: NDArray[np.bool_]) -> PointView:
        """The model in axes of which known coordinates tell some, and nothing of the others."""
        A = self.pose_frame.axes[:, known]
        basis, strength, _ = linalg.thin_svd(A @ A.T)
        error = float(np.mean(self.pose_frame.residual_variance[known]))
        # An axis counts as seen where its error is below its noise.
        is_seen = strength > max(error / self.process.decoder.noise_variance, 1e-6)
        Y = self.process.Y.copy()
        Y[:, : self.n_axes] = Y[:, : self.n_axes] @ basis
        everywhere = np.arange(len(Y))
        process = replace(self.process, Y=Y).condition_on(everywhere)
        hidden = np.ones(Y.shape[1], dtype=bool)
        hidden[: self.n_axes] = ~is_seen
        frame = self.pose_frame.rotate(basis.T)
        return PointView(
            frame,
            process,
            known,
            is_seen,
            error / np.maximum(strength, 1e-6),
            _compute_widening(process, frame, self.parts, hidden),
        )


@dataclass(frozen=True, eq=False)
class PointView:
    """A model in the axes that suit the coordinates of a pose that are known."""

    frame: PrincipalFrame
    process: gplvm.MapFit
    known: NDArray[np.bool_]  # (3 J,)
    is_seen: NDArray[np.bool_]  # (K,)
    error: Array  # (K,), variance with which an axis is seen
    widening: Array  # (3 J,)

    def project(self, values: Array) -> Array:
        """Rows (n, K + M) of the model from known coordinates (n, o)."""
        rows = np.full((len(values), self.process.Y.shape[1]), np.nan)
        rows[:, np.flatnonzero(self.is_seen)] = self._measure(values)
        return rows

    def fill_in(self, found: gplvm.RowHypotheses, values: Array) -> tuple[Array, Array]:
        """Mean and variance (h, 3 J) of coordinates on each hill; those that are known stay."""
        K = len(self.is_seen)
        mean, noise = found.mean[:, :K].copy(), self.process.decoder.noise_variance
        mean[:, self.is_seen] = self._measure(values)[found.row]
        variance = np.where(self.is_seen, self.error, found.variance[:, :K] + noise)
        poses, spread = self.frame.restore(mean), self.frame.spread(variance) * self.widening
        poses[:, self.known], spread[:, self.known] = values[found.row], 0.0
        return poses, spread

    def _measure(self, values: Array) -> Array:
        """Components of the axes that are seen, by least squares, (n, r)."""
        A = self.frame.axes[self.is_seen][:, self.known]
        return (values - self.frame.centre[self.known]) @ A.T / np.sum(A * A, axis=1)
