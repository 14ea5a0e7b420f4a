"""Maps of labels as image files: one number per pixel, with a palette for the eye."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import files
from posterity.vision import images
from posterity.vision.integrals import Pixels
from posterity.vision.label_colors import choose_colors

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
