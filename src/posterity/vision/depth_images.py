"""Read depth images: whole numbers of 16 bits in image files, or arrays of NumPy.

Files are recognised by their contents, not by their names. Depths come out in metres, and pixels
without a reading as 0.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posterity import files
from posterity.vision import images
from posterity.vision.images import ImageError

UNITS = {"mm": 0.001, "cm": 0.01, "m": 1.0}
"""Names of units, in metres."""

SUFFIXES = frozenset({".npy", ".pgm", ".png", ".tif", ".tiff"})
"""Files of a folder that are depth images: those that can hold more than eight bits."""

_ARRAY, _ARCHIVE = b"\x93NUMPY", b"PK\x03\x04"  # how files of NumPy begin


def read_depth(
    path: str | os.PathLike[str],
    unit: str | float | None = None,
    *,
    most_pixels: int = images.MOST_PIXELS,
) -> NDArray[np.float32]:
    """Read a depth image.

    Parameters
    ----------
    path : str or path
        PNG, TIFF or PGM of 16 bits, TIFF of floating-point numbers, or an array (H, W) that
        ``numpy.save`` has written. Images are turned as their EXIF data say.
    unit : {"mm", "cm", "m"} or float, optional
        Unit of the numbers, or its size in metres. None: millimetres for whole numbers, metres for
        floating-point numbers.
    most_pixels : int
        Images with more pixels are refused.

    Returns
    -------
    array (H, W) of float32
        Metres; 0 where there is no reading: for zero, negative and infinite numbers, and NaN.

    Raises
    ------
    ImageError
        If the file is not a depth image, in a sentence that names it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from posterity.vision import read_depth
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "depth.npy"
    >>> np.save(place, np.array([[0, 1500, 2250]], dtype=np.uint16))
    >>> read_depth(place)
    array([[0.  , 1.5 , 2.25]], dtype=float32)
    """
    place, scale = files.check_path(path), _check_unit(unit)
    start = _read_start(place)
    if start.startswith(_ARRAY):
        values = _read_array(place, most_pixels)
    elif start.startswith(_ARCHIVE):
        raise ImageError(f"{place} is an archive; save one image with numpy.save as .npy.")
    else:
        values = _read_picture(place, unit, most_pixels)
    if scale is None:
        scale = 1.0 if values.dtype.kind == "f" else UNITS["mm"]
    return _scale_to_metres(values, scale)


def check_depth(depth: ArrayLike) -> NDArray[Any]:
    """Refuse what is not an array (H, W) of numbers.

    Examples
    --------
    >>> import numpy as np
    >>> check_depth(np.ones((2, 3, 4)))
    Traceback (most recent call last):
        ...
    ValueError: A depth image is an array (H, W) of metres, not float64 of shape (2, 3, 4).
    """
    image = np.asarray(depth)
    if image.ndim != 2 or not image.size or image.dtype.kind not in "fiu":
        raise ValueError(
            f"A depth image is an array (H, W) of metres, not {image.dtype} of shape {image.shape}."
        )
    return image


def _check_unit(unit: str | float | None) -> float | None:
    """Return the size of a unit in metres."""
    if unit is None:
        return None
    size = UNITS.get(unit) if isinstance(unit, str) else float(unit)
    if size is None or not 0.0 < size < np.inf:
        raise ValueError(f"unit={unit!r} must be 'mm', 'cm', 'm', or its size in metres.")
    return size


def _read_start(place: Path) -> bytes:
    try:
        with place.open("rb") as file:
            return file.read(8)
    except OSError as error:
        raise ImageError(f"{place} cannot be read: {error.strerror}.") from error


def _read_array(place: Path, most_pixels: int) -> NDArray[Any]:
    """Map a file of NumPy into memory, check what its header says, and only then copy it."""
    try:
        mapped = np.load(place, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError, SyntaxError, OverflowError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise ImageError(f"{place} cannot be read as an array of NumPy: {reason}.") from error
    if mapped.ndim == 3 and mapped.shape[2] == 1:
        mapped = mapped[:, :, 0]
    if mapped.ndim == 3:
        raise ImageError(
            f"{place} has the shape {mapped.shape}: a file holds one image (H, W); save each with "
            "numpy.save."
        )
    if mapped.ndim != 2 or not mapped.size or mapped.dtype.kind not in "fiu":
        raise ImageError(
            f"{place} is an array of {mapped.dtype} of shape {mapped.shape}, not an image (H, W) "
            "of numbers."
        )
    if mapped.size > most_pixels:
        height, width = mapped.shape
        raise ImageError(
            f"{place} has {width} x {height} pixels, more than the {most_pixels:,} that are read."
        )
    return np.array(mapped)


def _read_picture(place: Path, unit: str | float | None, most_pixels: int) -> NDArray[Any]:
    def decode(image: Any) -> NDArray[Any]:
        is_gray = image.mode in images.WIDE or (image.mode == "L" and unit is not None)
        if not is_gray:
            raise ImageError(_describe_mode(place, image.mode))
        return np.asarray(image)

    return images.decode_file(place, decode, most_pixels=most_pixels)


def _describe_mode(place: Path, mode: str) -> str:
    if mode == "L":
        return (
            f"{place} has 8 bits for each pixel, which is too few for depth in millimetres. If its "
            "gray values are depths, give their unit."
        )
    return f"{place} is a colour image, not depth: depth has one number of 16 bits for each pixel."


def _scale_to_metres(values: NDArray[Any], scale: float) -> NDArray[np.float32]:
    with np.errstate(over="ignore", invalid="ignore"):
        depth = (scale * values.astype(np.float64)).astype(np.float32)
        known = np.isfinite(depth) & (depth > 0.0)
    return np.where(known, depth, np.float32(0.0))
