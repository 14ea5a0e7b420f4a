"""From an image to the textons of its pixels: typical textures, colours and gradients."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posterity import validation
from posterity.vision import filters, images, resizing
from posterity.vision.filters import Planes, Responses
from posterity.vision.integrals import Pixels
from posterity.vision.resizing import PictureGrids
from posterity.vision.texton_rectangles import TextonPixels

_BATCH = 4096
_ROWS_AT_ONCE = 4096  # distances that a cache holds
_LEAST_SPREAD = 1e-6


@dataclass(frozen=True, eq=False)
class Textons:
    """K typical responses to D filters.

    Attributes
    ----------
    means, scales : ndarray of shape (D,), float32
        What is subtracted from responses, and what they are then divided by.
    centers : ndarray of shape (K, D), float32
        Responses of textons after that.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import Textons
    >>> rng = np.random.default_rng(0)
    >>> gray = np.concatenate([rng.normal(20.0, 1.0, 50), rng.normal(80.0, 1.0, 50)])
    >>> textons = Textons.learn(gray[:, None], 2, random_state=0)
    >>> numbers = textons.assign(np.array([[[22.0], [79.0], [18.0]]]))[0]
    >>> bool(numbers[0] == numbers[2] != numbers[1])
    True
    """

    means: NDArray[np.float32]
    scales: NDArray[np.float32]
    centers: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.centers)

    @classmethod
    def learn(cls, samples: Any, n_textons: int, *, random_state: int) -> Textons:
        """Cluster responses (N, D) by k-means in small batches, after scaling to unit variance.

        There are fewer textons than asked for where there are fewer different responses.
        """
        from sklearn.cluster import MiniBatchKMeans

        responses = np.asarray(samples, dtype=np.float32)
        means, spread = responses.mean(axis=0), responses.std(axis=0)
        scales = np.where(spread > _LEAST_SPREAD, spread, np.float32(1.0)).astype(np.float32)
        scaled = (responses - means) / scales
        n = min(n_textons, len(np.unique(scaled, axis=0)))
        found = MiniBatchKMeans(
            n, n_init=1, batch_size=_BATCH, max_iter=30, random_state=random_state
        ).fit(scaled)
        return cls(means, scales, found.cluster_centers_.astype(np.float32))

    def assign(self, responses: Responses) -> NDArray[np.uint16]:
        """The nearest texton of each pixel, (H, W)."""
        *shape, n_filters = responses.shape
        flat = responses.reshape(-1, n_filters)
        found = np.empty(len(flat), dtype=np.uint16)
        # The nearest center has the largest x c - c^2 / 2: one product of matrices.
        halves = np.float32(0.5) * np.einsum("kd,kd->k", self.centers, self.centers)
        for first in range(0, len(flat), _ROWS_AT_ONCE):
            block = (flat[first : first + _ROWS_AT_ONCE] - self.means) / self.scales
            scores = block @ self.centers.T
            scores -= halves
            found[first : first + len(block)] = np.argmax(scores, axis=1)
        return found.reshape(shape)

    def check_consistency(self) -> None:
        """Raise ValueError unless means, scales and centers are finite and of one width."""
        validation.require_array(self.centers, "centers", np.float32, (None, None))
        n_filters = self.centers.shape[1]
        for name in ("means", "scales"):
            validation.require_array(getattr(self, name), name, np.float32, (n_filters,))
        parts = (self.means, self.scales, self.centers)
        validation.require(all(np.isfinite(x).all() for x in parts), "textons must be finite.")
        validation.require(bool(np.all(self.scales > 0.0)), "scales of textons must be positive.")
        validation.require(0 < len(self.centers) < 2**16, "there must be 1 to 65,535 textons.")


EVERY = 2
"""Step between the pixels that have textons, down and across."""

_FILTERS = (filters.filter_texture, filters.filter_color, filters.filter_gradients)
_SAMPLES = 40_000  # pixels from which textons are learned
_MOST_OF_IMAGE = 400  # of them, from one image


class DescribedPicture(NamedTuple):
    """Cells, colours and grids by which a segmenter knows an image."""

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
            planes = _convert_reduced(picture, max_size)
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
        planes = _convert_reduced(picture, self.max_size)
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


def _convert_reduced(image: Pixels, max_size: int) -> Planes:
    """L*, a* and b* of an image (H, W, 3) whose longer side is reduced to so many pixels."""
    return filters.convert_to_lab(resizing.scale_image(image, min(max_size, max(image.shape[:2]))))
