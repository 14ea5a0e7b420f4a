"""Poses of people from silhouettes: distributions with several modes, smoothed over videos."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import GroupKFold
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.models import ModelCard
from posterity.vision import base, masks
from posterity.vision.masks import measure_occupancy
from posterity.vision.pose_experts import PoseExperts
from posterity.vision.pose_mixtures import (
    PoseMixture,
    PoseModes,
    check_poses,
    measure_bend,
    measure_speeds,
)
from posterity.vision.silhouettes import ShapeContexts

_FOLDS = 5
_BLOCKS = 40  # of frames that are held out together, where no groups are given
_GROWTHS = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0)  # of the variance with doubt
_SHARPNESS = (0.25, 0.5, 1.0)  # power of the probabilities of frames in a video
_WIDTHS = (1.0, 2.0, 4.0, 8.0)  # of changes from frame to frame: predictions vary more than poses
_LEAST_ROWS = 30
_ROWS_OF_EXPERT = 10  # at least, on average
_MOST_SCORED = 2000  # held-out rows by which choices are made


@declare_parameters
class SilhouettePose(base.PoseEstimator):
    """Pose of a person from a silhouette, with all poses that it may show.

    A silhouette is described by a histogram of shape contexts and a coarse picture. Experts are
    kernel regressions, each of similar poses: a silhouette that may show either leg in front has
    two modes, not their average. In a video, a chain over the answers of the experts prefers poses
    that move evenly, as such poses did in training, and each frame is judged by all.

    How smooth videos are, and the errors of poses, are learned on held-out groups, or on held-out
    blocks of successive frames. Errors grow where silhouettes are unlike those learned from.

    Parameters
    ----------
    n_experts : int, default=24
        Number of experts at most; fewer where rows are few.
    n_columns : int, default=200
        Number of typical silhouettes at most, at which the kernel of the experts has columns.
    n_components : int, default=40
        Number of directions of features that are kept at most.
    contexts : ShapeContexts, optional
        Describes masks. None: 100 codes.
    grid_shape : pair of int, default=(24, 16)
        Rows and columns of the picture of masks.
    pseudo_count : float, default=1e-4
        Added to the shares of a histogram before their logarithm.
    shrinkage : float, default=0.1
        Share of the diagonal in the covariance of the features of equal poses.
    penalty : float, default=0.1
        Penalty on the weights of experts, in units of their prior variance.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the search for codes and clusters.

    Attributes
    ----------
    experts_ : PoseExperts
        Regressions and their gate.
    contexts_ : ShapeContexts or None
        Fitted codes; None if histograms were given.
    scale_ : ndarray of shape (P,)
        Standard deviation of each coordinate about the poses of the mixture, for silhouettes like
        those learned from.
    growth_ : float
        Increase of the variance, relative to ``scale_**2``, where nothing is known.
    motion_scale_ : float or None
        Size of changes of velocity between frames of a video; None if no three frames follow each
        other.
    video_sharpness_ : float or None
        Power of the probabilities of single frames in a video.
    video_scale_ : ndarray of shape (P,) or None
        As ``scale_``, for frames of a video.
    log_score_, video_log_score_ : float
        Mean log density of a coordinate on held-out rows.
    target_shape_ : tuple of int
        Shape of a pose.

    See Also
    --------
    posterity.vision.datasets.bodies : Rendered people.

    Examples
    --------
    >>> from posterity import vision
    >>> from posterity.vision import ShapeContexts, SilhouettePose
    >>> data = vision.datasets.bodies(90, max_turn=30.0, noise=False)
    >>> masks, poses = data.parts < 255, data.poses
    >>> model = SilhouettePose(contexts=ShapeContexts(20, n_points=60))
    >>> model = model.fit(masks[:80], poses[:80], times=[0] * 80)
    >>> answer = model.predict_dist(masks[80:])
    >>> answer.shape, answer.interval(0.9)[0].shape
    ((10, 38, 3), (10, 38, 3))
    """

    card = ModelCard(
        likelihood="mixture of normals",
        prior="normal",
        feature_space="kernel columns of shape contexts",
        inference="most probable experts; errors on held-out groups",
        advice="poses of a person from silhouettes, with all that they may show",
        page="silhouettes",
    )

    experts_: PoseExperts = field(init=False)
    contexts_: ShapeContexts | None = field(init=False)
    motion_scale_: float | None = field(init=False)
    video_sharpness_: float | None = field(init=False)

    n_experts: int = field(default=24, kw_only=False)
    n_columns: int = 200
    n_components: int = 40
    contexts: ShapeContexts | None = None
    grid_shape: tuple[int, int] = (24, 16)
    pseudo_count: float = 1e-4
    shrinkage: float = 0.1
    penalty: float = 0.1
    random_state: Any = 0

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        times: ArrayLike | None = None,
    ) -> Self:
        """Learn experts, and how sure they are.

        Parameters
        ----------
        X : array (N, H, W), sequence of masks (H, W), or array (N, D) of float
            Masks; or histograms of their contours, made elsewhere.
        y : array-like of shape (N, ...)
            Poses, such as (N, J, 3).
        groups : array-like of shape (N,), optional
            Rows to hold out together, such as those of one person; frames of different groups do
            not follow each other. None: blocks of successive rows are held out.
        times : array-like of shape (N,), optional
            Times of frames. A row follows the one before it if its time is one step later, where
            the step is the most frequent one. None: all rows follow each other.
        """
        rng = arrays.generator(self.random_state)
        checked = check_poses(y, len(X), least=_LEAST_ROWS)
        poses, self.target_shape_ = checked.reshape(len(checked), -1), checked.shape[1:]
        self._learn_contexts(X, rng)
        features = self._describe(X)
        codes = _check_groups(groups, len(poses))
        data = _Rows(features, poses, _find_successors(times, codes, len(poses)), codes)
        self._choose(list(self._hold_out(data, rng)), data)
        self.experts_ = self._learn(data, rng)
        return self

    def predict_modes(self, X: Any, *, video: bool = False) -> PoseModes:
        """Different poses that each silhouette may show, and their probabilities.

        Parameters
        ----------
        X : array (n, H, W), sequence of masks, one mask (H, W) of bool, or array (n, D) of float
            Silhouettes, as in training.
        video : bool, default=False
            Rows are successive frames of one video, and each is judged by all.
        """
        return self._mix(X, video).find_modes(self._scale(video), self.growth_, self.target_shape_)

    def _list_poses(self, X: Any, **frames: Any) -> PoseModes:
        mixture = self._mix(X, **frames)
        return mixture.list_poses(self._scale(**frames), self.growth_, self.target_shape_)

    def check_consistency(self) -> None:
        """Check fitted attributes that were read from a file."""
        if not hasattr(self, "experts_"):
            return
        size = (self.experts_.offsets.shape[1] // 2,)
        validation.require_array(self.scale_, "scale_", np.float64, size)
        if self.video_scale_ is not None:
            validation.require_array(self.video_scale_, "video_scale_", np.float64, size)
        whole = int(np.prod(self.target_shape_))
        validation.require(whole == size[0], "target_shape_ differs from the poses.")

    def _scale(self, video: bool = False) -> Array:
        return np.asarray(self.video_scale_ if video else self.scale_)

    def _mix(self, X: Any, video: bool = False) -> PoseMixture:
        check_is_fitted(self, "experts_")
        mixture = PoseMixture.from_features(self.experts_, self._describe(X))
        if not video:
            return mixture
        if self.motion_scale_ is None or self.video_sharpness_ is None:
            raise ValueError(
                "video=True needs a model that has seen successive frames; this one was fitted "
                "to rows of which no three follow each other."
            )
        return mixture.smooth(self.motion_scale_, self.video_sharpness_)

    def _learn_contexts(self, X: Any, rng: np.random.Generator) -> None:
        self.n_features_in_: int | None = None
        if _are_histograms(X):
            self.contexts_, self.n_features_in_ = None, np.shape(X)[1]
            return
        given = ShapeContexts() if self.contexts is None else clone(self.contexts)
        figures = list(masks.list_masks(X))
        some = np.sort(rng.permutation(len(figures))[: max(len(figures) // 8, 300)])
        self.contexts_ = given.fit([figures[k] for k in some])

    def _describe(self, X: Any) -> Array:
        """Features of silhouettes, (n, D)."""
        c = validation.check_positive(self.pseudo_count, "pseudo_count")
        if self.contexts_ is None:
            return np.log(_check_histograms(X, self.n_features_in_) + c)
        if _are_histograms(X):
            raise ValueError("This model was fitted to masks (H, W), not to histograms.")
        figures = list(masks.list_masks(X))
        pictures = np.array([measure_occupancy(mask, self.grid_shape) for mask in figures])
        return np.column_stack([np.log(self.contexts_.transform(figures) + c), pictures])

    def _learn(self, data: _Rows, rng: np.random.Generator) -> PoseExperts:
        n = len(data.poses)
        experts = validation.check_count(self.n_experts, "n_experts", least=1)
        columns = validation.check_count(self.n_columns, "n_columns", least=2)
        return PoseExperts.learn(
            data.features,
            data.poses,
            measure_speeds(data.poses, data.follows),
            data.groups,
            n_experts=max(min(experts, n // _ROWS_OF_EXPERT), 1),
            n_columns=min(columns, n // 2),
            n_components=validation.check_count(self.n_components, "n_components"),
            shrinkage=self.shrinkage,
            penalty=validation.check_positive(self.penalty, "penalty"),
            rng=rng,
        )

    def _hold_out(self, data: _Rows, rng: np.random.Generator) -> Iterator[_HeldOut]:
        """Answers of experts that have not seen some groups or blocks of rows, and these rows."""
        n = len(data.poses)
        blocks = data.groups
        if blocks is None:
            blocks = np.arange(n) * min(_BLOCKS, n) // n
        folds = min(_FOLDS, len(np.unique(blocks)))
        for train, test in GroupKFold(folds).split(data.poses, groups=blocks):
            experts, held = self._learn(data.take(train), rng), data.take(test)
            for run in held.split_runs(_MOST_SCORED // folds):
                yield _HeldOut(PoseMixture.from_features(experts, run.features), run.poses)

    def _choose(self, parts: list[_HeldOut], data: _Rows) -> None:
        """Choose how errors grow, and how smooth videos are, by the density of held-out rows."""
        found = [(*_score(parts, growth), growth) for growth in _GROWTHS]
        self.log_score_, self.scale_, self.growth_ = max(found, key=lambda each: each[0])
        self.video_log_score_ = self.video_scale_ = None
        self.motion_scale_ = self.video_sharpness_ = None
        bend = measure_bend(data.poses, data.follows)
        if bend == 0.0:
            return
        settings = [(width * bend, power) for width, power in product(_WIDTHS, _SHARPNESS)]
        tried = [(*_score(parts, self.growth_, setting), setting) for setting in settings]
        self.video_log_score_, self.video_scale_, best = max(tried, key=lambda each: each[0])
        self.motion_scale_, self.video_sharpness_ = best


@dataclass(frozen=True, eq=False)
class _Rows:
    """Features, poses, and whether each row but the first follows the one before it."""

    features: Array
    poses: Array
    follows: NDArray[np.bool_]
    groups: NDArray[np.intp] | None = None

    def take(self, rows: NDArray[np.intp]) -> _Rows:
        """Some rows, in increasing order."""
        follows = (np.diff(rows) == 1) & self.follows[rows[1:] - 1]
        groups = None if self.groups is None else self.groups[rows]
        return _Rows(self.features[rows], self.poses[rows], follows, groups)

    def split_runs(self, most: int) -> Iterator[_Rows]:
        """Runs of rows that follow each other, evenly spread, with about ``most`` rows in all."""
        runs = np.split(np.arange(len(self.poses)), np.flatnonzero(~self.follows) + 1)
        every = -(-len(self.poses) // most)
        for run in runs[::every]:
            yield self.take(run)


@dataclass(frozen=True, eq=False)
class _HeldOut:
    """Answers for a run of rows that the experts have not seen, and the true poses."""

    mixture: PoseMixture
    truth: Array


def _score(
    parts: list[_HeldOut], growth: float, video: tuple[float, float] | None = None
) -> tuple[float, Array]:
    """Mean log density of held-out coordinates, and the best standard deviations."""
    mixtures = [part.mixture if video is None else part.mixture.smooth(*video) for part in parts]
    truth = np.concatenate([part.truth for part in parts])
    some = slice(None, None, -(-len(truth) // _MOST_SCORED))
    scale, score = PoseMixture.join(mixtures)[some].learn_scale(truth[some], growth)
    return score, scale


def _check_groups(groups: ArrayLike | None, n: int) -> NDArray[np.intp] | None:
    if groups is None:
        return None
    codes = np.unique(np.asarray(groups), return_inverse=True)[1]
    if codes.shape != (n,):
        raise ValueError(f"groups must have {n} numbers or names, one for each row.")
    if codes.max() < 1:
        raise ValueError("groups must name two groups at least, or be None.")
    return np.asarray(codes, dtype=np.intp)


def _find_successors(
    times: ArrayLike | None, groups: NDArray[np.intp] | None, n: int
) -> NDArray[np.bool_]:
    """Whether each row but the first is the frame after the one before it."""
    follows = np.ones(n - 1, dtype=np.bool_)
    if times is not None:
        at = np.asarray(times, dtype=np.float64)
        if at.shape != (n,):
            raise ValueError(f"times must have {n} numbers, one for each row.")
        steps = np.diff(at)
        later = steps[steps > 0.0]
        values, counts = np.unique(later.round(9), return_counts=True)
        step = values[counts.argmax()] if len(later) else np.inf
        follows = np.isclose(steps, step, rtol=1e-3)
    if groups is not None:
        follows &= np.diff(groups) == 0
    return follows


def _are_histograms(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"


def _check_histograms(X: Any, n_bins: int | None) -> Array:
    """Shares that sum to one in each row."""
    counts = np.asarray(X, dtype=np.float64)
    if counts.ndim != 2 or counts.shape[1] != n_bins:
        raise ValueError(
            f"This model was fitted to histograms of {n_bins} bins: rows must have as many numbers."
        )
    total = counts.sum(axis=1, keepdims=True)
    bad = ~(np.isfinite(counts) & (counts >= 0.0)).all(axis=1) | ~(total[:, 0] > 0.0)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(f"Row {row} is not a histogram: counts are 0 or more, and not all are 0.")
    return np.asarray(counts / total)
