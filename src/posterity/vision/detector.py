"""A detector of objects: windows of an image at all sizes, learned from patches and scenes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, callers, linalg, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.models import ModelCard
from posterity.vision.detections import Detections
from posterity.vision.integrals import Pixels
from posterity.vision.windows import grouping, inputs, pyramid, samples, window_sum
from posterity.vision.windows.grouping import Calibration, Groups
from posterity.vision.windows.pyramid import Inset
from posterity.vision.windows.samples import Background, Variations
from posterity.vision.windows.training import Round, TrainingOptions, WindowTraining, train_sum
from posterity.vision.windows.window_sum import WindowSum

_PASTED = 3.0  # patches on a scene, on average


@declare_parameters
class WindowDetector(BaseEstimator):
    """Detector of objects in images, with a probability on every box.  [P9 9.12.1]

    A window slides over the image at all sizes. Its activation is a sum of small trees on Haar
    features, learned by LogitBoost; after each tree a window is rejected if no held-out object has
    so low a sum, so that most windows cost a few features. Windows without an object are collected
    from scenes in rounds: what the sum so far takes for objects is learned next. Overlapping
    windows become one box, and its probability is a logistic function of their best activation and
    their number, learned on held-out scenes with held-out patches pasted on them.

    Probabilities depend on how common objects are. They are right for images like the pasted
    scenes; ``prior`` changes them to another share of boxes that show an object, and ``calibrate``
    learns them from images with known boxes. Where most of these images show one view, as from a
    camera that stands still, probabilities hold for that camera only: ``fit`` and ``calibrate``
    warn of it, and so does ``detect`` where an image shows another view.

    Parameters
    ----------
    window : tuple of int, default=(24, 24)
        Height and width of windows in pixels.
    channels : {"gray", "motion", "differences"}, default="gray"
        What windows show: gray values; the later of two frames and five differences of the two,
        with the later one as it is and shifted by a pixel in four directions; or features of the
        differences alone.
    inset : tuple of four float, default=(0, 0, 0, 0)
        Parts of a patch above, left of, below and right of the window, as fractions of its height
        and width. Boxes are of whole patches, and variations use what lies around the window.
    n_estimators : int, default=1000
        Number of trees.
    max_depth : {1, 2}, default=2
        Levels of a tree.
    max_features : int, default=600
        Number of features drawn at random for each tree.
    learning_rate : float, default=0.5
        Fraction of the optimal values of leaves that is added.
    n_patches : int, default=10000
        Number of varied patches: mirrored, shifted, turned, scaled, of other contrast.
    n_background : int, default=6000
        Number of windows that each search of the scenes adds.
    mirror : bool, default=True
        Whether a mirrored object is an object.
    kept : float, default=0.97
        Share of held-out patches that all bounds together let pass.
    validation_fraction : float, default=0.12
        Fraction of patches and of scenes that is held out, for bounds and probabilities.
    scale_factor : float, default=1.1
        Ratio of neighbouring sizes at which an image is searched.
    stride : int, default=2
        Step between windows, in pixels of the window.
    overlap : float, default=0.3
        Least overlap, area in common over area of both, of windows that become one box. Boxes
        inside a better one are dropped.
    min_size : float, optional
        Least height of boxes, in pixels. None: at which a window is not enlarged.
    prior : float, optional
        Share of boxes that show an object. None: as in the calibration.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the trees that are there.
    n_jobs : int, optional
        Number of threads.
    random_state : int, Generator, RandomState or None, default=None
        Seed.

    Attributes
    ----------
    cascade_ : WindowSum
        Trees and bounds.
    calibration_ : Calibration or None
        Log-odds of boxes; None if they are not known.
    view_ : array or None
        The view of the only camera for which probabilities hold; None if they hold for more.
    notes_ : tuple of str
        Sentences about the limits of the detector.
    rounds_ : list of Round
        Trees, windows without object, log loss and pass rate by round of the fit.
    n_estimators_ : int
        Number of trees.
    found_ : array of uint8
        Windows that searches have found; there during a fit, so that it can be resumed.

    Examples
    --------
    Bright discs on noise:

    >>> import numpy as np
    >>> from posterity.vision import WindowDetector
    >>> rng = np.random.default_rng(0)
    >>> y, x = np.mgrid[:16, :16] - 7.5
    >>> def noise(*shape):
    ...     return rng.integers(60, 120, size=shape, dtype=np.uint8)
    >>> discs = noise(150, 16, 16) + np.uint8(100) * (x**2 + y**2 < 25).astype(np.uint8)
    >>> detector = WindowDetector((12, 12), inset=(1 / 8,) * 4, n_estimators=30, max_features=50,
    ...     n_patches=500, n_background=500, random_state=0)
    >>> detector = detector.fit(discs, [noise(80, 80) for _ in range(20)])
    >>> image = noise(60, 90)
    >>> image[20:36, 40:56] = discs[0]
    >>> found = detector.detect(image).above(0.5)
    >>> len(found), found.boxes.round(-1)
    (1, array([[40., 20., 60., 40.]]))
    """

    card = ModelCard(
        likelihood="Bernoulli",
        prior="none: small steps, bounded by held-out patches",
        feature_space="Haar rectangles of windows, in small trees",
        inference="stagewise, most probable, with early rejection",
        advice="boxes around objects of one kind and one shape",
        page="detection",
    )

    calibration_: Calibration | None = field(init=False)
    cascade_: WindowSum = field(init=False)
    rounds_: list[Round] = field(init=False)
    view_: Array | None = field(init=False)

    window: tuple[int, int] = field(default=(24, 24), kw_only=False)
    channels: str = "gray"
    inset: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    n_estimators: int = 1000
    max_depth: int = 2
    max_features: int = 600
    learning_rate: float = 0.5
    n_patches: int = 10000
    n_background: int = 6000
    mirror: bool = True
    kept: float = 0.97
    validation_fraction: float = 0.12
    scale_factor: float = 1.1
    stride: int = 2
    overlap: float = 0.3
    min_size: float | None = None
    prior: float | None = None
    warm_start: bool = False
    n_jobs: int | None = None
    random_state: Any = None

    @classmethod
    def from_opencv(cls, path: str | os.PathLike[str], **parameters: Any) -> Self:
        """A detector from a cascade of OpenCV: the XML file of ``cv2.CascadeClassifier``.

        It looks at the same windows as OpenCV 4 and finds the same ones. OpenCV does not tell
        probabilities, so that these are NaN until ``calibrate`` has learned them; boxes are then
        ranked by the number of windows, and among equals by the best sum of the last stage.

        Parameters
        ----------
        path : str or path
            Cascade of Haar features, stumps or trees, in the old or the new format.
        **parameters
            Parameters of the detector that concern the search, such as ``scale_factor``.
        """
        cascade = window_sum.read_opencv_cascade(path)
        detector = cls(cascade.shape[1:], **parameters)
        detector.cascade_, detector.calibration_, detector.view_ = cascade, None, None
        detector.rounds_, detector.n_estimators_ = [], len(cascade)
        return detector

    def fit(
        self,
        patches: Any,
        scenes: Sequence[Any],
        *,
        scene_boxes: Sequence[ArrayLike] | None = None,
        groups: ArrayLike | None = None,
        on_round: Callable[[WindowDetector], None] | None = None,
    ) -> Self:
        """Learn a detector.

        Parameters
        ----------
        patches : array of uint8, (N, H, W), or (N, 2, H, W) with motion
            Objects, each filling its patch; an earlier and a later frame with motion.
        scenes : sequence of images
            Images, or pairs of frames with motion, without objects; or with objects only in the
            boxes that ``scene_boxes`` names.
        scene_boxes : sequence of arrays (n, 4), optional
            Left, top, right and bottom of the objects in each scene.
        groups : array of shape (N,), optional
            Patches of one group, such as a person, are held out together.
        on_round : callable, optional
            Called with the detector after each round, for instance to save it: a fit of the loaded
            detector with ``warm_start``, the same data and the same integer ``random_state`` ends
            as if it had not been interrupted. Probabilities are learned after the last round.
        """
        rng = arrays.generator(self.random_state)
        seed = int(rng.integers(2**31))
        frames = inputs.check_patches(patches, self.channels)
        views = inputs.check_scenes(scenes, self.channels)
        boxes = inputs.check_boxes(scene_boxes, len(views))
        options = TrainingOptions.from_parameters(self.get_params())
        held, held_scenes = inputs.hold_out(
            len(frames), groups, len(views), self.validation_fraction, rng
        )
        learn = np.flatnonzero(~held_scenes)
        background = Background(
            [views[i] for i in learn],
            [boxes[i] for i in learn],
            options.window,
            self.channels,
            options.inset,
            self.mirror,
        )

        def publish(done: WindowTraining) -> None:
            self.cascade_, self.rounds_, self.found_ = done.cascade, done.rounds, done.found
            self.n_estimators_ = len(done.cascade)
            if on_round is not None:
                on_round(self)

        start = self._find_start(options)
        self.calibration_, self.view_ = None, None
        train_sum(
            frames[~held], frames[held], background, options, seed, start=start, on_round=publish
        )
        kept_out = np.flatnonzero(held_scenes)
        self._learn_probabilities(
            [views[i] for i in kept_out], [boxes[i] for i in kept_out], frames[held], rng
        )
        with_objects = [view for view, some in zip(views, boxes, strict=True) if len(some)]
        self._note_view(with_objects or views)
        self.__dict__.pop("found_", None)  # only a fit that goes on needs it
        return self

    def detect(self, image: Any, *, min_size: float | None = None) -> Detections:
        """Find the objects in an image.

        Parameters
        ----------
        image : array (H, W) or (H, W, 3), or path
            An image; with motion a pair of them, the earlier one first.
        min_size : float, optional
            Least height of boxes, instead of that of the detector.

        Returns
        -------
        Detections
            All boxes, the most probable first; see :meth:`Detections.above`.
        """
        check_is_fitted(self, "cascade_")
        frames = inputs.check_frames(image, self.channels)
        if self.view_ is not None and not inputs.shows_view(frames[-1], self.view_):
            callers.warn_caller(f"{inputs.NOTE} This image shows another view.")
        groups = self._search(frames, self.min_size if min_size is None else min_size)
        found = self.calibration_
        probability = (
            np.full(len(groups), np.nan)
            if found is None
            else found.predict(groups, self._check_prior())
        )
        boxes = Detections(groups.boxes, probability, groups.activation, groups.support)
        return boxes.take(np.argsort(-boxes.score, kind="stable"))

    def calibrate(self, scenes: Sequence[Any], boxes: Sequence[ArrayLike]) -> Self:
        """Learn the probabilities of boxes from images in which the objects are known.

        Parameters
        ----------
        scenes : sequence of images
            Images, or pairs of frames with motion, that were not used in ``fit``.
        boxes : sequence of arrays (n, 4)
            Left, top, right and bottom of the objects in each of them.
        """
        check_is_fitted(self, "cascade_")
        views = [inputs.check_frames(scene, self.channels) for scene in scenes]
        self._calibrate(views, inputs.check_boxes(boxes, len(views)))
        self._note_view(views)
        return self

    @property
    def notes_(self) -> tuple[str, ...]:
        """Sentences about the limits of the detector."""
        return () if self.view_ is None else (inputs.NOTE,)

    def check_consistency(self) -> None:
        """Raise ValueError unless the parts of a detector that was read from a file agree."""
        cascade = vars(self).get("cascade_")
        if cascade is None:
            return
        validation.require(isinstance(cascade, WindowSum), "cascade_ must be a sum of trees.")
        cascade.check_consistency()
        planes = pyramid.count_planes(inputs.check_channels(self.channels))
        agrees = cascade.shape == (planes, *self.window)
        validation.require(agrees, "the window of the detector is not that of its trees.")
        if vars(self).get("view_") is not None:
            validation.require_array(self.view_, "view_", np.float64, inputs.SHAPE)

    def _search(self, frames: Pixels, min_size: float | None) -> Groups:
        return pyramid.find_boxes(
            self.cascade_,
            frames,
            pyramid.SearchOptions(
                self.channels,
                Inset(*self.inset),
                validation.check_positive(self.scale_factor, "scale_factor"),
                self.stride,
                self.overlap,
                min_size,
                linalg.threads.count_threads(self.n_jobs),
            ),
        )

    def _calibrate(self, views: list[Pixels], boxes: list[Array]) -> None:
        found = [self._search(frames, self.min_size) for frames in views]
        by_support = self.cascade_.skips  # the activation is of the last stage alone
        self.calibration_ = Calibration.learn(found, boxes, by_support=by_support)

    def _note_view(self, views: list[Pixels]) -> None:
        """Keep the view that all have in common, if any, and warn of it."""
        if self.calibration_ is not None:
            self.view_ = inputs.find_shared_view([frames[-1] for frames in views])
        for note in self.notes_:
            callers.warn_caller(f"{note} For others, call calibrate with images of other places.")

    def _learn_probabilities(
        self, scenes: list[Pixels], boxes: list[Array], patches: Pixels, rng: np.random.Generator
    ) -> None:
        """From held-out scenes as they are, or with patches pasted on them if they are empty."""
        if not any(len(b) for b in boxes):
            least = int(self.window[0] / Inset(*self.inset).height)
            scenes = grouping.flip_scenes(scenes, mirror=self.mirror)
            varied = samples.vary_patches(patches, Variations(mirror=self.mirror), rng)
            scenes, boxes = grouping.paste_patches(scenes, varied, _PASTED, least, rng)
        try:
            self._calibrate(scenes, boxes)
        except grouping.NoBoxError as error:
            callers.warn_caller(f"{error} Boxes have no probability until then.")

    def _find_start(self, options: TrainingOptions) -> WindowTraining | None:
        """Return the training that a fit with ``warm_start`` goes on from."""
        cascade = getattr(self, "cascade_", None)
        if not self.warm_start or cascade is None:
            return None
        found = getattr(self, "found_", None)
        return WindowTraining.resume(cascade, self.rounds_, found, options)

    def _check_prior(self) -> float | None:
        if self.prior is not None and not 0.0 < self.prior < 1.0:
            raise ValueError(f"prior={self.prior!r} must lie between 0 and 1.")
        return self.prior
