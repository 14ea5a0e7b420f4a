"""An image in several partitions, and one distribution for each pixel from those of segments.

A segment that shows one surface says more about its pixels than one that shows several. So each
is weighted by the probability that it is homogeneous:

    P(z | pixel)  =  sum_s P(z | s) P(s homogeneous) / sum_s P(s homogeneous),

then raised to ``sharpness`` and scaled to sum to one: an average of calibrated probabilities is
less confident than it should be. The sharpness is learned from images that were held out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from posterity import optimize, validation
from posterity.arrays import Array
from posterity.vision import images, resizing
from posterity.vision.integrals import Pixels
from posterity.vision.segments import features, planes
from posterity.vision.segments.features import Labels

Segmentation = tuple[str, float]
"""A kind of partition, "slic" or "felzenszwalb", and its size."""

_KINDS = ("slic", "felzenszwalb")
_COMPACTNESS = 12.0
_SMOOTHING = 0.8  # pixels, before Felzenszwalb
_LEAST_SHARE = 0.6  # least pixels of a segment of Felzenszwalb, in units of its scale


def segment_image(image: Pixels, kind: str, size: float) -> Labels:
    """Partition an image.

    Parameters
    ----------
    image : array (H, W, 3) of uint8
        Red, green and blue.
    kind : {"slic", "felzenszwalb"}
        Clusters of colour and place, about equal in size; or trees of a graph of similar pixels,
        some large and some small.
    size : float
        Number of segments of "slic"; scale of "felzenszwalb", larger ones give larger segments.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision.segments import segmented_image
    >>> image = np.zeros((20, 20, 3), dtype=np.uint8)
    >>> image[:, 10:] = 255
    >>> segmented_image.segment_image(image, "felzenszwalb", 50)[0, [0, -1]]
    array([0, 1])
    """
    segmentation = images.import_skimage("segmentation")
    if kind == "slic":
        labels = segmentation.slic(
            image, n_segments=int(size), compactness=_COMPACTNESS, start_label=0
        )
    else:
        labels = segmentation.felzenszwalb(
            image, scale=size, sigma=_SMOOTHING, min_size=max(int(_LEAST_SHARE * size), 1)
        )
    return np.unique(labels, return_inverse=True)[1].reshape(labels.shape)


def check_segmentations(kinds: Any) -> tuple[Segmentation, ...]:
    """Partitions as pairs of a kind and a size; ValueError if one is not."""
    try:
        checked = tuple((str(kind), float(size)) for kind, size in kinds)
    except (TypeError, ValueError):
        checked = ()
    if not checked or not all(kind in _KINDS and 1.0 <= size < 1e6 for kind, size in checked):
        raise ValueError(
            f"segmentations={kinds!r} must be pairs such as ('slic', 120) or ('felzenszwalb', 100)."
        )
    return checked


@dataclass(frozen=True, eq=False)
class SegmentedImage:
    """Segments of an image in several partitions.

    Attributes
    ----------
    maps : array of shape (S, h, w), int32
        Number of the segment of each pixel in each of S partitions; numbers of all partitions
        differ and lie between 0 and n - 1.
    features : array of shape (n, D), float32
        Features of each segment.
    sizes : array of shape (n,)
        Number of pixels of each segment.
    """

    maps: NDArray[np.int32]
    features: NDArray[np.float32]
    sizes: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width at which the image was partitioned."""
        return self.maps.shape[1], self.maps.shape[2]

    def take_maps(self, numbers: Sequence[int]) -> SegmentedImage:
        """Return the image in some of its partitions."""
        return replace(self, maps=self.maps[list(numbers)])

    def thin(self, every: int) -> SegmentedImage:
        """Return the image with a grid of its pixels, ``every`` apart."""
        return replace(self, maps=self.maps[:, ::every, ::every])

    def take_features(self, columns: NDArray[np.int64]) -> SegmentedImage:
        """Return the image with some of the features of its segments."""
        return replace(self, features=self.features[:, columns])

    def count_labels(self, codes: NDArray[np.int64], n_classes: int) -> Array:
        """Count the pixels of each class in each segment, (n, C).

        Parameters
        ----------
        codes : array of shape (h, w)
            Classes from 0 to C - 1; negative for pixels that are left out.
        n_classes : int
            Number of classes C.
        """
        known = codes >= 0
        n = len(self.sizes)
        total = np.zeros(n * n_classes)
        for segments in self.maps:
            at = segments[known].astype(np.int64) * n_classes + codes[known]
            total += np.bincount(at, minlength=n * n_classes)
        return total.reshape(n, n_classes)

    def average_over_maps(self, values: Array, weights: Array) -> Array:
        """Average values (n, C) of segments over the partitions by weights (n,), (h, w, C)."""
        table = np.column_stack([values * weights[:, None], weights])
        total = table[self.maps[0]]
        for segments in self.maps[1:]:
            total += table[segments]
        return total[..., :-1] / total[..., -1:]


