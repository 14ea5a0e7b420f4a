"""Conventions of all systems: one image or several, and names of classes.

``fit(X, y, *, groups=None, ...)`` takes images X and what is known of them, y: labels, or poses.
Methods such as ``predict_proba(X)`` take a list of images. Where the answer is a map, whose size is
that of the image, they also take one image, and answer a list by a list.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from sklearn.base import BaseEstimator

from posterity import distributions
from posterity.arrays import Array
from posterity.vision.label_maps import LabelledPictures
from posterity.vision.pose_mixtures import PoseModes

Map: TypeAlias = NDArray[np.float32]
Names: TypeAlias = Mapping[int, str] | Sequence[str] | None


class CodedPixels(NamedTuple):
    """Pixels that answer tests with codes of their thresholds."""

    pixels: Any

    def __len__(self) -> int:
        return len(self.pixels)


class PixelClassifier(BaseEstimator, ABC):
    """Classifier of the pixels of images.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        Labels seen in training.
    names_ : tuple of str
        Names of the columns of ``predict_proba``.
    """

    classes_: NDArray[Any]
    names_: tuple[str, ...]

    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of each class at each pixel.

        Parameters
        ----------
        X : image, or sequence of images
            One image gives an array (H, W, C), an array of N images gives (N, H, W, C), and a list
            gives a list.
        """
        return map_images(self._predict_image, X, n_axes=self._n_axes)

    def predict(self, X: Any) -> Any:
        """Predict the most probable class of each pixel, (H, W), of one image or of each."""
        return map_images(self._label_image, X, n_axes=self._n_axes)

    def predict_dist(self, X: Any) -> Any:
        """Predict the distribution of the class of each pixel, by its place in ``classes_``."""
        return _map_list(_to_categorical, self.predict_proba(X))

    def predict_entropy(self, X: Any) -> Any:
        """Predict the entropy of the class of each pixel in bits, (H, W): 0 is certain."""
        return _map_list(_measure_map, self.predict_proba(X))

    _n_axes: tuple[int, ...] = (2, 3)  # of one image

    @abstractmethod
    def _predict_image(self, image: Any) -> Map:
        """Probabilities (H, W, C) of one image."""

    def _label_image(self, image: Any) -> NDArray[Any]:
        best = np.argmax(self._predict_image(image), axis=-1)  # first: says that it is not fitted
        return np.asarray(self.classes_[best])


class SceneClassifier(PixelClassifier):
    """Classifier of the pixels of images in colour, which learns from images and their labels."""

    def fit(
        self,
        X: Iterable[Any],
        y: Iterable[Any],
        *,
        void: ArrayLike = -1,
        groups: ArrayLike | None = None,
        names: Names = None,
    ) -> Self:
        """Learn from images whose pixels are labelled.

        Parameters
        ----------
        X : sequence of arrays (H, W) or (H, W, 3), or of paths
            Images, at least two. They may be read several times; paths, or a sequence that reads
            its items when asked for them, do not hold all images in memory.
        y : sequence of arrays (H, W), or of paths
            A label for each pixel: whole numbers.
        void : int or sequence of int, default=-1
            Labels of pixels that are left out.
        groups : array of shape (N,), optional
            Images to keep together, such as those of one scene. None: each image by itself.
        names : mapping of int to str, or sequence of str, optional
            Names of labels; a sequence begins with that of label 0. None: their numbers.
        """
        self._learn(LabelledPictures.check(X, y, void), groups)
        self.names_ = name_classes(self.classes_, names)
        return self

    @abstractmethod
    def _learn(self, pictures: LabelledPictures, groups: ArrayLike | None) -> None:
        """Learn from labelled images, and set ``classes_``."""


class PoseEstimator(BaseEstimator, ABC):
    """Model of the poses of people, of whom silhouettes are seen."""

    @abstractmethod
    def _list_poses(self, X: Any, **frames: Any) -> PoseModes:
        """Poses of each silhouette whose mixture is the answer."""

    def predict_dist(self, X: Any, **frames: Any) -> distributions.Mixture:
        """Distribution of each coordinate of the pose, of shape (n, ...).

        Parameters
        ----------
        X : array of shape (n, H, W), sequence of masks (H, W), or one mask
            Silhouettes, as in training.
        **frames
            How they belong together, as for ``predict_modes``.
        """
        return self._list_poses(X, **frames).to_distribution()

    def predict(self, X: Any, **frames: Any) -> Array:
        """Mean pose of each silhouette, (n, ...), with the arguments of ``predict_dist``."""
        return self._list_poses(X, **frames).mean()


def map_images(answer: Callable[[Any], Any], X: Any, *, n_axes: tuple[int, ...] = (2, 3)) -> Any:
    """Answer one image, or each of a sequence.

    Parameters
    ----------
    answer : callable
        Returns an array for an image.
    X : array, path, or sequence of them
        An array with three axes is an image if the last one has 1, 3 or 4 channels.
    n_axes : tuple of int
        Numbers of axes that an image may have.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import base
    >>> base.map_images(np.shape, [np.ones((2, 3)), np.ones((4, 5))])
    [(2, 3), (4, 5)]
    >>> base.map_images(np.sum, np.ones((2, 4, 5)))
    array([20., 20.])
    """
    if isinstance(X, str | os.PathLike):
        return answer(X)
    if not isinstance(X, np.ndarray):
        return [answer(image) for image in X]
    has_channels = X.ndim == 3 and 3 in n_axes and X.shape[2] in (1, 3, 4)
    if X.ndim <= 2 or has_channels:
        return answer(X)
    return np.stack([answer(image) for image in X])


def name_classes(classes: NDArray[Any], names: Names) -> tuple[str, ...]:
    """Return a name for each label; a sequence begins with that of label 0.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import base
    >>> base.name_classes(np.array([0, 2, 7]), ["ground", "wall", "sky"])
    ('ground', 'sky', '7')
    """
    named = names if isinstance(names, Mapping) else dict(enumerate(names or ()))
    return tuple(str(named.get(label, label)) for label in classes.tolist())


def measure_entropy(probabilities: ArrayLike) -> Array:
    """Measure the entropy in bits of probabilities (..., C), which may be shares of any sum.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import base
    >>> base.measure_entropy(np.array([[0.25, 0.25, 0.25, 0.25], [0.0, 1.0, 0.0, 0.0]]))
    array([2., 0.])
    """
    p = np.asarray(probabilities, dtype=np.float64)
    share = p / p.sum(axis=-1, keepdims=True)
    return np.sum(special.entr(share), axis=-1) / np.log(2.0)


def _map_list(function: Callable[[Any], Any], answers: Any) -> Any:
    return [function(one) for one in answers] if isinstance(answers, list) else function(answers)


def _to_categorical(probabilities: Map) -> distributions.Categorical:
    p = np.maximum(probabilities.astype(np.float64), np.finfo(np.float64).tiny)
    return distributions.Categorical(np.log(p / p.sum(axis=-1, keepdims=True)))


def _measure_map(probabilities: Map) -> Map:
    p = np.maximum(probabilities, np.finfo(np.float32).tiny)  # without reading: knows nothing
    return measure_entropy(p).astype(np.float32)
