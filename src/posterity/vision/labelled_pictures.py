"""Images with a label for every pixel, read when they are needed, and checked."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity.vision import images, label_maps
from posterity.vision.integrals import Pixels


@dataclass(frozen=True, eq=False)
class LabelledPictures:
    """Images and their labels: arrays, or paths of files that are read each time.

    Attributes
    ----------
    pictures, labels : sequence
        Of equal length. A sequence whose items are computed when asked for is not held in memory.
    void : ndarray of int64
        Labels that are left out.
    """

    pictures: Any
    labels: Any
    void: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.pictures)

    @classmethod
    def check(cls, X: Iterable[Any], y: Iterable[Any], void: ArrayLike) -> LabelledPictures:
        """The images, if there are as many labels."""
        pictures, labels = (_list_items(x) for x in (X, y))
        if len(pictures) != len(labels):
            raise ValueError(
                f"There are {len(pictures):,} images, but labels of {len(labels):,}; each image "
                "needs labels."
            )
        if len(pictures) < 2:
            raise ValueError(
                "A segmenter learns from two images or more, so that it can be tested on one that "
                f"it has not seen; there are {len(pictures)}."
            )
        return cls(pictures, labels, np.atleast_1d(np.asarray(void, dtype=np.int64)))

    def read_picture(self, number: int) -> Pixels:
        """One image in colour, (H, W, 3)."""
        return images.load_image(self.pictures[number], "color")

    def read(self, number: int) -> tuple[Pixels, NDArray[np.int64]]:
        """One image (H, W, 3) with its labels (H, W); -1 at pixels that are left out."""
        picture, given = self.read_picture(number), self.labels[number]
        if isinstance(given, str | os.PathLike):
            name, numbers = str(given), label_maps.read_label_map(given)
        else:
            name, numbers = f"The array of labels {number}", np.asarray(given)
        if numbers.shape != picture.shape[:2] or numbers.dtype.kind not in "iu":
            raise ValueError(
                f"{name} must have a whole number for each of {picture.shape[0]} x "
                f"{picture.shape[1]} pixels; it is {numbers.dtype} of the shape {numbers.shape}."
            )
        left_out = np.isin(numbers, self.void)
        if np.any(numbers[~left_out] < 0):
            raise ValueError(f"{name} has a negative label that is not one of void.")
        return picture, np.where(left_out, -1, numbers.astype(np.int64))

    def read_all(self) -> Iterator[tuple[Pixels, NDArray[np.int64]]]:
        """All images with their labels, one at a time."""
        for number in range(len(self)):
            yield self.read(number)


def _list_items(items: Iterable[Any]) -> Any:
    """Items that can be asked for by number, as they are; others in a list."""
    return items if hasattr(items, "__getitem__") else list(items)
