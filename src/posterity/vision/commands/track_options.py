"""Arguments and options of ``posterity vision track``, and what their texts mean."""

import math
from typing import Annotated

import typer

from posterity.cli.options import FILES


def parse_box(text: str) -> tuple[float, float, float, float]:
    """Parse left, top, width and height such as 120,80,64,64, and return the corners.

    Examples
    --------
    >>> from posterity.vision.commands import track_options
    >>> track_options.parse_box("120,80,64,48")
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


Source = Annotated[
    str,
    typer.Argument(
        help="Folder of frames in the order of their names, an animated file (GIF, WebP, PNG, "
        "TIFF), or - for a stream of PGM or PPM images on standard input.",
        show_default=False,
        metavar="FRAMES",
    ),
]
Box = Annotated[
    str,
    typer.Option(
        "--box",
        metavar="X,Y,W,H",
        help="Left, top, width and height of the object in the first frame, in pixels.",
        show_default=False,
    ),
]
TrackOut = Annotated[
    str | None,
    typer.Option(
        "--out",
        "-o",
        help="File to write the track to, .json or .csv; - writes CSV to standard output.",
        rich_help_panel=FILES,
        show_default=False,
    ),
]
TrackDraw = Annotated[
    str | None,
    typer.Option(
        "--draw",
        help="Folder to write the frames with box and 90 % ellipse to, or an animation, .gif.",
        rich_help_panel=FILES,
        show_default=False,
    ),
]
