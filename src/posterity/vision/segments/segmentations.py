"""Partitions of an image into segments of pixels that touch and look alike, and sums over them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.vision import images
from posterity.vision.integrals import Pixels

Labels = NDArray[np.int64]
"""Number of the segment of each pixel, (H, W), from 0 without gaps."""

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
    >>> from posterity.vision.segments import segmentations
    >>> image = np.zeros((20, 20, 3), dtype=np.uint8)
    >>> image[:, 10:] = 255
    >>> segmentations.segment_image(image, "felzenszwalb", 50)[0, [0, -1]]
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


class SegmentSums:
    """Sums over the pixels of each segment of a partition.

    Parameters
    ----------
    labels : array of shape (H, W), int64
        Number of the segment of each pixel, from 0 without gaps.

    Attributes
    ----------
    count : array of shape (n,)
        Number of pixels of each segment.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision.segments.segmentations import SegmentSums
    >>> sums = SegmentSums(np.array([[0, 0, 1]]))
    >>> mean, std = sums.compute_moments(np.array([[[1.0, 3.0, 5.0]]]))
    >>> mean.ravel(), std.ravel()
    (array([2., 5.]), array([1., 0.]))
    """

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        self.count = np.bincount(labels.ravel()).astype(float)

    def compute_moments(self, planes: NDArray[np.floating]) -> tuple[Array, Array]:
        """Compute means and standard deviations (n, K) of planes (K, H, W)."""
        mean = self._average_planes(planes)
        variance = self._average_planes(np.square(planes, dtype=np.float64)) - mean**2
        return mean, np.sqrt(np.maximum(variance, 0.0))

    def compute_histogram(self, bins: NDArray[np.int64], n_bins: int) -> Array:
        """Compute the share of the pixels of each segment in each bin, (n, n_bins)."""
        n = len(self.count)
        at = self.labels.ravel() * n_bins + bins.ravel()
        return np.bincount(at, minlength=n * n_bins).reshape(n, n_bins) / self.count[:, None]

    def _average_planes(self, planes: NDArray[np.floating]) -> Array:
        n, flat = len(self.count), self.labels.ravel()
        total = [np.bincount(flat, plane.ravel(), n) for plane in planes]
        return np.column_stack(total) / self.count[:, None]
