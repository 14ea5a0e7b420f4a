"""Labelled pixels of images, drawn at random, from which a segmenter learns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import progress
from posterity.arrays import Array
from posterity.vision.labelled_pictures import LabelledPictures
from posterity.vision.texton_bank import TextonBank
from posterity.vision.texton_rectangles import TextonPixels


@dataclass(frozen=True, eq=False)
class PixelRows:
    """Pixels to learn from.

    Attributes
    ----------
    pixels : TextonPixels
        N cells of images.
    classes : ndarray of shape (N,), int64
        Numbers from 0 to C - 1.
    weights : ndarray of shape (N,)
        How many pixels of the image each stands for, over their mean.
    folds : ndarray of shape (N,), int64
        The sum that does not see each pixel; all pixels of an image are in one fold.
    n_classes : int
        Number of classes C.
    """

    pixels: TextonPixels
    classes: NDArray[np.int64]
    weights: Array
    folds: NDArray[np.int64]
    n_classes: int

    def __len__(self) -> int:
        return len(self.classes)


def deal_images(
    n_images: int, groups: ArrayLike | None, n_folds: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """A fold for each image, (N,), at random and about equally often; groups stay together.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import pixel_rows
    >>> np.bincount(pixel_rows.deal_images(7, None, 3, np.random.default_rng(0)))
    array([3, 2, 2])
    """
    own = np.arange(n_images)
    if groups is not None:
        own = np.unique(np.asarray(groups), return_inverse=True)[1].ravel()
        if len(own) != n_images:
            raise ValueError(f"groups has {len(own):,} entries for {n_images:,} images.")
    n_groups = int(own.max()) + 1
    if n_groups < 2:
        raise ValueError("All images are in one group; a segmenter needs two groups or more.")
    folds = np.arange(n_groups, dtype=np.int64) % min(n_folds, n_groups)
    return rng.permutation(folds)[own]


def collect_pixels(
    bank: TextonBank,
    pictures: LabelledPictures,
    folds: NDArray[np.int64],
    most: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], PixelRows]:
    """Classes, and labelled cells of all images, at most ``most`` of each."""
    parts, labels, weights, own = [], [], [], []
    every = range(len(pictures))
    for n in progress.track(every, description="filters", unit="images", size=lambda _: 1):
        picture, numbers = pictures.read(n)
        pixels, _, grids = bank.describe(picture)
        at = grids.label_cells(numbers).ravel()
        known = np.flatnonzero(at >= 0)
        chosen = np.sort(rng.choice(known, min(most, len(known)), replace=False))
        if len(chosen):
            parts.append(pixels[chosen])
            labels.append(at[chosen])
            weights.append(np.full(len(chosen), len(known) / len(chosen)))
            own.append(np.full(len(chosen), folds[n]))
    if not parts:
        raise ValueError("All pixels of all images are void: there is nothing to learn.")
    classes, y = np.unique(np.concatenate(labels), return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"All pixels have the label {classes[0]}; a segmenter needs two classes.")
    w = np.concatenate(weights)
    joined, fold = TextonPixels.join(parts), np.concatenate(own)
    return classes, PixelRows(joined, y.astype(np.int64), w / np.mean(w), fold, len(classes))
