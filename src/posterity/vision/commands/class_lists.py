"""Lists of classes: number, name and colour of each, as ``classes.txt`` states them.

A line is a name; the first line is class 0. If every line begins with a number, that is the number
of the class. A line may end in a colour such as #3cb44b. Classes called void are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from posterity import tables, vision

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
    >>> from posterity.vision.commands import class_lists
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "classes.txt"
    >>> _ = place.write_text("sky #4363d8\\nground #3cb44b\\nvoid\\n")
    >>> found = class_lists.read_class_list(place)
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
