"""Read images of any kind as arrays of bytes; say in a sentence why one cannot be read.

Files are recognised by their contents, not by their names. Pictures are turned as their EXIF data
say, the first frame of an animation counts, transparent parts are white, and sixteen bits become
eight. What the header promises is checked before memory is taken.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import files
from posterity.vision.integrals import Pixels

MOST_PIXELS = 80_000_000
"""Pixels of an image that are read unless more are asked for: 240 MB in colour."""

_KINDS = ("avif", "bmp", "gif", "jp2", "jpe", "jpeg", "jpg", "mpo", "pbm", "pgm", "png", "pnm")
SUFFIXES = frozenset(f".{kind}" for kind in (*_KINDS, "ppm", "tif", "tiff", "webp"))
# Formats that Pillow decodes by itself: others start programs, such as Ghostscript.
_FORMATS = ("AVIF", "BMP", "DIB", "GIF", "JPEG", "JPEG2000", "MPO", "PNG", "PPM", "TIFF", "WEBP")
_MODES = ("gray", "color")
WIDE = ("I", "F", "I;16", "I;16B", "I;16L", "I;16N")  # modes with more than eight bits
_ALPHA = ("LA", "La", "PA", "RGBA", "RGBa")


class ImageError(ValueError):
    """An image that cannot be read, with a sentence that names the file.

    Examples
    --------
    >>> from posterity.vision import ImageError
    >>> str(ImageError("a.png is empty."))
    'a.png is empty.'
    """


def read_image(
    path: str | os.PathLike[str], mode: str = "gray", *, most_pixels: int = MOST_PIXELS
) -> Pixels:
    """Read an image file.

    Parameters
    ----------
    path : str or path
        PNG, JPEG, GIF, TIFF, WebP, BMP, AVIF, JPEG 2000 or PNM, whatever its name is.
    mode : {"gray", "color"}
        Gray values (H, W), or red, green and blue (H, W, 3).
    most_pixels : int
        Images with more pixels are refused.

    Returns
    -------
    array of uint8

    Raises
    ------
    ImageError
        If the file is not a complete image, in a sentence that names it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from posterity.vision import read_image, write_image
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "two.png"
    >>> write_image(place, np.array([[0, 255]], dtype=np.uint8))
    >>> read_image(place)
    array([[  0, 255]], dtype=uint8)
    """
    if mode not in _MODES:
        raise ValueError(f"mode={mode!r} must be 'gray' or 'color'.")
    colors = decode_file(path, _decode, most_pixels=most_pixels)
    return to_gray(colors) if mode == "gray" else to_color(colors)


def load_image(image: Any, mode: str = "gray") -> Pixels:
    """Return an image from an array, or from the path of a file.

    Parameters
    ----------
    image : array, str or path
        As :func:`to_gray` or :func:`read_image` takes it.
    mode : {"gray", "color"}
        Gray values (H, W), or red, green and blue (H, W, 3).

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import images
    >>> images.load_image(np.array([[7]], dtype=np.uint8), "color").shape
    (1, 1, 3)
    """
    if isinstance(image, str | os.PathLike):
        return read_image(image, mode)
    return to_gray(image) if mode == "gray" else to_color(image)


def decode_file(
    path: str | os.PathLike[str],
    decode: Callable[[Any], NDArray[Any]],
    *,
    most_pixels: int = MOST_PIXELS,
) -> NDArray[Any]:
    """Return what a function makes of the first frame of a file, turned as EXIF says."""
    with open_file(path, most_pixels=most_pixels) as image:
        from PIL import ImageOps

        image.seek(0)
        return decode(ImageOps.exif_transpose(image))


@contextlib.contextmanager
def open_file(path: str | os.PathLike[str], *, most_pixels: int = MOST_PIXELS) -> Iterator[Any]:
    """Open an image file with Pillow, check its size, and say in a sentence what is wrong."""
    place, pillow = files.check_path(path), import_pillow()
    try:
        if place.stat().st_size == 0:
            raise ImageError(f"{place} is empty.")
        with pillow.open(place, formats=_list_formats(pillow)) as image:
            width, height = image.size
            if width * height > most_pixels:
                raise ImageError(_describe_size(place, width, height, most_pixels))
            yield image
    except (pillow.DecompressionBombError, pillow.DecompressionBombWarning) as error:
        raise ImageError(f"{place} has too many pixels: {error}") from error
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise ImageError(f"{place} cannot be read: {error.strerror}.") from error
    except (ImageError, MemoryError):
        raise
    except Exception as error:  # decoders raise whatever a broken file makes them raise
        raise ImageError(_describe_fault(place, error)) from error


def write_image(path: str | os.PathLike[str], image: Any) -> None:
    """Write an image file, in the format that its name says.

    Parameters
    ----------
    path : str or path
        File to write, such as ``out.png``.
    image : array (H, W) or (H, W, 3) of uint8
        Gray values, or red, green and blue.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from posterity.vision import read_image, write_image
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "gray.png"
    >>> write_image(place, np.full((3, 5), 128, dtype=np.uint8))
    >>> read_image(place, "color").shape
    (3, 5, 3)
    """
    place, pillow = files.check_path(path), import_pillow()
    pixels = to_pixels(image)
    kinds = pillow.registered_extensions()
    kind = kinds.get(place.suffix.lower())
    if kind is None or kind not in _FORMATS:
        raise ValueError(f"{place} must end in .png, .jpg or another image format.")
    with files.replace_atomically(place) as file:
        pillow.fromarray(np.ascontiguousarray(pixels)).save(file, format=kind)


def list_images(
    folder: str | os.PathLike[str], suffixes: frozenset[str] = SUFFIXES
) -> Iterator[Path]:
    """Image files of a folder and its subfolders, by name.

    Parameters
    ----------
    folder : str or path
        Folder to look through.
    suffixes : frozenset of str
        A file is an image if its suffix is one of these, in small letters.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from posterity.vision import list_images
    >>> place = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (place / "b.jpg").write_bytes(b""), (place / "a.txt").write_bytes(b"")
    >>> [path.name for path in list_images(place)]
    ['b.jpg']
    """
    for path in sorted(files.check_path(folder).rglob("*")):
        if path.suffix.lower() in suffixes and path.is_file():
            yield path


def to_gray(image: Any) -> Pixels:
    """Gray values of an image.

    Parameters
    ----------
    image : array (H, W), (H, W, 1), (H, W, 3) or (H, W, 4)
        Bytes, 16-bit integers, booleans, or floating-point numbers from 0 to 1; with four channels
        the last is opacity, over white.

    Returns
    -------
    array (H, W) of uint8

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import to_gray
    >>> to_gray(np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255]]], dtype=np.uint8))
    array([[ 76, 150,  29]], dtype=uint8)
    """
    pixels = to_pixels(image)
    if pixels.ndim == 2:
        return pixels
    red, green, blue = (pixels[:, :, k].astype(np.uint32) for k in range(3))
    return ((4899 * red + 9617 * green + 1868 * blue + 8192) >> 14).astype(np.uint8)


def to_color(image: Any) -> Pixels:
    """Red, green and blue of an image of the kinds that :func:`to_gray` takes, (H, W, 3).

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import to_color
    >>> to_color(np.array([[7]], dtype=np.uint8))
    array([[[7, 7, 7]]], dtype=uint8)
    """
    pixels = to_pixels(image)
    return np.repeat(pixels[:, :, None], 3, axis=2) if pixels.ndim == 2 else pixels


def to_pixels(image: Any) -> Pixels:
    """Bytes (H, W) or (H, W, 3) of an image of the kinds that :func:`to_gray` takes.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.vision import images
    >>> images.to_pixels(np.array([[0.0, 1.0]]))
    array([[  0, 255]], dtype=uint8)
    """
    array = np.asarray(image)
    channels = array.shape[2] if array.ndim == 3 else 1
    if array.ndim not in (2, 3) or channels not in (1, 3, 4) or 0 in array.shape:
        raise ValueError(
            "An image must be an array (height, width), or (height, width, 3) in colour, of at "
            f"least one pixel, not of the shape {array.shape}."
        )
    pixels = _scale_to_bytes(array)
    if pixels.ndim == 2 or channels == 3:
        return pixels
    return pixels[:, :, 0] if channels == 1 else _put_on_white(pixels)


def _scale_to_bytes(array: NDArray[Any]) -> Pixels:
    if array.dtype == np.uint8:
        return array
    if array.dtype == np.bool_:
        return array.astype(np.uint8) * np.uint8(255)
    if array.dtype == np.uint16:
        return ((array.astype(np.uint32) + 128) // 257).astype(np.uint8)
    if array.dtype.kind == "f" and np.all((array >= 0.0) & (array <= 1.0)):
        return np.rint(array * 255.0).astype(np.uint8)
    raise ValueError(
        f"An image must be of uint8, uint16, bool, or floats from 0 to 1, not {array.dtype}"
        + (" with other values." if array.dtype.kind == "f" else ".")
    )


def _put_on_white(pixels: Pixels) -> Pixels:
    opacity = pixels[:, :, 3:].astype(np.uint32)
    mixed = pixels[:, :, :3] * opacity + 255 * (255 - opacity)
    return ((mixed + 127) // 255).astype(np.uint8)


def import_pillow() -> Any:
    """Return the package that reads and writes files, or say how to install it."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(
            "Reading and writing image files requires Pillow: pip install 'posterity[vision]'."
        ) from error
    return Image


