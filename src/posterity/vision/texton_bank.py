"""From an image to the textons of its pixels: textures, colours and gradients."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from posterity import validation
from posterity.vision import filters, images, lab, resizing
from posterity.vision.filters import Responses
from posterity.vision.integrals import Pixels
from posterity.vision.lab import Planes
from posterity.vision.picture_grids import PictureGrids
from posterity.vision.texton_rectangles import TextonPixels
from posterity.vision.textons import Textons

EVERY = 2
"""Step between the pixels that have textons, down and across."""

_FILTERS = (filters.filter_texture, filters.filter_color, filters.filter_gradients)
_SAMPLES = 40_000  # pixels from which textons are learned
_MOST_OF_IMAGE = 400  # of them, from one image


class DescribedPicture(NamedTuple):
    """What a segmenter knows of an image."""

    pixels: TextonPixels  # all cells
    planes: Planes  # (h, w, 3), L*, a* and b* of samples
    grids: PictureGrids


@dataclass(frozen=True, eq=False)
class TextonBank:
    """Three sets of textons, and the size at which images are looked at.

    Attributes
    ----------
    books : tuple of Textons
        Of textures, colours and gradients; None for a set that is not used.
    cell : int
        Pixels along the side of a cell.
    max_size : int
        Longer side in pixels of the largest image that is not reduced.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import TextonBank
    >>> image = np.random.default_rng(0).integers(256, size=(30, 40, 3), dtype=np.uint8)
    >>> rng = np.random.default_rng(0)
    >>> bank = TextonBank.learn([image], 1, (9, 5, 0), cell=4, max_size=320, rng=rng)
    >>> bank.n_textons, len(bank.describe(image).pixels)
    (14, 80)
    """

    books: tuple[Textons | None, Textons | None, Textons | None]
    cell: int
    max_size: int

    @classmethod
    def learn(
        cls,
        pictures: Iterable[Pixels],
        n_pictures: int,
        numbers: tuple[int, int, int],
        cell: int,
        max_size: int,
        rng: np.random.Generator,
    ) -> TextonBank:
        """Cluster the responses of pixels drawn from images.

        Parameters
        ----------
        pictures : iterable of arrays (H, W, 3)
            Images, read once.
        n_pictures : int
            How many there are.
        numbers : tuple of int
            Textons of textures, colours and gradients; 0: none of that kind.
        cell, max_size : int
            See the attributes.
        rng : Generator
            Draws pixels.
        """
        n_each = min(_MOST_OF_IMAGE, -(-_SAMPLES // max(n_pictures, 1)))
        samples: list[list[Responses]] = [[] for _ in numbers]
        for picture in pictures:
            planes = lab.convert_to_lab(reduce_image(picture, max_size))
            for k, n in enumerate(numbers):
                if n:
                    found = _FILTERS[k](planes, EVERY)
                    flat = found.reshape(-1, found.shape[-1])
                    samples[k].append(flat[rng.integers(len(flat), size=n_each)])
        seeds = rng.integers(2**31, size=3).tolist()
        texture, color, gradients = (
            Textons.learn(np.concatenate(own), n, random_state=seed) if n else None
            for own, n, seed in zip(samples, numbers, seeds, strict=True)
        )
        return cls((texture, color, gradients), cell, max_size)

    @property
    def n_textons(self) -> int:
        """Number of textons of all kinds."""
        return sum(len(book) for book in self.books if book is not None)

    def describe(self, image: Any) -> DescribedPicture:
        """Cells of an image with its textons, and colours of its samples."""
        picture = images.to_color(image)
        planes = lab.convert_to_lab(reduce_image(picture, self.max_size))
        maps, first = [], 0
        for book, compute in zip(self.books, _FILTERS, strict=True):
            if book is not None:
                maps.append(book.assign(compute(planes, EVERY)).astype(np.int64) + first)
                first += len(book)
        pixels = TextonPixels.from_maps(maps, first, side=self.cell // EVERY)
        grids = PictureGrids(picture.shape[:2], planes.shape[:2], EVERY, self.cell)
        return DescribedPicture(pixels, np.ascontiguousarray(planes[::EVERY, ::EVERY]), grids)

    def check_consistency(self) -> None:
        """Raise ValueError unless there are textons for the filters, and cells of whole samples."""
        validation.require_count(self.cell, "cell", least=EVERY)
        validation.require(self.cell % EVERY == 0, f"cell must be a multiple of {EVERY}.")
        validation.require_count(self.max_size, "max_size", least=1)
        is_triple = isinstance(self.books, tuple) and len(self.books) == 3
        validation.require(is_triple and self.n_textons > 0, "there are no textons.")
        widths = (filters.N_TEXTURE_FILTERS, 3, filters.N_GRADIENT_FILTERS)
        for book, width in zip(self.books, widths, strict=True):
            if book is not None:
                fits = book.centers.shape[1] == width
                validation.require(fits, f"textons do not have {width} filters.")


def reduce_image(image: Pixels, max_size: int) -> Pixels:
    """The image (H, W, 3) with its longer side at most so many pixels, by averages of areas.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import texton_bank
    >>> texton_bank.reduce_image(np.zeros((600, 800, 3), dtype=np.uint8), 320).shape
    (240, 320, 3)
    """
    height, width, _ = image.shape
    factor = max_size / max(height, width)
    if factor >= 1.0:
        return image
    size = max(round(factor * height), 1), max(round(factor * width), 1)
    planes = [resizing.resize_by_area(np.ascontiguousarray(image[..., c]), *size) for c in range(3)]
    return np.stack(planes, axis=-1)
