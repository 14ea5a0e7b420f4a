"""Follow an object through a sequence of frames: displacement experts, a verifier and a filter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from posterity import linalg, linear
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.models import ModelCard
from posterity.vision import images, kalman
from posterity.vision.integrals import Pixels
from posterity.vision.kalman import ConstantVelocityFilter, NormalState
from posterity.vision.tracking import appearance, channels
from posterity.vision.tracking.appearance import Candidate, DisplacementExpert, Verifier
from posterity.vision.tracking.channels import WindowFrame

_SEEN, _HIDDEN = np.array([0, 170, 60]), np.array([230, 60, 0])  # colours


@dataclass(frozen=True, eq=False)
class TrackedBox:
    """Box of an object in a frame.

    Attributes
    ----------
    box : array of shape (4,)
        Left, top, right and bottom in pixels; the first pixel reaches from 0 to 1.
    covariance : array of shape (3, 3)
        Covariance of the middle, x and y in pixels, and of the logarithm of the size.
    probability : float
        Probability that the object is seen in this frame.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import TrackedBox
    >>> found = TrackedBox(
    ...     np.array([10.0, 20.0, 30.0, 50.0]), np.diag([4.0, 9.0, 0.01]), 0.97
    ... )
    >>> found.center, found.radii(0.9).round(1)
    (array([20., 35.]), array([6.4, 4.3]))
    """

    box: Array
    covariance: Array
    probability: float

    @property
    def center(self) -> Array:
        """Middle of the box, x and y."""
        return 0.5 * (self.box[:2] + self.box[2:])

    def radii(self, coverage: float = 0.9) -> Array:
        """Return the half axes, longest first, of the ellipse that holds the middle."""
        return np.asarray(np.hypot(*self._get_axes(coverage)))

    def ellipse(self, coverage: float = 0.9, n_points: int = 60) -> Array:
        """Return points (n_points, 2) of the ellipse that holds the middle."""
        angles = np.linspace(0.0, 2.0 * np.pi, n_points)
        circle = np.stack([np.cos(angles), np.sin(angles)])
        return np.asarray(self.center + (self._get_axes(coverage) @ circle).T)

    def find_coverage(self, point: Array) -> float:
        """Return the coverage of the ellipse on whose edge a point, x and y, lies."""
        L = linalg.cholesky(self.covariance[:2, :2])
        z = linalg.solve_lower(L, np.asarray(point, dtype=np.float64) - self.center)
        return float(stats.chi2.cdf(z @ z, 2))

    def draw(self, image: Any, coverage: float = 0.9) -> Pixels:
        """Return a copy of the image in colour with the box, the ellipse and the probability.

        Parameters
        ----------
        image : array (H, W) or (H, W, 3)
            The frame.
        coverage : float, default=0.9
            Probability that the middle is inside the ellipse.
        """
        from PIL import Image, ImageDraw

        picture = Image.fromarray(images.to_color(image).copy())
        pen, line = ImageDraw.Draw(picture), max(1, round(min(picture.size) / 200))
        color = tuple((self.probability * _SEEN + (1.0 - self.probability) * _HIDDEN).astype(int))
        x0, y0, x1, y1 = map(float, self.box)
        pen.rectangle((x0, y0, max(x0, x1 - 1), max(y0, y1 - 1)), outline=color, width=line)
        points = self.ellipse(coverage)
        pen.line([tuple(map(float, point)) for point in points], fill=color, width=line)
        pen.text((x0 + line + 1, y0 + line), f"{self.probability:.2f}", fill=color)
        return np.asarray(picture)

    def _get_axes(self, coverage: float) -> Array:
        """Return the half axes as columns."""
        U, s, _ = linalg.thin_svd(self.covariance[:2, :2])
        return np.asarray(U * np.sqrt(s * stats.chi2.ppf(coverage, 2)))


# Lengths are in sides of the object (the root of its area), so that they fit all sizes.
_ACCELERATION = np.array([0.03, 0.03, 0.004])  # standard deviation per frame; the last: log size
_MEASURED = np.array([0.03, 0.03, 0.05])  # standard deviation of a measured pose
# Standard deviation of x, y and log size when nothing is left of the first look: by maximum
# likelihood from simulated sequences, see the page on tracking.
_DRIFT = np.array([0.078, 0.078, 0.12])
_START = 0.1  # standard deviation of the first velocity
_SURE = 0.9  # probability from which the models learn
_SIZE_STEP = 0.05  # between the logarithms of sizes that are searched
_LEAST_SPREAD, _REACH = 0.15, 2.5  # of the search, in sides and in standard deviations
_VERIFIER_EVERY = 3  # frames
_PULL, _SIZE_SPREAD = 0.02, 0.07
_SMALLEST = 6.0  # pixels: a smaller box has nothing to track


@declare_parameters
class DisplacementTracker(BaseEstimator):
    """Follows an object from a box in the first frame.

    Parameters
    ----------
    regressor : regressor, optional
        Model of the experts: None is :class:`~posterity.BayesianLinearRegression`;
        :class:`~posterity.RelevanceVectorRegressor` is the model of the source, and slower.
    n_windows : int, default=200
        Windows of the first frame from which each expert learns.
    n_keyframes : int, default=4
        Later frames that experts remember beside the first one.
    relearn_every : int, default=8
        Frames between two times at which experts learn; 0: they only know the first frame.
    random_state : int, RandomState or None, default=0
        Draws the displacements and the light that experts learn from.

    Attributes
    ----------
    state_ : NormalState
        Posterior of the middle (x, y), of the log size, and of their velocities.
    probability_ : float
        Probability that the object was seen in the last frame.
    likeness_ : float
        Score of the first look of the object when it was last verified, from 0 to 1.
    noise_scale_ : float
        How much larger the squares of innovations were than assumed.
    found_ : Candidate
        The best pose in the last frame and its scores, whether it was verified or not.
    n_frames_ : int
        Number of frames so far.
    frame_ : WindowFrame
        Size of windows.
    verifier_ : Verifier
        Templates and discriminants.
    experts_ : list of DisplacementExpert
        Coarse and fine expert.

    Examples
    --------
    >>> from posterity import vision
    >>> from posterity.vision import DisplacementTracker
    >>> scene = vision.datasets.moving_object(12, hidden=())
    >>> tracker = DisplacementTracker().start(scene.frames[0], scene.boxes[0])
    >>> for found in tracker.track(scene.frames[1:]):
    ...     pass
    >>> found.box.round(), scene.boxes[-1].round()
    (array([64., 64., 94., 96.]), array([64., 64., 93., 96.]))
    >>> found.radii(0.9).round(), round(found.probability, 2)
    (array([2., 2.]), 1.0)
    """

    card = ModelCard(
        likelihood="normal displacements; seen or not seen",
        prior="normal motion",
        feature_space="orientations of gradients in windows",
        inference="exact filter; experts relearned while tracking",
        advice="a box that follows one object through a video",
        page="tracking",
    )

    frame_: WindowFrame = field(init=False)
    state_: NormalState = field(init=False)
    verifier_: Verifier = field(init=False)
    found_: Candidate = field(init=False)
    experts_: list[DisplacementExpert] = field(init=False)

    regressor: Any = None
    n_windows: int = 200
    n_keyframes: int = 4
    relearn_every: int = 8
    random_state: Any = 0

    def start(self, frame: Any, box: ArrayLike) -> DisplacementTracker:
        """Learn the object from the first frame.

        Parameters
        ----------
        frame : array (H, W) or (H, W, 3)
            Gray values, or red, green and blue.
        box : array-like of shape (4,)
            Left, top, right and bottom of the object in pixels.

        Returns
        -------
        DisplacementTracker
            The tracker itself.
        """
        image = images.to_gray(frame)
        size, center = _check_box(box, image)
        draws = check_random_state(self.random_state).randint(2**31 - 1)
        self._rng = np.random.default_rng(int(draws))
        self.frame_ = WindowFrame.around(size)
        pose = np.array([*center, 0.0])
        side = self._get_side(pose)
        self.state_ = NormalState.at_rest(
            pose, (_MEASURED * side) ** 2, (_START * side * [1.0, 1.0, 0.1]) ** 2
        )
        self.verifier_ = Verifier.start(self.frame_, image, pose)
        self._start_experts(image, pose)
        self.probability_, self.noise_scale_, self.n_frames_ = 1.0, 1.0, 1
        self.likeness_ = 1.0
        return self

    def _start_experts(self, image: Pixels, pose: Array) -> None:
        model = linear.BayesianLinearRegression() if self.regressor is None else self.regressor
        lit = [image, *(appearance.relight_frame(image, self._rng) for _ in range(4))]
        pyramids = [self.frame_.build_pyramid(one, pose) for one in lit]
        self.experts_ = [DisplacementExpert(clone(model), reach) for reach in appearance.REACHES]
        for expert in self.experts_:
            rows = appearance.make_rows(
                self.frame_, pyramids, pose, expert.reach, self.n_windows, self._rng
            )
            expert.learn(rows, 1 + self.n_keyframes)

    def step(self, frame: Any) -> TrackedBox:
        """Find the object in the next frame.

        Parameters
        ----------
        frame : array (H, W) or (H, W, 3), or None
            Of the same scene as the frame before. None stands for a frame that cannot be read: the
            box is then predicted.

        Returns
        -------
        TrackedBox
            Box, covariance, and the probability that the object is seen.
        """
        self._check_started()
        self.n_frames_ += 1
        side = self._get_side(self.state_.position)
        motion = ConstantVelocityFilter((_ACCELERATION * side) ** 2)
        predicted = motion.predict(self.state_)
        if frame is None:
            self.state_ = predicted
            return self.get_box()
        image = images.to_gray(frame)
        pyramid = self.frame_.build_pyramid(image, predicted.position)
        found = self._find_pose(pyramid, predicted)
        self.found_ = found
        self.probability_ = appearance.update_probability(self.probability_, found.get_features())
        noise = self.noise_scale_ * np.diag((_MEASURED * side) ** 2)
        corrected = motion.correct(predicted, found.pose, noise)
        if self.probability_ > _SURE:
            surprise = kalman.measure_surprise(predicted, found.pose, noise) / 3.0
            self.noise_scale_ += 0.05 * (self.noise_scale_ * min(surprise, 9.0) - self.noise_scale_)
            self.noise_scale_ = float(np.clip(self.noise_scale_, 0.25, 16.0))
            self.likeness_ = float(np.clip(found.anchor, 0.0, 1.0))
            self._learn(pyramid, corrected.position)
        self.state_ = kalman.mix_states(corrected, predicted, self.probability_)
        self._keep_inside(image.shape)
        return self.get_box()

    def track(self, frames: Iterable[Any]) -> Iterator[TrackedBox]:
        """Yield the box in each of the next frames.

        Parameters
        ----------
        frames : iterable of arrays
            The frames after the first one; None for one that cannot be read.
        """
        for frame in frames:
            yield self.step(frame)

    def _get_side(self, pose: Array) -> Array:
        side = float(np.sqrt(self.frame_.get_size(pose).prod()))
        return np.array([side, side, 1.0])

    def _find_pose(self, pyramid: tuple[Pixels, ...], predicted: NormalState) -> Candidate:
        """Choose the best of three hypotheses by the score of the verifier."""
        pose = predicted.position
        spread = np.sqrt(np.diag(predicted.position_covariance))
        spread[:2] = np.hypot(spread[:2], _LEAST_SPREAD * self._get_side(pose)[:2])
        poses = [pose + np.array([0.0, 0.0, k * _SIZE_STEP]) for k in (-1.0, 0.0, 1.0)]
        margin = self._get_margin(pose, spread, pyramid[0].shape)
        peak, background = self.verifier_.search(pyramid, poses, margin, spread[:2])
        refined = self._refine_pose(pyramid, peak, self.experts_[1:])
        followed = self._refine_pose(pyramid, pose, self.experts_)
        options = []
        for one in (peak, refined, followed):
            score, anchor = self.verifier_.score(self.frame_.compute(pyramid, one))
            options.append(Candidate(one, score, anchor, background))
        pulls = [_PULL * ((option.pose[2] - pose[2]) / _SIZE_SPREAD) ** 2 for option in options]
        return options[int(np.argmax([o.score - q for o, q in zip(options, pulls, strict=True)]))]

    def _get_margin(self, pose: Array, spread: Array, shape: tuple[int, ...]) -> tuple[int, int]:
        side = channels.CELL * self.frame_.get_step(pose)
        most = np.ceil(0.6 * np.array([shape[1], shape[0]]) / side)
        cells = np.clip(np.ceil(_REACH * spread[:2] / side), 4, np.maximum(most, 4))
        return int(cells[1]), int(cells[0])

    def _refine_pose(
        self, pyramid: tuple[Pixels, ...], pose: Array, chain: list[DisplacementExpert]
    ) -> Array:
        for expert in chain:
            for _ in range(2):
                shift = expert.predict(appearance.pool_cells(self.frame_.compute(pyramid, pose)))
                pose = appearance.displace_pose(self.frame_, pose, shift)
        return pose

    def _learn(self, pyramid: tuple[Pixels, ...], pose: Array) -> None:
        if self.n_frames_ % _VERIFIER_EVERY == 0:
            self.verifier_.learn(self.frame_.compute(pyramid, pose), _VERIFIER_EVERY)
        if self.relearn_every and self.n_frames_ % self.relearn_every == 0:
            expert = self.experts_[self.n_frames_ // self.relearn_every % len(self.experts_)]
            n = self.n_windows // 4
            rows = appearance.make_rows(self.frame_, [pyramid], pose, expert.reach, n, self._rng)
            expert.learn(rows, 1 + self.n_keyframes)

    def _keep_inside(self, shape: tuple[int, ...]) -> None:
        self.state_.mean[:2] = np.clip(self.state_.mean[:2], 0.0, [shape[1], shape[0]])
        self.state_.mean[2] = np.clip(self.state_.mean[2], -1.6, 1.6)

    def get_box(self) -> TrackedBox:
        """Return the box in the last frame."""
        self._check_started()
        pose = self.state_.position
        size, side = self.frame_.get_size(pose), self._get_side(pose)
        # The further the object has changed since the first frame, the less is known about where
        # its middle is; no filter averages that away.
        drift = ((1.0 - self.likeness_) * _DRIFT * side) ** 2
        box = np.concatenate([pose[:2] - size / 2, pose[:2] + size / 2])
        covariance = self.state_.position_covariance + np.diag(drift)
        return TrackedBox(box, covariance, self.probability_)

    def _check_started(self) -> None:
        if not hasattr(self, "state_"):
            raise NotFittedError("The tracker has no object yet: call start(frame, box) first.")


def _check_box(box: ArrayLike, image: Pixels) -> tuple[Array, Array]:
    """Return width and height of a box, and its middle."""
    corners = np.asarray(box, dtype=np.float64)
    if corners.shape != (4,) or not np.all(np.isfinite(corners)):
        raise ValueError("box must be four numbers: left, top, right and bottom.")
    size, center = corners[2:] - corners[:2], 0.5 * (corners[:2] + corners[2:])
    height, width = image.shape
    if size.min() < _SMALLEST:
        raise ValueError(
            f"the box of {size[0]:g} x {size[1]:g} pixels is too small: each side must have at "
            f"least {_SMALLEST:g} pixels, and right and bottom must exceed left and top."
        )
    if not (0.0 <= center[0] <= width and 0.0 <= center[1] <= height):
        raise ValueError(
            f"the middle ({center[0]:g}, {center[1]:g}) of the box is outside the frame of "
            f"{width} x {height} pixels."
        )
    return size, center
