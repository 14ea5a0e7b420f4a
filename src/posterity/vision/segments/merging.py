"""Merge what segments of several partitions say about a pixel into one distribution.

A segment that shows one surface says more about its pixels than one that shows several. So each
counts by the probability that it is homogeneous:

    P(z | pixel)  =  sum_s P(z | s) P(s homogeneous)^power / sum_s P(s homogeneous)^power,

then raised to ``sharpness`` and scaled to sum to one. Power and sharpness are learned from images
that were held out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from posterity import optimize, validation
from posterity.arrays import Array
from posterity.vision.segments.segmented import SegmentedImage

_POWERS = (0.0, 0.5, 1.0, 2.0, 4.0)
_LEAST_WEIGHT = 1e-3  # of a segment, so that some segment counts everywhere
_LEAST_P = 1e-6  # of a probability in log scores: labels are not right everywhere
_LOW, _HIGH = 0.2, 5.0  # of the sharpness


class HeldOutImage(NamedTuple):
    """Segments of an image, answers of a model that has not seen it, and the truth."""

    segmented: SegmentedImage
    p: Array  # (n, C)
    homogeneity: Array  # (n,)
    codes: NDArray[np.int64]  # (h, w), negative where unknown


@dataclass(frozen=True)
class SegmentMerging:
    """How probabilities of segments become those of pixels.

    Parameters
    ----------
    power : float, default=1
        Power of the probability of homogeneity by which segments count; 0 counts all alike.
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

    power: float = 1.0
    sharpness: float = 1.0

    def merge(self, image: SegmentedImage, p: Array, homogeneity: Array) -> Array:
        """Probabilities (h, w, C) of pixels from those of segments, (n, C) and (n,)."""
        weights = np.maximum(homogeneity, _LEAST_WEIGHT) ** self.power
        merged = image.average_over_maps(p, weights)
        if self.sharpness != 1.0:
            merged = np.maximum(merged, _LEAST_P) ** self.sharpness
        return merged / np.sum(merged, axis=-1, keepdims=True)

    @classmethod
    def learn(cls, images: Sequence[HeldOutImage], every: int = 4) -> SegmentMerging:
        """The power and the sharpness of the largest log score of held-out images.

        Parameters
        ----------
        images : sequence of HeldOutImage
            With probabilities from models that have not seen them.
        every : int, default=4
            Distance of the pixels of a row and of a column that count.
        """
        best, highest = cls(), -np.inf
        for power in _POWERS:
            log_p, codes = _collect(cls(power), images, every)
            sharpness, score = _sharpen(log_p, codes)
            if score > highest:
                highest, best = score, cls(power, sharpness)
        return best

    def check_consistency(self) -> None:
        """Raise ValueError unless both numbers are such."""
        for name in ("power", "sharpness"):
            value = getattr(self, name)
            is_number = isinstance(value, float) and 0.0 <= value < np.inf
            validation.require(is_number, f"{name} is not a number of at least zero.")


def judge_pixels(p: Array, codes: NDArray[np.int64]) -> tuple[float, float, int]:
    """Number of right pixels, sum of log scores, and number of pixels whose class is known."""
    known = codes >= 0
    own = np.take_along_axis(p[known], codes[known][:, None], axis=1)[:, 0]
    right = np.count_nonzero(np.argmax(p[known], axis=1) == codes[known])
    return float(right), float(np.sum(np.log(np.maximum(own, _LEAST_P)))), len(own)


def _collect(
    merging: SegmentMerging, images: Sequence[HeldOutImage], every: int
) -> tuple[Array, NDArray[np.int64]]:
    """Log-probabilities (m, C) and classes (m,) of a grid of pixels."""
    logs, codes = [], []
    for image in images:
        own = image.codes[::every, ::every]
        thin = SegmentedImage(
            image.segmented.maps[:, ::every, ::every],
            image.segmented.features,
            image.segmented.sizes,
        )
        p = merging.merge(thin, image.p, image.homogeneity)
        logs.append(np.log(np.maximum(p[own >= 0], _LEAST_P)))
        codes.append(own[own >= 0])
    return np.concatenate(logs), np.concatenate(codes)


def _sharpen(log_p: Array, codes: NDArray[np.int64]) -> tuple[float, float]:
    """The factor of log-probabilities (m, C) of the largest mean log score, and that score."""
    own = np.take_along_axis(log_p, codes[:, None], axis=1)[:, 0]

    def slope(factor: Array) -> Array:
        # The score is concave in the factor: its derivative is own minus expected logarithm.
        expected = np.sum(softmax(factor * log_p, axis=1) * log_p, axis=1)
        return np.array([np.mean(own - expected)])

    factor = float(optimize.maximise_between(slope, np.array([_LOW]), np.array([_HIGH]))[0])
    return factor, float(np.mean(factor * own - logsumexp(factor * log_p, axis=1)))
