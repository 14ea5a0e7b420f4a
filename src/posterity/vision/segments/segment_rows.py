"""Segments of many labelled images as the rows of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity.arrays import Array
from posterity.vision.label_maps import LabelledPictures
from posterity.vision.segments import segmented_image
from posterity.vision.segments.features import Labels
from posterity.vision.segments.segmented_image import Segmentation, SegmentedImage

_LEAST_SHARE = 0.02  # of a segment: labels of fewer of its pixels are those of its edge


class LabelledSegmentation(NamedTuple):
    """Segments of an image, and the class of each pixel, negative where unknown."""

    segmented: SegmentedImage
    codes: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LabelledSegments:
    """All segments of labelled images.

    Attributes
    ----------
    images : list of LabelledSegmentation
        Segments and classes of each image.
    features : array of shape (n, D), float32
        Features of all segments.
    counts : array of shape (n, C)
        Number of pixels of each class in each segment.
    groups : array of shape (n,)
        Group of the image of each segment.
    classes : array of shape (C,), int64
        Labels, sorted.
    """

    images: list[LabelledSegmentation]
    features: NDArray[np.float32]
    counts: Array
    groups: NDArray[np.int64]
    classes: NDArray[np.int64]

    @property
    def n_groups(self) -> int:
        """Number of groups of images."""
        return len(np.unique(self.groups))

    def list_images(self) -> Iterator[tuple[LabelledSegmentation, slice]]:
        """Iterate over images, each with the rows of its segments."""
        start = 0
        for image in self.images:
            stop = start + len(image.segmented.sizes)
            yield image, slice(start, stop)
            start = stop

    def take(self, numbers: Sequence[int]) -> LabelledSegments:
        """Return some of the images."""
        every = list(self.list_images())
        chosen = [every[k] for k in numbers]
        rows = np.concatenate([np.arange(own.start, own.stop) for _, own in chosen])
        return LabelledSegments(
            [image for image, _ in chosen],
            self.features[rows],
            self.counts[rows],
            self.groups[rows],
            self.classes,
        )

    def take_features(self, columns: NDArray[np.int64]) -> LabelledSegments:
        """Return the images with some of the features of their segments."""
        some = [
            LabelledSegmentation(image.segmented.take_features(columns), image.codes)
            for image in self.images
        ]
        return replace(self, images=some, features=self.features[:, columns])

    def share_labels(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
        """List segments with each of their labels, weighted by the pixels that have it.

        A segment of several labels is a row for each, so that a classifier learns the share of
        each label.

        Returns
        -------
        segment, codes : array of shape (m,)
            Number of the segment, and place of the label in ``classes``.
        weights : array of shape (m,)
            Relative area, with a mean of one.
        """
        total = self.counts.sum(axis=1, keepdims=True)
        segment, codes = np.nonzero(self.counts > _LEAST_SHARE * np.maximum(total, 1.0))
        area = self.counts[segment, codes]
        return segment, codes, area / area.mean()

    def judge_homogeneity(self, share: float) -> tuple[NDArray[np.int64], NDArray[np.bool_], Array]:
        """Find segments of which one label has at least the given share.

        Returns
        -------
        segment : array of shape (m,)
            Number of each segment that has labelled pixels.
        is_homogeneous : array of shape (m,), bool
            Whether one label has at least this share of them.
        weights : array of shape (m,)
            Relative area, with a mean of one.
        """
        total = self.counts.sum(axis=1)
        segment = np.flatnonzero(total > 0.0)
        is_homogeneous = self.counts[segment].max(axis=1) >= share * total[segment]
        return segment, is_homogeneous, total[segment] / total[segment].mean()


def describe_pictures(
    pictures: LabelledPictures,
    kinds: Sequence[Segmentation],
    size: int,
    groups: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> LabelledSegments:
    """Partition and describe all images.

    Parameters
    ----------
    pictures : LabelledPictures
        Images with labels.
    kinds : sequence of (str, float)
        Partitions.
    size : int
        Longest side at which images are looked at.
    groups : array of shape (N,), optional
        Groups of images; None: each by itself.
    n_jobs : int, optional
        Number of threads.
    """
    number = np.arange(len(pictures)) if groups is None else np.asarray(groups)
    if number.shape != (len(pictures),):
        raise ValueError(f"groups must have one entry for each of {len(pictures)} images.")
    number = np.unique(number, return_inverse=True)[1]

    def describe(k: int) -> tuple[SegmentedImage, Labels]:
        image, labels = pictures.read(k)
        described = segmented_image.describe_image(image, kinds, size)
        return described, segmented_image.scale_labels(labels, size)

    found = joblib.Parallel(n_jobs=n_jobs, prefer="threads")(
        joblib.delayed(describe)(k) for k in range(len(pictures))
    )
    classes = np.unique(np.concatenate([np.unique(labels) for _, labels in found]))
    classes = classes[classes >= 0]
    if len(classes) < 2:
        raise ValueError(f"The labels have {len(classes)} class; at least two are needed.")
    return _join_images(found, classes, number)


def _join_images(
    found: list[tuple[SegmentedImage, Labels]],
    classes: NDArray[np.int64],
    number: NDArray[np.int64],
) -> LabelledSegments:
    images, counts, groups = [], [], []
    for k, (image, labels) in enumerate(found):
        codes = np.where(labels >= 0, np.searchsorted(classes, labels), -1)
        images.append(LabelledSegmentation(image, codes))
        counts.append(image.count_labels(codes, len(classes)))
        groups.append(np.full(len(image.sizes), number[k]))
    features = np.concatenate([image.segmented.features for image in images])
    return LabelledSegments(
        images, features, np.concatenate(counts), np.concatenate(groups), classes
    )
