"""Read images with a label for every pixel: two folders, and a list of classes.

An image and the picture of its labels have the same name up to the suffix. Labels are numbers of
classes: gray values, numbers of a palette, or colours that ``classes.txt`` names. A line of that
list is a name; the first line is class 0. If every line begins with a number, that is the number
of the class. A line may end in a colour such as #3cb44b. Classes called void are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from posterity import tables, vision
from posterity.vision.commands import reading
from posterity.vision.integrals import Pixels

FILE_NAME = "classes.txt"
_VOID = frozenset({"void", "unknown", "unlabelled", "unlabeled", "ignore"})
_LINE = re.compile(r"(?:(\d+)[\s,:]+)?(.*?)(?:[\s,:]*#([0-9a-fA-F]{6}))?")
_MOST_CLASSES = 65_536

Color = tuple[int, int, int]


@dataclass(frozen=True)
class ClassList:
    """Names and colours of classes by their numbers.

    Attributes
    ----------
    names : dict of int to str
        Empty if there is no list: then numbers are names.
    colors : dict of int to (red, green, blue)
        Of the classes that have one.
    void : frozenset of int
        Numbers of classes that are left out.
    source : str
        File that it was read from.
    """

    names: dict[int, str] = field(default_factory=dict)
    colors: dict[int, Color] = field(default_factory=dict)
    void: frozenset[int] = frozenset()
    source: str = ""

    def find_numbers(self, colors: NDArray[np.int64], path: Path) -> NDArray[np.int64]:
        """Return the numbers (H, W) of the classes that have the colours (H, W, 3)."""
        if not self.colors:
            raise vision.ImageError(
                f"{path} is in colour, and no {FILE_NAME} says which class has which colour: name "
                "the classes one per line, each with its colour such as #3cb44b."
            )
        packed = _pack(colors)
        known = sorted((_pack(np.array(color)), k) for k, color in self.colors.items())
        keys = np.array([key for key, _ in known])
        at = np.minimum(np.searchsorted(keys, packed), len(keys) - 1)
        unknown = np.argwhere(keys[at] != packed)
        if len(unknown):
            row, column = unknown[0]
            color = "#{:02x}{:02x}{:02x}".format(*colors[row, column])
            raise vision.ImageError(
                f"{path} has the colour {color} at row {row}, column {column}, which is not that "
                f"of a class of {self.source}."
            )
        numbers: NDArray[np.int64] = np.array([k for _, k in known])[at]
        return numbers

    def name_all(self, numbers: Sequence[int]) -> dict[int, str]:
        """Return the names of classes by number; the number where there is no name."""
        return {int(k): self.names.get(int(k), str(k)) for k in numbers}


def find_class_list(path: str | None, folder: str) -> ClassList:
    """Read a list of classes: the file named, or that in or above a folder, or an empty list."""
    if path is not None:
        return read_class_list(Path(path))
    for place in (Path(folder) / FILE_NAME, Path(folder).parent / FILE_NAME):
        if place.is_file():
            return read_class_list(place)
    return ClassList()


def read_class_list(path: Path) -> ClassList:
    """Read a list of classes.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from posterity.vision.commands import label_images
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "classes.txt"
    >>> _ = place.write_text("sky #4363d8\\nground #3cb44b\\nvoid\\n")
    >>> found = label_images.read_class_list(place)
    >>> found.names, found.colors[0], found.void
    ({0: 'sky', 1: 'ground', 2: 'void'}, (67, 99, 216), frozenset({2}))
    """
    lines = _read_lines(path)
    matches = [match for match in map(_LINE.fullmatch, lines) if match is not None]
    has_numbers = all(match[1] for match in matches)
    names: dict[int, str] = {}
    colors: dict[int, Color] = {}
    for k, (line, match) in enumerate(zip(lines, matches, strict=True)):
        number = int(match[1]) if has_numbers else k
        name = match[2] if has_numbers or not match[1] else f"{match[1]} {match[2]}"
        if not name or number in names or number >= _MOST_CLASSES:
            raise tables.TableError(_describe_fault(path, line, number, names))
        names[number] = name
        if match[3]:
            colors[number] = _parse_color(match[3])
    if len(set(colors.values())) < len(colors):
        raise tables.TableError(f"{path}: two classes have the same colour.")
    void = frozenset(k for k, name in names.items() if name.lower() in _VOID)
    return ClassList(names, colors, void, str(path))


def _read_lines(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise tables.TableError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise tables.TableError(f"{path} is not a text file of UTF-8.") from error
    lines = [line.strip() for line in text.rstrip().splitlines()]
    if not any(lines):
        raise tables.TableError(f"{path} names no class.")
    return lines


def _describe_fault(path: Path, line: str, number: int, names: dict[int, str]) -> str:
    if number in names:
        return f"{path}: {names[number]!r} and {line!r} have the same number {number}."
    if number >= _MOST_CLASSES:
        return f"{path}: the number of {line!r} is larger than {_MOST_CLASSES - 1}."
    return f"{path}: class {number} has no name; use one line for each class."


def _parse_color(digits: str) -> Color:
    red, green, blue = (int(digits[k : k + 2], 16) for k in (0, 2, 4))
    return red, green, blue


def _pack(colors: NDArray[np.int64]) -> NDArray[np.int64]:
    """Colours (..., 3) as one number each."""
    packed: NDArray[np.int64] = colors @ np.array([65_536, 256, 1])
    return packed


VOID = -1
"""Label of pixels that are left out, whatever their number in the files is."""

_MOST_BYTES = 6_000_000_000  # of all images and labels


class LabelledPlace(NamedTuple):
    """An image file, and the file of its labels."""

    image: Path
    labels: Path


@dataclass(eq=False)
class LabelledImages:
    """Images (H, W, 3) with labels (H, W), and what the labels mean.

    Attributes
    ----------
    images : list of arrays of uint8
        Red, green and blue.
    labels : list of arrays of int32
        Numbers of classes, and ``VOID``.
    classes : ClassList
        Names and colours by number.
    n_failed : int
        Number of images that could not be read and are left out.
    """

    classes: ClassList
    images: list[Pixels] = field(default_factory=list)
    labels: list[NDArray[np.int32]] = field(default_factory=list)
    n_failed: int = 0
    n_bytes: int = 0

    def add(self, image: Pixels, labels: NDArray[np.int32]) -> None:
        """Take up an image; refuse more of them than memory has room for."""
        self.images.append(image)
        self.labels.append(labels)
        self.n_bytes += image.nbytes + labels.nbytes
        if self.n_bytes > _MOST_BYTES:
            raise tables.TableError(
                f"The images and labels take more than {_MOST_BYTES:,} bytes; use fewer or "
                "smaller ones."
            )


@dataclass(frozen=True)
class LabelReader:
    """Reads an image and its labels, and checks that they belong together.

    Attributes
    ----------
    classes : ClassList
        Numbers that labels may have; any if it is empty.
    void : frozenset of int
        Numbers of pixels that are left out.
    """

    classes: ClassList
    void: frozenset[int]

    @classmethod
    def from_classes(cls, classes: ClassList, void: Sequence[int]) -> LabelReader:
        """Leave out classes that are called void, and numbers that are not those of classes."""
        return cls(classes, classes.void | frozenset(void) - classes.names.keys())

    def read(self, place: LabelledPlace) -> tuple[LabelledPlace, Pixels, NDArray[np.int32]]:
        """Read both files of a pair."""
        image = vision.read_image(place.image, "color")
        labels = self.read_labels(place.labels)
        if labels.shape != image.shape[:2]:
            raise vision.ImageError(
                f"{place.labels} has {_describe_size(labels.shape)} pixels, but its image "
                f"{place.image} has {_describe_size(image.shape)}."
            )
        return place, image, labels

    def read_labels(self, path: Path) -> NDArray[np.int32]:
        """Read the labels (H, W) of an image; pixels to leave out are ``VOID``."""
        numbers = vision.read_label_map(path)
        if numbers.ndim == 3:
            numbers = self.classes.find_numbers(numbers, path)
        is_void = np.isin(numbers, [*self.void])
        if self.classes.names:
            unknown = ~(np.isin(numbers, [*self.classes.names]) | is_void)
            if unknown.any():
                row, column = np.argwhere(unknown)[0]
                raise vision.ImageError(
                    f"{path} has the label {numbers[row, column]} at row {row}, column {column}, "
                    f"which is not a class of {self.classes.source}."
                )
        labels: NDArray[np.int32] = np.where(is_void, VOID, numbers).astype(np.int32)
        return labels


def read_labelled_images(
    folder: str, label_folder: str, *, classes: str | None = None, void: Sequence[int] = (255,)
) -> LabelledImages:
    """Read the images of a folder with the labels of another one.

    Parameters
    ----------
    folder, label_folder : str
        Folders of images, and of labels with the same names up to the suffix.
    classes : str, optional
        File of classes. None: ``classes.txt`` in the folder of labels, or above it, if there is
        one.
    void : sequence of int
        Numbers of pixels that are left out, beside classes that are called void.
    """
    known = find_class_list(classes, label_folder)
    reader = LabelReader.from_classes(known, void)
    found, work = LabelledImages(known), reading.ImageReading()
    places = pair_places(folder, label_folder)
    for _, image, labels in work.read_all(reader.read, places, "Reading images"):
        if (labels != VOID).any():
            found.add(image, labels)
    found.n_failed = work.n_failed
    if not found.images:
        raise tables.TableError(
            f"No image of {folder} with labels in {label_folder} can be learned from."
        )
    return found


def pair_places(folder: str, label_folder: str) -> list[LabelledPlace]:
    """Find the labels of each image, by name; images without labels are not listed.

    Raises
    ------
    TableError
        If a folder is missing or empty, if no names agree, or if two files claim a name.
    """
    found, labels = _list_by_name(folder, "images"), _list_by_name(label_folder, "labels")
    names = [name for name in found if name in labels]
    if not names:
        raise tables.TableError(
            f"No picture of labels in {label_folder} has the name of an image in {folder}, such as "
            f"{next(iter(found))}.png."
        )
    return [LabelledPlace(found[name], labels[name]) for name in names]


def _list_by_name(folder: str, contents: str) -> dict[str, Path]:
    """Images of a folder by their names without suffix, in order."""
    place = Path(folder)
    named: dict[str, Path] = {}
    for path in vision.list_images(place) if place.is_dir() else ():
        name = path.relative_to(place).with_suffix("").as_posix()
        if name in named:
            raise tables.TableError(
                f"{named[name]} and {path} have the same name; which one counts?"
            )
        named[name] = path
    if not named:
        raise tables.TableError(f"{folder} is not a folder with {contents}.")
    return named


def _describe_size(shape: tuple[int, ...]) -> str:
    return f"{shape[1]} x {shape[0]}"
