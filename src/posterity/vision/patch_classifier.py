"""Classes of small images with probabilities, from Gabor features and units added one by one."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from posterity import distributions, local
from posterity.arrays import Array
from posterity.models import ModelCard
from posterity.vision import patches
from posterity.vision.gabor import Gabor
from posterity.vision.integrals import Pixels
from posterity.vision.windows import inputs


class PatchClassifier(ClassifierMixin, BaseEstimator):
    """Classifier of small images that show one thing each, such as faces or parts.  [P9 Sec 9.12.1]

    Images are brought to one size, described by features of their texture, and classified by a
    model of this library, which gives every class a probability.

    Parameters
    ----------
    size : pair of int, default=(60, 60)
        Height and width to which images are brought.
    features : transformer, optional
        From patches (N, H, W) to columns. None: :class:`Gabor`.
    classifier : estimator, optional
        Classifier of the columns. None: a :class:`posterity.StagewiseClassifier` of at most 300
        smooth steps with a learning rate of 0.1, each learned from a half of the patches; how
        many there are is chosen by patches that are held out.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the default classifier.

    Attributes
    ----------
    features_ : transformer
        The fitted features.
    classifier_ : estimator
        The fitted classifier.
    classes_ : ndarray of shape (C,)
        The classes.

    See Also
    --------
    WindowDetector : Finds objects of one kind in larger images.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import StagewiseClassifier
    >>> from posterity.vision import Gabor, PatchClassifier
    >>> rng = np.random.default_rng(0)
    >>> phase = rng.uniform(0.0, 6.0, size=(80, 1, 1))
    >>> waves = np.sin(np.arange(24) + phase) * np.ones((80, 24, 24))
    >>> tilted = np.arange(80) % 2 == 1
    >>> waves[tilted] = waves[tilted].transpose(0, 2, 1)
    >>> images = (128 + 20 * waves + 30 * rng.normal(size=waves.shape)).clip(0, 255)
    >>> units = StagewiseClassifier(3, random_state=0)
    >>> model = PatchClassifier((24, 24), features=Gabor((6, 4)), classifier=units)
    >>> model = model.fit(images[:60].astype(np.uint8), np.where(tilted, "rows", "columns")[:60])
    >>> model.predict(images[60:64].astype(np.uint8))
    array(['columns', 'rows', 'columns', 'rows'], dtype='<U7')
    """

    card = ModelCard(
        likelihood="Bernoulli, categorical",
        prior="weak normal",
        feature_space="Gabor responses, then hidden units",
        inference="stagewise, most probable",
        advice="classes of small images that show one thing each",
        page="patches",
    )

    def __init__(
        self,
        size: tuple[int, int] = (60, 60),
        *,
        features: Any = None,
        classifier: Any = None,
        random_state: Any = None,
    ) -> None:
        self.size = size
        self.features = features
        self.classifier = classifier
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the classes.

        Parameters
        ----------
        X : array of shape (N, H, W) or (N, H, W, 3), or sequence of images
            Images of any size.
        y : array-like of shape (N,)
            Class of each image.
        sample_weight : array-like of shape (N,), optional
            Number of repetitions of each image.
        """
        pixels = self._prepare_patches(X)
        if len(pixels) != np.size(y):
            raise ValueError(f"There are {len(pixels)} images, but {np.size(y)} classes.")
        self.features_ = (Gabor() if self.features is None else clone(self.features)).fit(pixels)
        model = self._default_classifier() if self.classifier is None else clone(self.classifier)
        columns = self.features_.transform(pixels)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.classifier_ = model.fit(columns, y, **weights)
        self.classes_ = self.classifier_.classes_
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each image."""
        columns = self._describe(X)
        return self.classifier_.predict(columns)

    def predict_proba(self, X: Any) -> Array:
        """Probability of each class, (N, C)."""
        columns = self._describe(X)
        return self.classifier_.predict_proba(columns)

    def predict_dist(self, X: Any) -> distributions.Discrete:
        """The distribution of the class of each image, by its place in ``classes_``."""
        columns = self._describe(X)
        return self.classifier_.predict_dist(columns)

    def _describe(self, X: Any) -> NDArray[Any]:
        check_is_fitted(self)
        return self.features_.transform(self._prepare_patches(X))

    def _prepare_patches(self, X: Any) -> Pixels:
        return patches.stack_gray_patches(X, inputs.check_window(self.size))

    def _default_classifier(self) -> local.StagewiseClassifier:
        """Units that are weak and many: single strong ones describe the noise of the patches."""
        return local.StagewiseClassifier(
            300,
            n_restarts=0,
            learning_rate=0.1,
            subsample=0.5,
            validation_fraction=0.3,
            max_iter=15,
            random_state=self.random_state,
        )
