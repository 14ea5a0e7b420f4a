"""A fitted model of walking people: latent points, and the units of poses and silhouettes."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import linalg
from posterity.arrays import Array
from posterity.latent import gplvm
from posterity.vision.pose_mixtures import PoseModes
from posterity.vision.pose_regression import PoseRegression


@dataclass(frozen=True, eq=False)
class PrincipalFrame:
    """An origin and K orthonormal axes.

    Attributes
    ----------
    centre : ndarray of shape (D,)
    axes : ndarray of shape (K, D)
    residual_variance : ndarray of shape (D,)
        Variance of the columns about their projection.

    Examples
    --------
    >>> import numpy as np
    >>> frame = PrincipalFrame.from_rows(np.array([[1.0, 2.0], [3.0, 2.0]]), most=1)
    >>> frame.restore(frame.project(np.array([[5.0, 9.0]])))
    array([[5., 2.]])
    """

    centre: Array
    axes: Array
    residual_variance: Array

    @classmethod
    def from_rows(cls, rows: Array, *, most: int, left_over: float = 0.0) -> PrincipalFrame:
        """Take the fewest axes that leave this share of the variance over, and ``most`` at most."""
        centre = rows.mean(axis=0)
        _, s, axes = linalg.thin_svd(rows - centre)
        rest = 1.0 - np.cumsum(s**2) / np.maximum(np.sum(s**2), np.finfo(np.float64).tiny)
        enough = 1 + int(np.argmax(rest <= max(left_over, 1e-12)))
        frame = cls(centre, axes[: min(most, enough)], np.zeros(rows.shape[1]))
        misfit = rows - frame.restore(frame.project(rows))
        return cls(centre, frame.axes, np.mean(misfit**2, axis=0))

    def project(self, rows: Array) -> Array:
        """Components (n, K) of rows (n, D)."""
        return (rows - self.centre) @ self.axes.T

    def restore(self, components: Array) -> Array:
        """Rows (n, D) of components (n, K)."""
        return self.centre + components @ self.axes


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
