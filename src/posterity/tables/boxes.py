"""Read boxes of objects in images: tables with an image and four numbers per row, or COCO files."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from posterity import files
from posterity.arrays import Array
from posterity.tables.columns import CellError, TableError
from posterity.tables.sources import open_source

_IMAGE, _LABEL = "image", "label"
_SIZES = ("x", "y", "w", "h")
_CORNERS = ("x0", "y0", "x1", "y1")


@dataclass(frozen=True, eq=False)
class LabelledImage:
    """The name of an image and the boxes of the objects in it.

    Parameters
    ----------
    name : str
        Path of the image as the file gives it.
    boxes : array of shape (n, 4)
        Left, top, right and bottom of each object, in pixels.
    labels : tuple of n str
        Label of each object; empty strings if the file has no labels.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import tables
    >>> tables.LabelledImage("a.png", np.array([[1.0, 2.0, 11.0, 22.0]]), ("disc",)).name
    'a.png'
    """

    name: str
    boxes: Array
    labels: tuple[str, ...]


def read_boxes(
    path: str | os.PathLike[str], *, label: str | None = None
) -> tuple[LabelledImage, ...]:
    """Read the boxes of objects in images from a table or a COCO file.

    Parameters
    ----------
    path : str or path
        A table of any format that ``open_source`` reads, with the columns ``image``, ``x``,
        ``y``, ``w`` and ``h``, or ``x0``, ``y0``, ``x1`` and ``y1`` instead of the last four, and
        optionally ``label``; a row without numbers names an image without objects. Or a COCO file,
        whose name ends in ``.json``; annotations of crowds are left out.
    label : str, optional
        Read only boxes with this label; images without such boxes stay.

    Returns
    -------
    tuple of LabelledImage
        Images in the order in which the file names them first.

    Raises
    ------
    TableError
        If the file cannot be used, in a sentence that names the file, the row and the column.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from posterity import tables
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "boxes.csv"
    >>> _ = path.write_text("image,x,y,w,h\\na.png,1,2,10,20\\na.png,30,2,10,20\\nb.png,,,,\\n")
    >>> a, b = tables.read_boxes(path)
    >>> a.boxes
    array([[ 1.,  2., 11., 22.],
           [30.,  2., 40., 22.]])
    >>> b.name, len(b.boxes)
    ('b.png', 0)
    """
    place = files.check_path(path)
    is_coco = place.suffix.lower() == ".json"
    rows = _read_coco(place) if is_coco else _read_rows(place)
    found: dict[str, list[tuple[tuple[float, ...], str]]] = {}
    known: set[str] = set()
    for name, box, own in rows:
        boxes = found.setdefault(name, [])
        if box is not None:
            known.add(own)
            if label is None or own == label:
                boxes.append((box, own))
    if label is not None and label not in known:
        raise TableError(
            f"{place}: no box has the label {label!r}. Labels are "
            f"{', '.join(repr(one) for one in sorted(known)[:10])}."
        )
    return tuple(
        LabelledImage(
            name,
            np.array([box for box, _ in boxes], dtype=np.float64).reshape(-1, 4),
            tuple(own for _, own in boxes),
        )
        for name, boxes in found.items()
    )


_Row = tuple[str, tuple[float, ...] | None, str]


def _read_rows(place: os.PathLike[str]) -> Iterator[_Row]:
    """Yield image, box and label of each row of a table."""
    source = open_source(place)
    columns = _find_columns(place, source.columns)
    has_label = _LABEL in source.columns
    n_above = 0
    for batch in source.batches():
        for row, cells in enumerate(batch.iter_rows(named=True), start=n_above + 1):
            try:
                name, box = _read_row(row, cells, columns)
            except CellError as error:
                raise TableError(f"{place}: {error}") from None
            yield name, box, str(cells[_LABEL] or "").strip() if has_label else ""
        n_above += len(batch)


def _find_columns(place: os.PathLike[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the four columns of numbers."""
    for columns in (_SIZES, _CORNERS):
        if all(name in names for name in (_IMAGE, *columns)):
            return columns
    raise TableError(
        f"{place} must have the columns image, x, y, w and h, or image, x0, y0, x1 and y1; its "
        f"columns are {', '.join(repr(name) for name in names)}."
    )


def _read_row(
    row: int, cells: Mapping[str, Any], columns: tuple[str, ...]
) -> tuple[str, tuple[float, ...] | None]:
    name = str(cells[_IMAGE] or "").strip()
    if not name:
        raise CellError(row, _IMAGE, "the name of the image is missing.")
    if all(cells[column] in (None, "") for column in columns):
        return name, None
    numbers = [_read_number(row, column, cells[column]) for column in columns]
    if columns == _SIZES:
        numbers[2:] = numbers[0] + numbers[2], numbers[1] + numbers[3]
    for low, high in ((0, 2), (1, 3)):
        if not numbers[high] > numbers[low]:
            what = "size must be positive" if columns == _SIZES else "end must exceed the start"
            raise CellError(row, columns[high], f"{cells[columns[high]]!r}: the {what}.")
    return name, tuple(numbers)


def _read_number(row: int, column: str, cell: Any) -> float:
    try:
        number = float(cell)
    except (TypeError, ValueError):
        number = math.nan
    if math.isfinite(number):
        return number
    shown = "an empty cell" if cell in (None, "") else repr(cell)
    raise CellError(row, column, f"{shown} is not a number.")


def _read_coco(place: os.PathLike[str]) -> Iterator[_Row]:
    """Yield every image of a COCO file, then image, box and label of each annotation."""
    told = _parse_json(place)
    try:
        names = {image["id"]: str(image["file_name"]) for image in told["images"]}
        labels = {kind["id"]: str(kind["name"]) for kind in told.get("categories", ())}
        annotations = list(told["annotations"])
    except (KeyError, TypeError, AttributeError) as error:
        raise TableError(
            f"{place} is not a COCO file: it must have the lists 'images', with 'id' and "
            f"'file_name', and 'annotations' ({type(error).__name__}: {error})."
        ) from None
    for name in names.values():
        yield name, None, ""
    for k, annotation in enumerate(annotations):
        if isinstance(annotation, Mapping) and annotation.get("iscrowd"):
            continue
        try:
            name = names[annotation["image_id"]]
            x, y, w, h = (float(number) for number in annotation["bbox"])
            if not (w > 0.0 and h > 0.0 and math.isfinite(x + y + w + h)):
                raise ValueError("width and height must be positive")
        except (KeyError, TypeError, ValueError) as error:
            raise TableError(
                f"{place}: annotation {k + 1} needs the 'image_id' of a listed image and a 'bbox' "
                f"of left, top, width and height ({type(error).__name__}: {error})."
            ) from None
        yield name, (x, y, x + w, y + h), labels.get(annotation.get("category_id"), "")


def _parse_json(place: os.PathLike[str]) -> Any:
    try:
        with open(place, encoding="utf-8-sig") as file:
            return json.load(file)
    except FileNotFoundError:
        raise TableError(f"There is no file {place}; check the name.") from None
    except (ValueError, RecursionError) as error:
        raise TableError(f"{place} is not a JSON file: {error}.") from None
