"""Means, spreads and histograms of the pixels of each segment."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.vision.segments.segmentations import Labels


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
    >>> from posterity.vision.segments.segment_sums import SegmentSums
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