def import_skimage(name: str) -> Any:
    """Return a module of scikit-image, or say how to install it."""
    try:
        return importlib.import_module(f"skimage.{name}")
    except ImportError as error:
        raise ImportError(
            "Colours and segments of images require scikit-image: pip install 'posterity[vision]'."
        ) from error


def _list_formats(pillow: Any) -> list[str]:
    """The formats that this Pillow was built with."""
    pillow.init()
    return [name for name in _FORMATS if name in pillow.OPEN]


def _decode(image: Any) -> NDArray[Any]:
    """Gray or colour, at most 16 bits."""
    if image.mode in WIDE:
        return _narrow(np.asarray(image))
    if image.mode in ("1", "L"):
        return np.asarray(image.convert("L"))
    return np.asarray(image.convert("RGBA" if may_be_clear(image) else "RGB"))


def may_be_clear(image: Any) -> bool:
    """Return whether an image of Pillow has opacity."""
    return "transparency" in image.info or image.mode in _ALPHA


def _narrow(values: NDArray[Any]) -> NDArray[np.uint8] | NDArray[np.uint16]:
    """Eight bits where all values have room in them, and otherwise sixteen."""
    if values.dtype == np.uint16 or values.dtype.byteorder == ">":
        return values.astype(np.uint16)
    low, high = float(values.min()), float(values.max())
    if not (low >= 0.0 and high <= 65535.0):  # so that NaN is refused
        raise ValueError(f"its values lie between {low:g} and {high:g}, not within 16 bits")
    return np.rint(values).astype(np.uint8 if high <= 255.0 else np.uint16)


def _describe_size(place: Path, width: int, height: int, most: int) -> str:
    return (
        f"{place} has {width} x {height} pixels, more than the {most:,} that are read; make it "
        "smaller first, or allow more."
    )


def _describe_fault(place: Path, error: Exception) -> str:
    if type(error).__name__ == "UnidentifiedImageError":
        return f"{place} is not an image: its contents are not those of PNG, JPEG, TIFF or others."
    return f"{place} cannot be decoded as an image: {str(error).strip().rstrip('.')}."
