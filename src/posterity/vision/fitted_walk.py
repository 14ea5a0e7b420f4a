"""A fitted model of walking people: latent points, and the units of poses and silhouettes."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import linalg
from posterity.arrays import Array
from posterity.latent import gplvm
from posterity.vision.gait import Gait
from posterity.vision.pose_modes import PoseModes
from posterity.vision.pose_regression import PoseRegression
from posterity.vision.principal_frame import PrincipalFrame

_MOST_AXES = 20  # of poses
_LEFT_OVER = 5e-4  # share of the variance of poses that axes may leave over
_BLOCKS = 5  # of one motion, in place of several
_FAINT = 1e-3  # probability of a mode that is left out
_MOST_VIEWS = 8  # sets of known joints of which the regressions are kept


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
    tiny = np.finfo(np.float64).tiny
    size = float(np.sqrt(np.mean(T * T) / max(np.mean(S * S), tiny)))
    pose_noise = gplvm.measure_left_out_noise(alone, T, parts)
    mask_noise = gplvm.measure_left_out_noise(alone, S, parts, size)
    unit = np.sqrt(np.mean(pose_noise**2))
    pose_weights, mask_weights = (unit / np.maximum(a, tiny) for a in (pose_noise, mask_noise))
    process = _fit_points(plan, np.hstack([T * pose_weights, S * mask_weights]), path)
    view = LatentView.from_columns(process, slice(len(pose_weights), None))
    from_masks = view.learn_poses(S * mask_weights, flat, parts)
    gait = Gait.from_frames(T[:, 0], path.times, path.groups)
    return FittedWalk(
        pose_frame, mask_frame, pose_weights, mask_weights, process, parts, from_masks, gait
    )


def _fit_points(plan: gplvm.LatentPlan, Y: Array, path: gplvm.Path) -> gplvm.MapFit:
    fitted = gplvm.fit_latent_points(plan, Y, path)
    assert isinstance(fitted, gplvm.MapFit)
    return fitted


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
    pose_weights: Array  # (K,), which make the noise of all components equal
    mask_weights: Array  # (M,)
    process: gplvm.MapFit  # of rows (K + M): weighted components of poses, and of silhouettes
    parts: NDArray[np.intp]  # (N,), of frames that are left out together
    from_masks: PoseRegression  # from weighted components of silhouettes
    gait: Gait | None

    @property
    def n_axes(self) -> int:
        """Number of components of a pose."""
        return len(self.pose_weights)

    @property
    def noise(self) -> float:
        """Standard deviation of weighted components of poses."""
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
        return self.pose_frame.restore(f / self.pose_weights).reshape(len(points), -1, 3)

    def weigh_masks(self, masks: Array) -> Array:
        """Weighted components (n, M) of measurements of silhouettes."""
        return self.mask_frame.project(masks) * self.mask_weights

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

    def look_from_masks(self) -> tuple[LatentView, PoseRegression]:
        """Latent points and poses from weighted components of silhouettes."""
        return LatentView.from_columns(self.process, slice(self.n_axes, None)), self.from_masks

    def look_from_points(self, known: NDArray[np.bool_]) -> tuple[LatentView, PoseRegression]:
        """Latent points and poses from the known coordinates of poses, of all (3 J,)."""
        key = known.tobytes()
        if key not in self._views:
            if len(self._views) >= _MOST_VIEWS:
                self._views.pop(next(iter(self._views)))
            view, poses = self._turn_axes(known), self.from_masks.poses
            self._views[key] = view, view.learn_poses(poses[:, known], poses, self.parts)
        return self._views[key]

    @functools.cached_property
    def _views(self) -> dict[bytes, tuple[LatentView, PoseRegression]]:
        return {}

    def _turn_axes(self, known: NDArray[np.bool_]) -> LatentView:
        """Turn axes of poses so that known coordinates determine some and tell nothing of others.

        Noise is the same in all directions, so that it stays independent.
        """
        A = self.pose_frame.axes[:, known] / self.pose_weights[:, None]
        basis, strength, _ = linalg.thin_svd(A @ A.T)
        error = float(np.mean(self.pose_frame.residual_variance[known]))
        # An axis counts as seen where its error is below its noise.
        seen = np.flatnonzero(strength > max(error / self.process.decoder.noise_variance, 1e-6))
        Y = self.process.Y.copy()
        Y[:, : self.n_axes] = Y[:, : self.n_axes] @ basis
        process = replace(self.process, Y=Y).condition_on(np.arange(len(Y)))
        least_squares = A.T @ basis[:, seen] / strength[seen]
        return LatentView(process, seen, self.pose_frame.centre[known], least_squares)


@dataclass(frozen=True, eq=False)
class LatentView:
    """A latent process, and the columns of its rows that follow from what is seen of a frame."""

    process: gplvm.MapFit
    columns: NDArray[np.intp]  # (r,)
    centre: Array  # (S,)
    projection: Array  # (S, r)

    @classmethod
    def from_columns(cls, process: gplvm.MapFit, columns: slice) -> LatentView:
        """Return the view where these columns themselves are seen."""
        which = np.arange(process.Y.shape[1])[columns]
        return cls(process, which, np.zeros(len(which)), np.eye(len(which)))

    def project(self, seen: Array) -> Array:
        """Rows (n, K + M) of the process from what is seen (n, S); NaN in other columns."""
        rows = np.full((len(seen), self.process.Y.shape[1]), np.nan)
        rows[:, self.columns] = (seen - self.centre) @ self.projection
        return rows

    def learn_poses(self, seen: Array, poses: Array, parts: NDArray[np.intp]) -> PoseRegression:
        """Learn poses from what is seen and from latent points found without the same motion."""
        points = gplvm.locate_left_out(self.process, parts, self.project(seen))
        return PoseRegression.from_frames(seen, points, poses, parts)


def list_modes(found: gplvm.RowHypotheses, mean: Array, variance: Array) -> PoseModes:
    """Arrange the poses (h, 3 J) of hills by frames; hills of hardly any weight are left out."""
    order = np.lexsort((-found.weight, found.row))
    row = found.row[order]
    rank = np.arange(len(row)) - np.searchsorted(row, row)
    keep = (found.weight[order] > _FAINT) | (rank == 0)
    order, row, rank = order[keep], row[keep], rank[keep]
    n, most = int(row[-1]) + 1, int(rank.max()) + 1
    probability = np.zeros((n, most))
    probability[row, rank] = found.weight[order]
    probability /= probability.sum(axis=1, keepdims=True)
    first = np.searchsorted(row, np.arange(n))
    which = np.repeat(order[first][:, None], most, axis=1)  # what is not there repeats the best
    which[row, rank] = order
    poses, deviations = (a[which].reshape(n, most, -1, 3) for a in (mean, np.sqrt(variance)))
    return PoseModes(probability, poses, deviations)
