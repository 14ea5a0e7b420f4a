"""Labels of pixels: their colours, image files of them, and images whose pixels are labelled."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import files
from posterity.arrays import Array
from posterity.vision import images
from posterity.vision.integrals import Pixels

# Linear red, green and blue to the responses of cones, and their cube roots to lightness, green to
# red, and blue to yellow: OKLab, in which equal distances look about equally different.
_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_OPPONENTS = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
# The palette of Okabe and Ito, distinct under every common form of colour blindness.
_BLUE, _VERMILION, _GREEN = (0, 114, 178), (213, 94, 0), (0, 158, 115)
_PINK, _SKY, _AMBER = (204, 121, 167), (86, 180, 233), (230, 159, 0)
_FIRST = (_BLUE, _VERMILION, _GREEN, _PINK, _SKY, _AMBER)
_MOST = 256
_LIGHTNESS = (0.35, 0.9)  # neither black nor white, which are those of images and of no label


def choose_colors(n_labels: int) -> NDArray[np.uint8]:
    """Colours that differ, (n_labels, 3): red, green and blue of each label.

    Each colour is as far as possible from those before, to the eye.

    Parameters
    ----------
    n_labels : int
        Number of labels, at most 256.

    Examples
    --------
    >>> from posterity import vision
    >>> vision.choose_colors(2)
    array([[  0, 114, 178],
           [213,  94,   0]], dtype=uint8)
    """
    known = _spread_colors()
    if not 0 <= n_labels <= len(known):
        raise ValueError(f"There are colours for 0 to {len(known)} labels, not for {n_labels}.")
    return known[:n_labels].copy()


@functools.cache
def _spread_colors() -> NDArray[np.uint8]:
    """Begin with the first; then take, again and again, the colour furthest from those taken."""
    start = np.array(_FIRST, dtype=np.uint8)
    levels = np.arange(0, 256, 15, dtype=np.uint8)
    every = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1).reshape(-1, 3)
    places = find_lab(every)
    fits = (places[:, 0] > _LIGHTNESS[0]) & (places[:, 0] < _LIGHTNESS[1])
    every, places = every[fits], places[fits]
    gap = np.full(len(every), np.inf)
    for taken in find_lab(start):
        gap = np.minimum(gap, np.linalg.norm(places - taken, axis=1))
    chosen = list(start)
    while len(chosen) < _MOST:
        best = int(np.argmax(gap))
        chosen.append(every[best])
        gap = np.minimum(gap, np.linalg.norm(places - places[best], axis=1))
    return np.array(chosen)


def find_lab(colors: NDArray[np.uint8]) -> Array:
    """OKLab coordinates (n, 3) of colours (n, 3): lightness from 0 to 1, and two of hue.

    Examples
    --------
    >>> import numpy as np
    >>> find_lab(np.array([[255, 0, 0]], dtype=np.uint8)).round(3)  # red
    array([[0.628, 0.225, 0.126]])
    """
    share = colors.astype(np.float64) / 255.0
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    return np.asarray(np.cbrt(linear @ _CONES.T) @ _OPPONENTS.T)


_NUMBERS = {"1", "L", "P", *images.WIDE} - {"F"}


def read_label_map(path: str | os.PathLike[str]) -> NDArray[np.int64]:
    """Read the labels of an image file: gray values or numbers of a palette.

    Parameters
    ----------
    path : str or path
        Image file.

    Returns
    -------
    array (H, W) of int64
        Numbers; or red, green and blue (H, W, 3) of a file in colour without palette.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from posterity.vision import read_label_map, write_label_map
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "labels.png"
    >>> write_label_map(place, np.array([[0, 2]]))
    >>> read_label_map(place)
    array([[0, 2]])
    """
    return images.decode_file(path, _decode_numbers).astype(np.int64)


def write_label_map(
    path: str | os.PathLike[str], labels: ArrayLike, colors: ArrayLike | None = None
) -> None:
    """Write labels as a PNG file whose pixels are their numbers, shown in colours.

    Parameters
    ----------
    path : str or path
        File to write; its name ends in ``.png``.
    labels : array (H, W) of int
        Numbers from 0 to 255, or up to 65535 without colours.
    colors : array (C, 3) of uint8, optional
        Red, green and blue of the labels 0 to C - 1. None: :func:`choose_colors`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from posterity.vision import read_image, write_label_map
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "labels.png"
    >>> write_label_map(place, np.array([[1]]), colors=[[0, 0, 0], [60, 180, 75]])
    >>> read_image(place, "color")
    array([[[ 60, 180,  75]]], dtype=uint8)
    """
    place, pillow = files.check_path(path), images.import_pillow()
    if place.suffix.lower() != ".png":
        raise ValueError(f"{place} must end in .png, since other formats change labels.")
    numbers = np.asarray(labels)
    if numbers.ndim != 2 or numbers.dtype.kind not in "iu" or not numbers.size:
        raise ValueError(
            f"Labels are an array (H, W) of whole numbers, not {numbers.dtype} of shape "
            f"{numbers.shape}."
        )
    low, high = int(numbers.min()), int(numbers.max())
    if low < 0 or high > 65535:
        raise ValueError(f"Labels in a file lie between 0 and 65535, not {low} and {high}.")
    if high > 255:
        picture = pillow.fromarray(numbers.astype(np.uint16))
    else:
        picture = pillow.fromarray(numbers.astype(np.uint8))
        picture.putpalette(_complete_palette(colors).tobytes())
    with files.replace_atomically(place) as file:
        picture.save(file, format="PNG")


def _complete_palette(colors: ArrayLike | None) -> Pixels:
    """256 colours that begin with those given."""
    palette = choose_colors(256)
    if colors is not None:
        given = np.asarray(colors, dtype=np.uint8).reshape(-1, 3)
        palette[: len(given)] = given
    return palette


def _decode_numbers(image: Any) -> NDArray[Any]:
    if image.mode in _NUMBERS:
        return np.asarray(image)
    return np.asarray(image.convert("RGB"))


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
            name, numbers = str(given), read_label_map(given)
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
