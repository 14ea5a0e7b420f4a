"""Merge the probabilities of segments of several partitions into one distribution for each pixel.

A segment that shows one surface says more about its pixels than one that shows several. So each
is weighted by the probability that it is homogeneous:

    P(z | pixel)  =  sum_s P(z | s) P(s homogeneous) / sum_s P(s homogeneous),

then raised to ``sharpness`` and scaled to sum to one: an average of calibrated probabilities is
less confident than it should be. The sharpness is learned from images that were held out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from posterity import optimize, validation
from posterity.arrays import Array
from posterity.vision.segments.segmented_image import SegmentedImage

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
    def learn(cls, images: Sequence[HeldOutImage], every: int = 4) -> SegmentMerging:
        """Learn the sharpness from held-out images.

        It maximises the sum of the mean log scores of images under a normal prior around one.
        Pixels of an image are correlated, so that an image counts as one observation.

        Parameters
        ----------
        images : sequence of HeldOutImage
            Images with probabilities from models that have not seen them.
        every : int, default=4
            Distance between the pixels of a row and of a column that are used.
        """
        pixels = [_collect_pixels(image, every) for image in images]
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
