"""Segmentation of images into classes, with a probability at every pixel.  [P9 9.12.3]"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, progress, validation
from posterity.constructors import declare_parameters, field
from posterity.models import ModelCard
from posterity.trees.boosting.boosted_trees import BoostedTrees
from posterity.trees.boosting.calibration import ClassCalibration, contrast_classes
from posterity.trees.boosting.candidates import FreshRules
from posterity.trees.boosting.tree_records import TreeRules
from posterity.vision import base, images, pixel_boosting
from posterity.vision.base import Map
from posterity.vision.label_maps import LabelledPictures
from posterity.vision.random_field import RandomField
from posterity.vision.random_field_learning import LabelledField, learn_random_field
from posterity.vision.texton_bank import EVERY, DescribedPicture, TextonBank
from posterity.vision.texton_rectangles import TextonRectangles

_BOOK_IMAGES = 200  # from which textons are learned
_FIELD_IMAGES = 400  # from which the random field is learned
_DIRECTIONS = 5  # of outputs, by which tests are chosen
_LEAST_P = 1e-7  # of a class at a pixel: single precision knows less than that from 0


@declare_parameters
class TextonSegmenter(base.SceneClassifier):
    """Boosted trees that assign each pixel of an image to a class by the textons around it.

    Pixels are described by filters and sorted into textons: typical textures, colours and
    gradients. Each test of a tree counts one texton in a rectangle beside the pixel, so that
    layout and context count. All classes share trees, which are added to a softmax; tests are
    drawn anew for every tree. A random field then lets pixels of similar colours agree, and favours
    classes that occur together.

    Several sums of trees are trained, each without a part of the images. These images say when to
    stop, how sure probabilities may be, and how strongly pixels and classes agree.

    Parameters
    ----------
    n_textons : int, default=400
        Number of textons of the 17 filters of texture and colour.
    n_colors, n_gradients : int, default=128 and 300
        Numbers of textons of colour alone, and of directions of gradients; 0: none.
    n_estimators : int, default=400
        Maximum number of trees of each sum.
    max_features : int, default=160
        Number of tests drawn as candidates for each tree.
    max_depth : int, default=5
        Number of tests of a tree.
    learning_rate : float, default=0.3
        Factor of the values of leaves.
    l2_regularization : float, default=10
        Prior precision of the values of leaves, in pixels.
    pixels_per_image : int, default=200
        Number of pixels drawn from each image.
    pixels_per_tree : int, default=8000
        Number of these pixels that choose the tests of a tree.
    cell : int, default=4
        Side in pixels of the cells of which rectangles consist; even.
    reach : int, default=100
        Distance in pixels from a pixel to the farthest centre of a rectangle.
    max_size : int, default=320
        Images whose longer side has more pixels are reduced to it first.
    cv : int, default=4
        Number of sums of trees, each trained without one part of the images.
    n_iter_no_change : int, default=40
        Training of a sum ends when so many trees have not raised the log score of its part.
    smooth : bool, default=True
        Whether a random field smooths probabilities.
    n_jobs : int, optional
        Number of threads.
    random_state : int, Generator, RandomState or None, default=None
        Seed for drawing pixels, images and tests.

    Attributes
    ----------
    classes_ : ndarray of shape (C,), int64
        Labels seen in training.
    names_ : tuple of str
        Their names.
    bank_ : TextonBank
        Textons.
    family_ : TextonRectangles
        Tests.
    trees_ : BoostedTrees
        Sums of trees.
    calibration_ : ClassCalibration
        How sure they may be.
    random_field_ : RandomField
        How strongly pixels agree, and which classes occur together.
    held_out_score_, held_out_log_score_ : float
        Accuracy and mean log probability at pixels of images that a sum has not seen, before
        smoothing.
    smoothing_log_scores_ : list of float
        Mean log probability with and without smoothing, at pixels of these images, each smoothed by
        one sweep of a field that was learned from the other folds; only with ``smooth=True``.
    n_estimators_ : list of int
        Number of trees of each sum.

    See Also
    --------
    posterity.vision.displays.LabelMapDisplay : Shows labels and entropy.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import TextonSegmenter
    >>> rng = np.random.default_rng(0)
    >>> def stripes(n):  # vertical on the left, horizontal on the right
    ...     y, x = np.indices((40, 60)) + rng.integers(8)
    ...     labels = np.repeat([[0, 1]], 30, axis=1).repeat(40, axis=0)
    ...     return np.where(np.where(labels, y, x) % 8 < 4, 60, 180).astype(np.uint8), labels
    >>> X, y = zip(*(stripes(n) for n in range(7)))
    >>> model = TextonSegmenter(
    ...     20, n_colors=0, n_gradients=0, n_estimators=20, max_features=20, cv=2, random_state=0
    ... ).fit(X[:6], y[:6])
    >>> model.predict_proba(X[6]).shape
    (40, 60, 2)
    >>> bool(np.mean(model.predict(X[6]) == y[6]) > 0.9)
    True
    """

    card = ModelCard(
        likelihood="categorical",
        prior="normal leaf values",
        feature_space="rectangles of textons, and a random field",
        inference="stagewise, cross-fitted and averaged; mean field",
        advice="a class for every pixel of photographs",
        page="segmentation",
    )

    trees_: BoostedTrees = field(init=False)
    calibration_: ClassCalibration = field(init=False)
    random_field_: RandomField = field(init=False)

    n_textons: int = field(default=400, kw_only=False)
    n_colors: int = 128
    n_gradients: int = 300
    n_estimators: int = 400
    max_features: int = 160
    max_depth: int = 5
    learning_rate: float = 0.3
    l2_regularization: float = 10.0
    pixels_per_image: int = 200
    pixels_per_tree: int = 8000
    cell: int = 4
    reach: int = 100
    max_size: int = 320
    cv: int = 4
    n_iter_no_change: int = 40
    smooth: bool = True
    n_jobs: int | None = None
    random_state: Any = None

    def _learn(self, pictures: LabelledPictures, groups: ArrayLike | None) -> None:
        """Learn textons, trees and the random field."""
        rng = arrays.generator(self.random_state)
        rules, n_folds = self._build_rules(), validation.check_count(self.cv, "cv", least=2)
        most = validation.check_count(self.pixels_per_image, "pixels_per_image")
        folds = pixel_boosting.deal_images(len(pictures), groups, n_folds, rng)
        bank = self._learn_bank(pictures, rng)
        weak = TextonRectangles(bank.n_textons, max(self.reach // self.cell, 1))
        classes, rows = pixel_boosting.collect_pixels(bank, pictures, folds, most, rng)
        found = pixel_boosting.boost_pixels(
            weak, rows, rules, self.n_iter_no_change, rng, self.n_jobs
        )
        self.bank_, self.family_, self.classes_ = bank, weak, classes
        self.trees_, self.calibration_ = BoostedTrees.join(found.sums), found.calibration
        self.held_out_score_, self.held_out_log_score_ = found.accuracy, found.score
        self.n_estimators_ = [trees.n_trees for trees in found.sums]
        self.random_field_ = RandomField()
        if self.smooth:
            fields = self._predict_held_out(pictures, folds, found.sums, rng)
            self.random_field_, *self.smoothing_log_scores_ = learn_random_field(fields, rng)

    def _predict_image(self, image: Any) -> Map:
        check_is_fitted(self, "trees_")
        described = self.bank_.describe(images.load_image(image, "color"))
        field = self.random_field_ if self.smooth else RandomField()
        p = field.smooth(self.predict_samples(self.trees_, described), described.planes)
        whole = np.maximum(described.grids.spread_samples(p), np.float32(_LEAST_P))
        whole /= np.sum(whole, axis=-1, keepdims=True)
        return whole

    def _build_rules(self) -> FreshRules:
        count, positive = validation.check_count, validation.check_positive
        if self.cell < EVERY or self.cell % EVERY:
            raise ValueError(f"cell={self.cell} must be an even number of pixels.")
        return FreshRules(
            count(self.n_estimators, "n_estimators"),
            count(self.max_features, "max_features"),
            positive(self.learning_rate, "learning_rate"),
            TreeRules(
                max_depth=count(self.max_depth, "max_depth"),
                prior_precision=positive(self.l2_regularization, "l2_regularization"),
            ),
            n_rows=count(self.pixels_per_tree, "pixels_per_tree"),
            n_directions=_DIRECTIONS,
        )

    def _learn_bank(self, pictures: LabelledPictures, rng: np.random.Generator) -> TextonBank:
        numbers = (self.n_textons, self.n_colors, self.n_gradients)
        for n, name in zip(numbers, ("n_textons", "n_colors", "n_gradients"), strict=True):
            validation.check_count(n, name, least=0)
        if not any(numbers):
            raise ValueError("There must be textons of one kind at least: set n_textons.")
        chosen = np.sort(rng.permutation(len(pictures))[:_BOOK_IMAGES]).tolist()
        every = progress.track(chosen, description="textons", unit="images", size=lambda _: 1)
        read = (pictures.read_picture(number) for number in every)
        max_size = validation.check_count(self.max_size, "max_size")
        return TextonBank.learn(read, len(chosen), numbers, self.cell, max_size, rng)

    def predict_samples(self, trees: BoostedTrees, described: DescribedPicture) -> Map:
        """Log-probabilities by trees alone at the samples of an image, (h, w, C), calibrated."""
        pixels, _, grids = described
        latents, variances = trees.moments(self.family_, pixels)
        moderated = contrast_classes(self.calibration_.moderate(latents, variances))
        log_p = log_softmax(moderated, axis=1).astype(np.float32)
        rows, columns, _ = pixels.grids[0]
        return grids.spread_cells(log_p.reshape(rows, columns, -1))

    def _predict_held_out(
        self,
        pictures: LabelledPictures,
        folds: NDArray[np.int64],
        sums: Sequence[BoostedTrees],
        rng: np.random.Generator,
    ) -> Iterator[LabelledField]:
        """Some images by the sum of trees that has not seen them."""
        chosen = np.sort(rng.permutation(len(pictures))[:_FIELD_IMAGES]).tolist()
        for n in progress.track(chosen, description="smoothing", unit="images", size=lambda _: 1):
            picture, labels = pictures.read(n)
            described = self.bank_.describe(picture)
            log_p = self.predict_samples(sums[folds[n]], described)
            at = described.grids.label_samples(labels)
            numbers = np.minimum(np.searchsorted(self.classes_, at), len(self.classes_) - 1)
            known = self.classes_[numbers] == at
            at = np.where(known, numbers, -1)
            yield LabelledField(log_p, described.planes, at, int(folds[n]))
