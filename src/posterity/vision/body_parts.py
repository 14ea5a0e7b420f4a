"""Parts of the body in depth images: a forest of depth differences, and joints from its answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, trees, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.models import ModelCard
from posterity.trees import forests
from posterity.vision import base, bodies
from posterity.vision.depth_differences import DepthDifferences, DepthPixels
from posterity.vision.depth_images import check_depth
from posterity.vision.joints import JointFinder, Joints

_HELD_OUT = 10  # of so many groups of images, one is set aside
_MOST_HELD_OUT = 1000  # images


@declare_parameters
class BodyPartForest(base.PixelClassifier):
    """Random forest that assigns each pixel of a depth image to one of 31 parts of the body.

    Each tree compares depths at points around a pixel, at fixed distances in space. Probabilities
    are those of :class:`posterity.RandomForestClassifier`. Joints are the modes of the density of
    the pixels of a part in space, with the probability that they are within 10 cm.

    A tenth of the images is set aside to calibrate probabilities and to learn joints.

    Images are read one at a time. Of each, the part with readings is kept, in 16 bits, and a sample
    of its pixels, so that images need not fit into memory.

    Parameters
    ----------
    n_estimators : int, default=3
        Number of trees.
    max_features : int, default=100
        Number of tests drawn as candidates at each node.
    max_depth : int, default=20
        Maximum number of splits from the root to a leaf.
    min_samples_leaf : float, default=4
        Minimum number of pixels on each side of a split.
    max_samples : int or float, optional
        Number of pixels drawn for each tree, or a fraction of all; all pixels of an image are drawn
        together. None: as many as there are.
    pixels_per_image : int, default=200
        Number of pixels drawn from each image.
    nearest, reach : float, default=0.015 and 1.0
        Range of the distances between a pixel and the points that are compared, in metres.
    field_of_view : float, default=58.6
        Angle between the left and right edges of images, in degrees; that of Kinect.
    n_jobs : int, optional
        Number of threads for fitting and predicting.
    random_state : int, Generator, RandomState or None, default=None
        Seed for drawing pixels, images and tests.

    Attributes
    ----------
    forest_ : ClassForest
        Trees and leaves.
    classes_ : ndarray of shape (C,)
        Labels of the parts seen in training.
    joint_finder_ : JointFinder
        Finds joints; learned from images whose joints were given.
    oob_score_, oob_log_score_ : float
        Accuracy and mean log probability on pixels of images that trees have not seen.

    See Also
    --------
    posterity.vision.datasets.bodies : Labelled images.

    Examples
    --------
    >>> from posterity import vision
    >>> from posterity.vision import BodyPartForest
    >>> data = vision.datasets.bodies(60, max_turn=30.0)
    >>> model = BodyPartForest(max_features=20, random_state=0)
    >>> model = model.fit(data.depth[:50], data.parts[:50])
    >>> model.predict_proba(data.depth[50]).shape
    (240, 320, 31)
    >>> seen = data.parts[50:] < 255
    >>> bool((model.predict(data.depth[50:]) == data.parts[50:])[seen].mean() > 0.5)
    True
    """

    card = ModelCard(
        likelihood="categorical",
        prior="Dirichlet, learned out of bag",
        feature_space="differences of depths",
        inference="bootstrap, averaged; calibrated on held-out images",
        advice="parts of the body and joints in depth images of a person",
        page="body_parts",
    )

    forest_: forests.ClassForest = field(init=False)
    names_ = bodies.PARTS  # of all columns, those of parts not seen in training too

    n_estimators: int = field(default=3, kw_only=False)
    max_features: int = 100
    max_depth: int | None = 20
    min_samples_leaf: float = 4.0
    max_samples: float | None = None
    pixels_per_image: int = 200
    nearest: float = 0.015
    reach: float = 1.0
    field_of_view: float = 58.6
    n_jobs: int | None = None
    random_state: Any = None

    def fit(
        self,
        X: Iterable[Any],
        y: Iterable[Any] | None = None,
        *,
        groups: ArrayLike | None = None,
        joints: Iterable[Any] | None = None,
    ) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array of shape (N, H, W), or iterable of images or of BodyFrame
            Depth in metres; 0 or NaN where there is no reading. An iterable is read once.
        y : array of shape (N, H, W), or iterable of images, optional
            Labels from 0 to 30, and 255 for pixels to leave out. Not with BodyFrame.
        groups : array of shape (N,), optional
            Images to keep together, such as those of one person. None: each image by itself.
        joints : array of shape (N, 16, 3), or iterable, optional
            Positions of joints in the axes of the camera, in metres; or part of a BodyFrame.
        """
        rng = arrays.generator(self.random_state)
        frames = _read_frames(X, y, joints)
        pixels, labels, image, held_out = self._collect_pixels(frames, groups, rng)
        splits = DepthDifferences(self.nearest, self.reach)
        model = trees.RandomForestClassifier(
            self.n_estimators,
            splits=splits,
            max_features=self.max_features,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            max_samples=self.max_samples,
            n_jobs=self.n_jobs,
            random_state=rng,
        ).fit(pixels, labels, groups=image)
        self.classes_ = model.classes_
        self.forest_ = self._calibrate(model.forest_, held_out)
        self.oob_score_, self.oob_log_score_ = model.oob_score_, model.oob_log_score_
        self.joint_finder_ = self._learn_joints(held_out)
        return self

    def find_joints(self, depth: ArrayLike) -> Joints:
        """Joints of the person in one image (H, W), and how probable they are."""
        image = check_depth(depth)
        pixels = self._read_pixels(image)
        return self.joint_finder_.find(*self._weigh_points(pixels, image.shape))

    _n_axes = (2,)

    def _predict_image(self, image: Any) -> base.Map:
        image = check_depth(image)
        pixels = self._read_pixels(image)
        answer = np.zeros((image.size, len(bodies.PARTS)), dtype=np.float32)
        rows, columns = pixels.positions().T
        answer[rows * image.shape[1] + columns] = self._predict_pixels(pixels)
        return answer.reshape(*image.shape, -1)

    def _label_image(self, image: Any) -> NDArray[np.uint8]:
        image = check_depth(image)
        pixels = self._read_pixels(image)
        answer = np.full(image.shape, bodies.BACKGROUND, dtype=np.uint8)
        rows, columns = pixels.positions().T
        answer[rows, columns] = self._predict_pixels(pixels).argmax(axis=1)
        return answer

    def _predict_pixels(self, pixels: DepthPixels) -> Array:
        """Probability of each part at each pixel, (n, 31)."""
        check_is_fitted(self, "forest_")
        log_p, _ = self.forest_.average(pixels, self.n_jobs)
        p = np.zeros((len(pixels), len(bodies.PARTS)))
        p[:, self.classes_] = np.exp(log_p)
        return p

    def _read_pixels(self, image: NDArray[Any]) -> DepthPixels:
        check_is_fitted(self, "forest_")
        return DepthPixels.from_image(image, self.find_camera(image.shape).focal_length)

    def find_camera(self, shape: tuple[int, ...]) -> bodies.Camera:
        """The camera of images of this height and width, whose angle is ``field_of_view``."""
        height, width = shape
        half = np.deg2rad(0.5 * validation.check_positive(self.field_of_view, "field_of_view"))
        return bodies.Camera(height, width, float(0.5 * width / np.tan(half)))

    def _weigh_points(self, pixels: DepthPixels, shape: tuple[int, ...]) -> tuple[Array, Array]:
        """Pixels in space, (n, 3), and their parts and surface, (n, 32)."""
        camera = self.find_camera(shape)
        rows, columns = pixels.positions().T
        depth = pixels.read_depths().astype(np.float64) * 0.001
        points = camera.find_points(rows, columns, depth)
        area = (depth / camera.focal_length) ** 2
        return points, np.column_stack([self._predict_pixels(pixels), area])

    def _collect_pixels(
        self, frames: Iterator[_Frame], groups: ArrayLike | None, rng: np.random.Generator
    ) -> tuple[DepthPixels, NDArray[np.uint8], NDArray[np.int64], list[_HeldOut]]:
        """Pixels of images, their labels and groups, and images that are set aside."""
        own_group = None if groups is None else np.unique(groups, return_inverse=True)[1]
        most = validation.check_count(self.pixels_per_image, "pixels_per_image")
        parts, labels, image = [], [], []
        held_out: list[_HeldOut] = []
        for number, frame in enumerate(frames):
            group = number if own_group is None else int(own_group[number])
            camera = self.find_camera(frame.depth.shape)
            pixels = DepthPixels.from_image(frame.depth, camera.focal_length)
            own = frame.labels[tuple(pixels.positions().T)]
            known = np.flatnonzero(own != bodies.BACKGROUND)
            if group % _HELD_OUT == _HELD_OUT - 1:
                if len(held_out) < _MOST_HELD_OUT and len(known):
                    some = known[:: -(-len(known) // most)]
                    labelled = (pixels.take(some), own[some])
                    held_out.append(_HeldOut(*labelled, pixels, frame.depth.shape, frame.joints))
                continue
            chosen = np.sort(rng.choice(known, min(most, len(known)), replace=False))
            parts.append(pixels.take(chosen))
            labels.append(own[chosen])
            image.append(np.full(len(chosen), group))
        if not parts:
            raise ValueError("There are no images to learn from.")
        return DepthPixels.join(parts), np.concatenate(labels), np.concatenate(image), held_out

    def _calibrate(
        self, forest: forests.ClassForest, held_out: list[_HeldOut]
    ) -> forests.ClassForest:
        """Learn from images that no tree has seen how sure the forest may be."""
        if not held_out:
            return forest
        labels = np.concatenate([one.labels for one in held_out])
        pixels = DepthPixels.join([one.sample for one in held_out])
        known = np.isin(labels, self.classes_)
        codes = np.searchsorted(self.classes_, labels[known]).astype(np.int32)
        return forest.calibrate(pixels.take(np.flatnonzero(known)), codes)

    def _learn_joints(self, held_out: list[_HeldOut]) -> JointFinder:
        finder = JointFinder()
        joints = [one.joints for one in held_out if one.joints is not None]
        if not joints:
            return finder
        points = [
            self._weigh_points(one.pixels, one.shape) for one in held_out if one.joints is not None
        ]
        modes, features = zip(*(finder.find_modes(*one) for one in points), strict=True)
        return finder.learn(np.stack(modes), np.stack(features), np.stack(joints))


class _Frame(NamedTuple):
    depth: NDArray[Any]
    labels: NDArray[np.uint8]
    joints: Array | None


class _HeldOut(NamedTuple):
    """An image that trees do not see: pixels with their labels, and all pixels."""

    sample: DepthPixels
    labels: NDArray[np.uint8]
    pixels: DepthPixels
    shape: tuple[int, ...]
    joints: Array | None


def _read_frames(
    X: Iterable[Any], y: Iterable[Any] | None, joints: Iterable[Any] | None
) -> Iterator[_Frame]:
    """Images with their labels, one at a time."""
    if y is None:
        for number, frame in enumerate(X):
            if not isinstance(frame, bodies.BodyFrame):
                raise ValueError("Images without labels cannot be learned from: pass y.")
            yield _check_frame(_Frame(frame.depth, frame.labels, frame.joints), number)
        return
    known = iter(joints) if joints is not None else None
    for number, (depth, labels) in enumerate(zip(X, y, strict=True)):
        where = None if known is None else np.asarray(next(known), dtype=np.float64)
        yield _check_frame(_Frame(np.asarray(depth), np.asarray(labels), where), number)


def _check_frame(frame: _Frame, number: int) -> _Frame:
    depth = check_depth(frame.depth)
    labels = np.asarray(frame.labels)
    if labels.shape != depth.shape or not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(
            f"The labels of image {number} must be whole numbers of the shape {depth.shape}; they "
            f"are {labels.dtype} of the shape {labels.shape}."
        )
    is_label = (labels >= 0) & ((labels < len(bodies.PARTS)) | (labels == bodies.BACKGROUND))
    if not is_label.all():
        raise ValueError(
            f"Image {number} has the label {labels[~is_label][0]}; labels are 0 to "
            f"{len(bodies.PARTS) - 1}, and {bodies.BACKGROUND} for pixels to leave out."
        )
    shape = (len(bodies.JOINTS), 3)
    if frame.joints is not None and (
        frame.joints.shape != shape or not np.isfinite(frame.joints).all()
    ):
        raise ValueError(f"The joints of image {number} must be finite numbers of shape {shape}.")
    return _Frame(depth, labels.astype(np.uint8), frame.joints)
