"""Options that several commands of images share, and values that are read from their text."""

import math
import re
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from posterity.cli.options import Request, in_files

in_training = partial(typer.Option, rich_help_panel="Training")
in_reading = partial(typer.Option, rich_help_panel="Reading depth")

Folder = Annotated[str | None, typer.Option(metavar="DIR")]
Model = Annotated[str | None, typer.Option("--model", "-m")]
Out = Annotated[str | None, in_files("--out", "-o")]
ModelOut = Annotated[str, in_files("--out", "-o")]
OutFile = Annotated[str | None, in_files()]
Metres = Annotated[float, in_reading(min=0.0, metavar="METRES")]
Video = Annotated[bool, typer.Option("--video")]
Positive = Annotated[int, in_training(min=1)]
TenOrMore = Annotated[int, in_training(min=10)]
Jobs = Annotated[int | None, typer.Option(min=1, help="Number of threads. Default: all cores.")]

_OPENCV_HELP = (
    "Cascade of OpenCV instead of a model. It has no probabilities: boxes of at least three "
    "windows are found, as by OpenCV's default."
)
_MIN_SIZE_HELP = "Least height of a box. Default: that of the window, as trained."
_PRIOR_HELP = (
    "Share of candidate boxes that show an object in your images; changes all probabilities. "
    "Default: as in the images that the probabilities were learned from."
)
_BOXES_HELP = (
    "Known boxes: a table with the columns image, x, y, w, h and optionally label, or a COCO file "
    "(.json)."
)
_LABELS_HELP = (
    "Folder of labels: for each image a picture of the same name up to the suffix, whose gray "
    "values or palette are numbers of classes."
)
_CLASSES_HELP = (
    "Names of the classes, one per line from 0, each with an optional colour such as #3cb44b. "
    "Default: classes.txt in the folder of labels, or above it, if there is one."
)
_VOID_HELP = "Number of pixels that are left out; may be given several times."
OpenCV = Annotated[str | None, typer.Option(metavar="XML", help=_OPENCV_HELP)]
MinSize = Annotated[float | None, typer.Option(min=1.0, metavar="PIXELS", help=_MIN_SIZE_HELP)]
Prior = Annotated[float | None, typer.Option(min=1e-6, max=1.0 - 1e-6, help=_PRIOR_HELP)]
Boxes = Annotated[str | None, typer.Option(help=_BOXES_HELP)]
Label = Annotated[
    str | None, typer.Option(help="Use only boxes with this label. Default: all boxes.")
]
_labels = typer.Option(metavar="DIR", help=_LABELS_HELP)
Labels = Annotated[str, _labels]
KnownLabels = Annotated[str | None, _labels]
ClassFile = Annotated[str | None, typer.Option(metavar="FILE", help=_CLASSES_HELP)]
Void = Annotated[list[int], typer.Option(min=0, help=_VOID_HELP)]
NO_LABEL: Any = (255,)  # a default that no one can change


class PictureRequest(Request):
    """Pictures to work on, one after the other."""

    inputs: Annotated[list[str], typer.Argument(metavar="FILES...")]

    @property
    def is_single(self) -> bool:
        """Whether there is one picture, for which files are written and not folders."""
        return len(self.inputs) == 1 and not Path(self.inputs[0]).is_dir()


def parse_window(text: str) -> tuple[int, int]:
    """Parse a height and a width such as 24x24."""
    match = re.fullmatch(r"(\d{1,4})\s*[x,]\s*(\d{1,4})", text.strip().lower())
    if not match:
        raise typer.BadParameter(f"{text!r} is not a height and a width; use, for example, 24x24.")
    return int(match[1]), int(match[2])


def parse_inset(text: str) -> tuple[float, float, float, float]:
    """Parse the four fractions of a patch around the window: top, left, bottom, right."""
    try:
        parts = tuple(float(part) for part in text.split(","))
    except ValueError:
        parts = ()
    if len(parts) == 1:
        parts *= 4
    if len(parts) != 4 or not all(0.0 <= part < 0.5 for part in parts):
        raise typer.BadParameter(
            f"{text!r} is not a fraction below 0.5, or four of them for top, left, bottom, right, "
            "such as 0.1,0.1,0.1,0.1."
        )
    top, left, bottom, right = parts
    return top, left, bottom, right


def parse_unit(text: str | None) -> str | float | None:
    """Parse a unit of depth: its name, or its size in metres."""
    if text is None or text in ("mm", "cm", "m"):
        return text
    try:
        size = float(text)
    except ValueError:
        size = 0.0
    if not 0.0 < size < 1000.0:
        raise typer.BadParameter(
            f"{text!r} is not a unit of depth; use mm, cm, m, or its size in metres such as 0.0002."
        )
    return size


def parse_box(text: str) -> tuple[float, float, float, float]:
    """Parse left, top, width and height such as 120,80,64,64, and return the corners.

    Examples
    --------
    >>> from posterity.vision.commands import options
    >>> options.parse_box("120,80,64,48")
    (120.0, 80.0, 184.0, 128.0)
    """
    try:
        x, y, width, height = (float(part) for part in text.split(","))
    except ValueError:
        x = y = width = height = math.nan
    if not (math.isfinite(x + y) and 0.0 < width < math.inf and 0.0 < height < math.inf):
        raise typer.BadParameter(
            f"--box {text!r} is not left, top, width and height in pixels; use, for example, "
            "--box 120,80,64,64."
        )
    return x, y, x + width, y + height
