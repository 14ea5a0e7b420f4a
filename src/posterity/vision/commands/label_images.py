"""Read images with a label for every pixel: two folders, and a list of classes.

An image and the picture of its labels have the same name up to the suffix. Labels are numbers of
classes: gray values, numbers of a palette, or colours that ``classes.txt`` names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from posterity import tables, vision
from posterity.vision.commands import class_lists, reading
from posterity.vision.commands.class_lists import ClassList
from posterity.vision.integrals import Pixels

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
    names : list of str
        Paths of the images.
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
    names: list[str] = field(default_factory=list)
    images: list[Pixels] = field(default_factory=list)
    labels: list[NDArray[np.int32]] = field(default_factory=list)
    n_failed: int = 0
    n_bytes: int = 0

    def add(self, name: str, image: Pixels, labels: NDArray[np.int32]) -> None:
        """Take up an image; refuse more of them than memory has room for."""
        self.names.append(name)
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
    known = class_lists.find_class_list(classes, label_folder)
    reader = LabelReader.from_classes(known, void)
    found, work = LabelledImages(known), reading.ImageReading()
    places = pair_places(folder, label_folder)
    for place, image, labels in work.read_all(reader.read, places, "Reading images"):
        if (labels != VOID).any():
            found.add(str(place.image), image, labels)
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