def describe_image(image: Pixels, kinds: Sequence[Segmentation], size: int = 320) -> SegmentedImage:
    """Partition an image in several ways and describe the segments.

    Parameters
    ----------
    image : array of shape (H, W, 3), uint8
        Red, green and blue.
    kinds : sequence of (str, float)
        Partitions: "slic" with the number of segments, or "felzenszwalb" with the scale.
    size : int, default=320
        Longest side of the image that is partitioned; larger images are averaged, and smaller ones
        interpolated, to this size, so that a pixel means the same in all.

    Examples
    --------
    >>> from posterity import vision
    >>> from posterity.vision import segments
    >>> image = vision.datasets.streets(1).images[0]
    >>> found = segments.describe_image(image, [("slic", 40), ("felzenszwalb", 100)], size=160)
    >>> found.maps.shape, found.features.shape[1] == len(segments.FEATURE_NAMES)
    ((2, 120, 160), True)
    """
    scaled = resizing.scale_image(image, size)
    shown = planes.compute_planes(scaled)
    maps, described, n = [], [], 0
    for kind in kinds:
        labels = segment_image(scaled, *kind)
        maps.append(labels + n)
        described.append(features.describe_segments(shown, labels))
        n += len(described[-1])
    joined = np.stack(maps).astype(np.int32)
    sizes = np.bincount(joined.ravel(), minlength=n).astype(float)
    return SegmentedImage(joined, np.concatenate(described).astype(np.float32), sizes)


def scale_labels(labels: NDArray[np.int64], size: int) -> Labels:
    """Sample labels (H, W) at the middle of each pixel of the scaled image."""
    height, width = resizing.find_scaled_shape(labels.shape, size)
    rows = ((np.arange(height) + 0.5) * labels.shape[0] / height).astype(np.int64)
    columns = ((np.arange(width) + 0.5) * labels.shape[1] / width).astype(np.int64)
    return labels[rows[:, None], columns]


_LEAST_WEIGHT = 1e-3  # of a segment, so that some segment counts everywhere
_LEAST_P = 1e-6  # of a probability in log scores: labels are not right everywhere
_LOW, _HIGH = 0.2, 5.0  # of the sharpness
_PRIOR_PRECISION = 1.0  # of the sharpness, around one; each image is one observation


class HeldOutImage(NamedTuple):
    """Segments of an image, probabilities of a model that has not seen it, and the truth."""

    segmented: SegmentedImage
    p: Array  # (n, C)
    homogeneity: Array  # (n,)
    codes: NDArray[np.int64]  # (h, w), negative where unknown


@dataclass(frozen=True)
class SegmentMerging:
    """Merging of probabilities of segments into those of pixels.

    Parameters
    ----------
    sharpness : float, default=1
        Factor of the logarithms of merged probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import segments
    >>> maps = np.array([[[0, 0]], [[1, 2]]], dtype=np.int32)  # one segment, or two
    >>> image = segments.SegmentedImage(maps, np.zeros((3, 1), np.float32), np.array([2.0, 1, 1]))
    >>> p = np.array([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]])
    >>> segments.SegmentMerging().merge(image, p, np.array([0.5, 1.0, 1.0])).round(2)
    array([[[0.83, 0.17],
            [0.17, 0.83]]])
    """

    sharpness: float = 1.0

    def merge(self, image: SegmentedImage, p: Array, homogeneity: Array) -> Array:
        """Compute probabilities (h, w, C) of pixels from those of segments, (n, C) and (n,)."""
        merged = image.average_over_maps(p, np.maximum(homogeneity, _LEAST_WEIGHT))
        if self.sharpness != 1.0:
            merged = np.maximum(merged, _LEAST_P) ** self.sharpness
        return merged / np.sum(merged, axis=-1, keepdims=True)

    @classmethod
    def learn(cls, held_out: Sequence[HeldOutImage], every: int = 4) -> SegmentMerging:
        """Learn the sharpness from held-out images.

        It maximises the sum of the mean log scores of images under a normal prior around one.
        Pixels of an image are correlated, so that an image counts as one observation.

        Parameters
        ----------
        held_out : sequence of HeldOutImage
            Images with probabilities from models that have not seen them.
        every : int, default=4
            Distance between the pixels of a row and of a column that are used.
        """
        pixels = [_collect_pixels(image, every) for image in held_out]
        log_p, codes, weights = (np.concatenate(parts) for parts in zip(*pixels, strict=True))
        own = np.take_along_axis(log_p, codes[:, None], axis=1)[:, 0]

        def slope(sharpness: Array) -> Array:
            # The score is concave: its derivative is the own minus the expected logarithm.
            expected = np.sum(softmax(sharpness * log_p, axis=1) * log_p, axis=1)
            return weights @ (own - expected) - _PRIOR_PRECISION * (sharpness - 1.0)

        return cls(float(optimize.maximise_between(slope, np.array([_LOW]), np.array([_HIGH]))[0]))

    def check_consistency(self) -> None:
        """Raise ValueError unless the sharpness is a finite number of at least zero."""
        is_number = isinstance(self.sharpness, float) and 0.0 <= self.sharpness < np.inf
        validation.require(is_number, "sharpness is not a number of at least zero.")


def judge_pixels(p: Array, codes: NDArray[np.int64]) -> tuple[float, float, int]:
    """Count right pixels, sum log scores, and count the pixels whose class is known."""
    known = codes >= 0
    own = np.take_along_axis(p[known], codes[known][:, None], axis=1)[:, 0]
    right = np.count_nonzero(np.argmax(p[known], axis=1) == codes[known])
    return float(right), float(np.sum(np.log(np.maximum(own, _LEAST_P)))), len(own)


def _collect_pixels(image: HeldOutImage, every: int) -> tuple[Array, NDArray[np.int64], Array]:
    """Log-probabilities (m, C), classes and weights (m,) of a grid of pixels; weights sum to 1."""
    codes = image.codes[::every, ::every]
    p = SegmentMerging().merge(image.segmented.thin(every), image.p, image.homogeneity)
    known = codes >= 0
    classes = codes[known]
    weights = np.full(len(classes), 1.0 / max(len(classes), 1))
    return np.log(np.maximum(p[known], _LEAST_P)), classes, weights
