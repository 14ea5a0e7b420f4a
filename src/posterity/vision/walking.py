"""Walking people: one latent space of poses and silhouettes, in time."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, kernels, linalg, models, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.latent import gplvm, motion
from posterity.models import ModelCard
from posterity.vision import base
from posterity.vision.fitted_walk import FittedWalk, Gait, LatentView, fit_walk, list_modes
from posterity.vision.pose_mixtures import PoseModes, check_poses
from posterity.vision.silhouettes import measure_masks

_LEAST_FRAMES = 10


@declare_parameters
class WalkingModel(base.PoseEstimator):
    """Gaussian process latent variable model of poses and silhouettes of people who walk.

    Poses and silhouettes of a frame are functions of the same few latent coordinates, which change
    smoothly in time. A pose is inferred from a silhouette, or from a few known joints, through the
    latent points that explain what is seen; where several do, each is a mode with a probability.
    Since a few latent coordinates leave out a part of every pose, the pose of a mode is regressed
    on its latent point and on what is seen.

    How much a silhouette tells about a pose depends on the noise of both. It is measured on motions
    that are left out, since the latent points of a fit follow the noise of their own frames.

    Parameters
    ----------
    n_components : int, default=4
        Number of latent coordinates.
    mask_components : int, default=20
        Number of principal components of silhouettes.
    max_iter : int, default=1000
        Maximum number of iterations of each of the two searches: poses, poses and silhouettes.
    random_state : int, Generator or None, default=0
        Seed of the start of the search.

    Attributes
    ----------
    embedding_ : ndarray of shape (N, Q)
        Latent points of the frames.
    kernel_, dynamics_ : Kernel
        Covariance over latent points, and of latent points over time.
    noise_ : float
        Standard deviation of the weighted components of poses, in the units of the poses.
    pose_weights_, mask_weights_ : ndarray of shape (K,), and (M,)
        Factors of the principal components of poses and of silhouettes which make the noise of all
        of them equal.
    groups_, times_ : ndarray of shape (N,)
        Motion of each frame, and when it was seen.
    phase_ : ndarray of shape (N,)
        Share of the cycle that has passed in each frame; only if motions are periodic.
    period_ : float
        Duration of a cycle; only if motions are periodic.

    See Also
    --------
    posterity.GPLVM : Latent points of any table.
    posterity.vision.datasets.walkers : Poses and silhouettes.

    Examples
    --------
    >>> from posterity import vision
    >>> from posterity.vision import WalkingModel
    >>> walk = vision.datasets.walkers(2)
    >>> model = WalkingModel(3).fit(walk.masks, walk.poses, groups=walk.groups, times=walk.times)
    >>> round(model.period_, 1)
    1.1
    >>> found = model.predict_modes(walk.masks[5])
    >>> found.best().shape
    (1, 38, 3)
    """

    card = ModelCard(
        likelihood="normal",
        prior="normal, over functions and their inputs",
        feature_space="kernel of latent coordinates, in time",
        inference="most probable; errors on held-out motions",
        advice="poses of a person who walks, from silhouettes or few joints",
        page="walking",
    )

    _fitted: FittedWalk = field(init=False)

    embedding_ = models.FittedAttribute("process.X")
    kernel_ = models.FittedAttribute("process.kernel")
    dynamics_ = models.FittedAttribute("process.path.kernel")
    noise_ = models.FittedAttribute("noise")
    pose_weights_ = models.FittedAttribute("pose_weights")
    mask_weights_ = models.FittedAttribute("mask_weights")
    groups_ = models.FittedAttribute("process.path.groups")
    times_ = models.FittedAttribute("process.path.times")
    phase_ = models.FittedAttribute("gait.phase")
    period_ = models.FittedAttribute("gait.period")

    n_components: int = field(default=4, kw_only=False)
    mask_components: int = 20
    max_iter: int = 1000
    random_state: Any = 0

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        times: ArrayLike | None = None,
    ) -> Self:
        """Find latent points, kernels and noise.

        Parameters
        ----------
        X : array of shape (N, H, W), or sequence of masks (H, W)
            Silhouettes: other than zero where the person is.
        y : array-like of shape (N, J, 3)
            Poses: positions of joints relative to one of them, in the axes of the camera.
        groups : array-like of shape (N,), optional
            Motion of each frame. Noise is measured by leaving motions out. None: one motion, of
            which parts are left out.
        times : array-like of shape (N,), optional
            When each frame was seen. None: 0, 1, 2, ... within each motion.
        """
        measured = measure_masks(X)
        bodies = _check_frames(y, len(measured))
        path = motion.check_path(kernels.RBF(), times, groups, len(bodies))
        assert path is not None
        most = validation.check_count(self.mask_components, "mask_components")
        self._fitted = fit_walk(self._plan(), bodies, measured, path, most)
        return self

    def predict_modes(
        self, X: Any, *, groups: ArrayLike | None = None, times: ArrayLike | None = None
    ) -> PoseModes:
        """Different poses that each silhouette may show, and their probabilities.

        Parameters
        ----------
        X : array of shape (n, H, W), sequence of masks (H, W), or one mask
            Silhouettes seen from where those of the fit were seen; place and size do not matter.
        groups : array-like of shape (n,), optional
            Motion of each frame, with ``times``. None: all are of one motion.
        times : array-like of shape (n,), optional
            When frames were seen. Each is then inferred from all frames of its motion. None:
            frames have nothing to do with each other.
        """
        check_is_fitted(self)
        seen = self._fitted.weigh_masks(measure_masks(X))
        view, poses = self._fitted.look_from_masks()
        found = self._find(view, seen, times, groups)
        return list_modes(found, *poses.predict(seen[found.row], found.point))

    def _list_poses(self, X: Any, **frames: Any) -> PoseModes:
        return self.predict_modes(X, **frames)

    def complete(
        self,
        points: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        times: ArrayLike | None = None,
    ) -> PoseModes:
        """Infer poses from a few joints: style-based inverse kinematics.

        Parameters
        ----------
        points : array-like of shape (J, 3) or (n, J, 3)
            Positions relative to the same joint and in the same axes as poses of the fit; NaN where
            they are not known. The same coordinates are known in all frames.
        groups, times : array-like of shape (n,), optional
            As for :meth:`predict_modes`.
        """
        check_is_fitted(self)
        rows = self._fitted.flatten_points(points)
        known = ~np.isnan(rows[0])
        seen, (view, poses) = rows[:, known], self._fitted.look_from_points(known)
        found = self._find(view, seen, times, groups)
        mean, variance = poses.predict(seen[found.row], found.point)
        mean[:, known], variance[:, known] = seen[found.row], 0.0
        return list_modes(found, mean, variance)

    def find_cycle(self, n_frames: int = 30) -> tuple[Array, Array]:
        """Latent points (n, Q) and poses (n, J, 3) of the mean cycle, at equal steps of time."""
        check_is_fitted(self)
        phases = np.arange(validation.check_count(n_frames, "n_frames")) / n_frames
        points = self._require_gait().find_path(self._fitted.process.X, phases)
        return points, self._fitted.decode(points)

    def find_period(self) -> float:
        """Duration of the cycle; a ValueError if motions of the fit do not repeat themselves."""
        check_is_fitted(self)
        return self._require_gait().period

    def find_interval(self) -> float:
        """Median time between frames of the fit."""
        check_is_fitted(self)
        return self._fitted.interval

    def sample(
        self,
        n_frames: int = 60,
        *,
        interval: float | None = None,
        random_state: Any = None,
    ) -> Array:
        """Draw a walk: poses (n, J, 3) along the latent cycle, about which it wanders in time.

        Parameters
        ----------
        n_frames : int, default=60
            Number of frames.
        interval : float, optional
            Time between frames. None: that of the fit.
        random_state : int, Generator or None
            Seed of the draw.
        """
        check_is_fitted(self)
        n, gait = validation.check_count(n_frames, "n_frames"), self._require_gait()
        rng, X = arrays.generator(random_state), self._fitted.process.X
        step = self._fitted.interval if interval is None else interval
        times = np.arange(n) * validation.check_positive(step, "interval")
        phases = np.asarray(rng.uniform() + times / gait.period, dtype=np.float64)
        path = gait.find_path(X, phases)
        wander = X - gait.find_path(X, gait.phase)
        K = self.dynamics_(times[:, None]) + 1e-6 * np.eye(n)
        draw = linalg.cholesky(K) @ rng.standard_normal((n, X.shape[1]))
        return self._fitted.decode(path + draw * wander.std(axis=0))

    def __sklearn_is_fitted__(self) -> bool:
        return models.is_fitted(self)

    def _find(
        self,
        view: LatentView,
        seen: Array,
        times: ArrayLike | None,
        groups: ArrayLike | None,
    ) -> gplvm.RowHypotheses:
        """Find latent points of frames, of which those of a motion support each other."""
        rows, process = view.project(seen), view.process
        found = gplvm.find_hypotheses(process.decoder, rows, candidates=process.X)
        if times is None:
            if groups is not None:
                raise ValueError("groups say which frames make a motion, which needs times, too.")
            return found
        path = motion.check_path(self.dynamics_, times, groups, len(rows))
        assert path is not None
        return gplvm.weigh_by_motion(found, path.kernel, path.times, path.groups)

    def _plan(self) -> gplvm.LatentPlan:
        return gplvm.LatentPlan(
            n_components=validation.check_count(self.n_components, "n_components"),
            kernel=None,
            noise_variance=None,
            inference="map",
            inducing_points=None,
            back_kernel=None,
            n_restarts=0,
            max_iter=validation.check_count(self.max_iter, "max_iter"),
            n_jobs=None,
            rng=arrays.generator(self.random_state),
        )

    def _require_gait(self) -> Gait:
        if self._fitted.gait is None:
            raise ValueError(
                "The motions of the fit do not repeat themselves, so there is no cycle to follow."
            )
        return self._fitted.gait


def _check_frames(poses: ArrayLike, n_masks: int) -> Array:
    given = check_poses(poses, n_masks, least=_LEAST_FRAMES)
    if given.ndim != 3 or given.shape[2] != 3:
        raise ValueError(f"poses must have the shape (N, J, 3), not {given.shape}.")
    if np.allclose(given, given[0]):
        raise ValueError("All poses are the same, so nothing can be learned of how they change.")
    return given
