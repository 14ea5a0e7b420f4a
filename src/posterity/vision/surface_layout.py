"""Classification of the pixels of a scene into surfaces, such as ground, walls and sky."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, trees, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.models import ModelCard
from posterity.vision import base, images
from posterity.vision.label_maps import LabelledPictures
from posterity.vision.resizing import PictureGrids
from posterity.vision.segments import segment_rows, segmented_image
from posterity.vision.segments.segment_rows import LabelledSegments
from posterity.vision.segments.segmented_image import (
    HeldOutImage,
    SegmentedImage,
    SegmentMerging,
    judge_pixels,
)

SEGMENTATIONS = (
    ("felzenszwalb", 100),
    ("felzenszwalb", 250),
    ("felzenszwalb", 500),
    ("slic", 120),
)
"""Partitions of an image, from fine to coarse."""

_HOMOGENEOUS = 0.95  # share of the most frequent label of a segment that shows one surface
_LEAF_PRECISION = 0.1  # in images, whose segments are correlated: few of them are independent


@declare_parameters
class SurfaceLayout(base.SceneClassifier):
    """Classifier of the surfaces of a scene, with a probability for every pixel.

    An image is partitioned several times into segments. Boosted trees give each segment a
    probability of each label from its colour, texture, place, lines and contrast, and others the
    probability that it is homogeneous, that is, that it shows one label only. A pixel is in one
    segment of every partition; their probabilities are averaged, weighted by homogeneity.

    Labels are the user's own; those of surface layout are support, vertical and sky. Each tree is
    fitted without a part of the images. By these, the number of trees is chosen and probabilities
    are calibrated, and ``held_out_score_`` and ``held_out_log_score_`` are known without a test
    set.

    Parameters
    ----------
    segmentations : sequence of (str, float)
        Partitions: ``("slic", n)`` has about n segments of equal size, ``("felzenszwalb", scale)``
        segments that follow contrast and are the larger, the larger the scale.
    n_estimators : int, default=100
        Maximum number of boosted trees of a label.
    max_depth : int, default=6
        Maximum number of tests from the root of a tree to a leaf.
    max_features : int, float, "sqrt", "log2" or None, default=0.15
        Number of features tried for each tree; a float is a fraction of all.
    max_size : int, default=320
        Longest side in pixels at which images are looked at.
    cv : int, default=5
        Number of parts of the images, each of which is held out once.
    n_jobs : int, optional
        Number of threads.
    random_state : int, Generator, RandomState or None, default=None
        Seed for parts and trees.

    Attributes
    ----------
    classes_ : array of shape (C,), int64
        Labels, sorted.
    names_ : tuple of str
        Names of the labels.
    label_model_ : BoostedTreesClassifier
        Trees for the labels of segments.
    homogeneity_model_ : BoostedTreesClassifier or None
        Trees for whether a segment is homogeneous; None if all training segments were.
    merging_ : SegmentMerging
        Merging of segments, with the sharpness learned from held-out images.
    held_out_score_, held_out_log_score_ : float
        Accuracy and mean log-probability of the pixels of images that were held out.
    n_features_in_ : int
        Number of features of a segment.

    See Also
    --------
    posterity.vision.datasets.streets : Labelled images.

    Examples
    --------
    >>> from posterity import vision
    >>> from posterity.vision import SurfaceLayout
    >>> data = vision.datasets.streets(14, (60, 80))
    >>> model = SurfaceLayout([("felzenszwalb", 50)], n_estimators=20, max_size=80, random_state=0)
    >>> model = model.fit(data.images[:12], data.labels[:12])
    >>> model.predict_proba(data.images[13]).shape
    (60, 80, 3)
    >>> (model.predict(data.images[13]) == data.labels[13]).mean().round(1)
    np.float64(1.0)
    """

    card = ModelCard(
        likelihood="Bernoulli, categorical",
        prior="normal leaf values",
        feature_space="colour, texture, shape and lines of segments",
        inference="stagewise, cross-fitted and averaged over partitions",
        advice="ground, walls and sky of scenes",
        page="surfaces",
    )

    merging_: SegmentMerging = field(init=False)
    label_model_: trees.BoostedTreesClassifier = field(init=False)
    homogeneity_model_: trees.BoostedTreesClassifier | None = field(init=False)

    segmentations: Sequence[tuple[str, float]] = field(default=SEGMENTATIONS, kw_only=False)
    n_estimators: int = 100
    max_depth: int = 6
    max_features: int | float | str | None = 0.15
    max_size: int = 320
    cv: int = 5
    n_jobs: int | None = None
    random_state: Any = None

    def _learn(self, pictures: LabelledPictures, groups: ArrayLike | None) -> None:
        """Learn labels and homogeneity of segments, and how to merge them."""
        kinds = segmented_image.check_segmentations(self.segmentations)
        size = validation.check_count(self.max_size, "max_size", least=16)
        found = segment_rows.describe_pictures(pictures, kinds, size, groups, self.n_jobs)
        self.fit_segments(found)

    def fit_segments(self, found: LabelledSegments, names: base.Names = None) -> Self:
        """Learn from images whose segments are described already, as :meth:`fit` does.

        Parameters
        ----------
        found : LabelledSegments
            Segments of images by :func:`posterity.vision.segments.describe_pictures`.
        names : mapping of int to str, or sequence of str, optional
            Names of labels.
        """
        rng = arrays.generator(self.random_state)
        self.classes_ = found.classes
        self.names_ = base.name_classes(found.classes, names)
        self.n_features_in_ = found.features.shape[1]
        p = self._learn_labels(found, rng)
        h = self._learn_homogeneity(found, rng)
        held_out = [
            HeldOutImage(image.segmented, p[rows], h[rows], image.codes)
            for image, rows in found.list_images()
        ]
        self.merging_ = SegmentMerging.learn(held_out)
        judged = [judge_pixels(self.merging_.merge(*one[:3]), one.codes) for one in held_out]
        right, score, n = np.sum(judged, axis=0)
        self.held_out_score_, self.held_out_log_score_ = float(right / n), float(score / n)
        return self

    def _predict_image(self, image: Any) -> base.Map:
        check_is_fitted(self, "label_model_")
        pixels = images.load_image(image, "color")
        kinds = segmented_image.check_segmentations(self.segmentations)
        described = segmented_image.describe_image(pixels, kinds, self.max_size)
        merged = self.merge_segments(described)
        height, width = pixels.shape[:2]
        grids = PictureGrids((height, width), merged.shape[:2], every=1, cell=1)
        return grids.spread_samples(merged)

    def merge_segments(self, found: SegmentedImage) -> NDArray[np.float32]:
        """Merge the probabilities of segments that are described already, (h, w, C)."""
        p = self.label_model_.predict_proba(found.features)
        model = self.homogeneity_model_
        h = np.ones(len(p)) if model is None else model.predict_proba(found.features)[:, 1]
        return self.merging_.merge(found, p, h).astype(np.float32)

    def check_consistency(self) -> None:
        """Raise ValueError where the fitted parts do not belong together."""
        if "label_model_" not in vars(self):
            return
        n_classes = len(self.classes_)
        validation.require(len(self.names_) == n_classes, "names_ must name every class.")
        for model in (self.label_model_, self.homogeneity_model_):
            is_model = isinstance(model, trees.BoostedTreesClassifier)
            validation.require(is_model or model is None, "A model is not of boosted trees.")
        own = len(self.label_model_.classes_)
        validation.require(own == n_classes, "label_model_ must have the classes of classes_.")

    def _learn_labels(self, found: LabelledSegments, rng: np.random.Generator) -> Array:
        """Fit the trees of labels and return held-out probabilities (n, C) of all segments."""
        segment, codes, weights = found.share_labels()
        self.label_model_ = self._build_trees(found, rng).fit(
            found.features[segment], codes, sample_weight=weights, groups=found.groups[segment]
        )
        p = np.full((len(found.features), len(found.classes)), 1.0 / len(found.classes))
        p[segment] = self.label_model_.oob_decision_function_
        return p

    def _learn_homogeneity(self, found: LabelledSegments, rng: np.random.Generator) -> Array:
        """Fit the trees of homogeneity and return held-out probabilities (n,) of all segments."""
        segment, is_homogeneous, weights = found.judge_homogeneity(_HOMOGENEOUS)
        h = np.ones(len(found.features))
        self.homogeneity_model_ = None
        if is_homogeneous.all() or not is_homogeneous.any():
            return h
        self.homogeneity_model_ = self._build_trees(found, rng).fit(
            found.features[segment],
            is_homogeneous,
            sample_weight=weights,
            groups=found.groups[segment],
        )
        h[segment] = self.homogeneity_model_.oob_decision_function_[:, 1]
        return h

    def _build_trees(
        self, found: LabelledSegments, rng: np.random.Generator
    ) -> trees.BoostedTreesClassifier:
        return trees.BoostedTreesClassifier(
            self.n_estimators,
            max_depth=self.max_depth,
            max_features=self.max_features,
            l2_regularization=_LEAF_PRECISION * len(found.features) / found.n_groups,
            cv=min(validation.check_count(self.cv, "cv", least=2), found.n_groups),
            n_jobs=self.n_jobs,
            random_state=int(rng.integers(2**31)),
        )
