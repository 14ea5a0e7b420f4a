"""Arguments and options of ``posterity vision``, and what their texts mean."""

import enum
import re
from typing import Annotated

import typer

from posterity.cli.options import FILES

_TRAINING = "Training"


class Channels(enum.StrEnum):
    """What windows of an image show."""

    GRAY = "gray"
    MOTION = "motion"
    DIFFERENCES = "differences"


def parse_window(text: str | tuple[int, int]) -> tuple[int, int]:
    """Parse a height and a width such as 24x24."""
    match = re.fullmatch(r"(\d{1,4})\s*[x,]\s*(\d{1,4})", str(text).strip().lower())
    if not match:
        raise typer.BadParameter(f"{text!r} is not a height and a width; use, for example, 24x24.")
    return int(match[1]), int(match[2])


def parse_inset(text: str | tuple[float, ...]) -> tuple[float, ...]:
    """Parse the four fractions of a patch around the window: top, left, bottom, right."""
    try:
        parts = tuple(float(part) for part in str(text).split(","))
    except ValueError:
        parts = ()
    if len(parts) == 1:
        parts *= 4
    if len(parts) != 4 or not all(0.0 <= part < 0.5 for part in parts):
        raise typer.BadParameter(
            f"{text!r} is not a fraction below 0.5, or four of them for top, left, bottom, right, "
            "such as 0.1,0.1,0.1,0.1."
        )
    return parts


Inputs = Annotated[
    list[str],
    typer.Argument(
        help="Images, and folders whose images are searched. With --video: one folder of frames, "
        "one animated file, or - for a stream of PGM or PPM images on standard input.",
        show_default=False,
        metavar="FILES...",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="Detector saved by train-detector. Default: the frontal faces that come with the "
        "package.",
        show_default=False,
    ),
]
OpenCV = Annotated[
    str | None,
    typer.Option(
        "--opencv",
        metavar="XML",
        help="Cascade of OpenCV instead of a model. It has no probabilities: boxes of at least "
        "three windows are found, as by OpenCV's default.",
        show_default=False,
    ),
]
MinProbability = Annotated[
    float | None,
    typer.Option(
        "--min-probability",
        min=0.0,
        max=1.0,
        help="Least probability of a box. Default: 0.5.",
        show_default=False,
    ),
]
MinSize = Annotated[
    float | None,
    typer.Option(
        "--min-size",
        min=1.0,
        metavar="PIXELS",
        help="Least height of a box. Default: that of the window, as trained.",
        show_default=False,
    ),
]
Prior = Annotated[
    float | None,
    typer.Option(
        "--prior",
        min=1e-6,
        max=1.0 - 1e-6,
        help="Share of candidate boxes that show an object in your images; changes all "
        "probabilities. Default: as in the images that the probabilities were learned from.",
        show_default=False,
    ),
]
Video = Annotated[
    bool,
    typer.Option("--video", help="The input is a sequence of frames in order."),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", min=1, help="Number of threads. Default: all cores.", show_default=False
    ),
]
BoxesOut = Annotated[
    str | None,
    typer.Option(
        "--out",
        "-o",
        help="File to write the boxes to, .json or .csv; - writes CSV to standard output.",
        rich_help_panel=FILES,
        show_default=False,
    ),
]
Draw = Annotated[
    str | None,
    typer.Option(
        "--draw",
        help="File to write the image with its boxes to; a folder if there are several images.",
        rich_help_panel=FILES,
        show_default=False,
    ),
]
Boxes = Annotated[
    str | None,
    typer.Option(
        "--boxes",
        help="Known boxes: a table with the columns image, x, y, w, h and "
        "optionally label, or a COCO file (.json).",
        show_default=False,
    ),
]
Images = Annotated[
    str | None,
    typer.Option(
        "--images",
        metavar="DIR",
        help="Folder that the names of images in --boxes are relative to. Default: that of the "
        "file of boxes.",
        show_default=False,
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        "--label", help="Use only boxes with this label. Default: all boxes.", show_default=False
    ),
]
Patches = Annotated[
    str | None,
    typer.Option(
        "--patches",
        metavar="DIR",
        help="Folder of images that an object fills, all cut in the same way.",
        show_default=False,
    ),
]
Scenes = Annotated[
    str | None,
    typer.Option(
        "--scenes",
        metavar="DIR",
        help="Folder of images without objects. With --boxes optional: what lies outside of the "
        "boxes is used too.",
        show_default=False,
    ),
]
DetectorOut = Annotated[
    str,
    typer.Option("--out", "-o", help="File to save the detector to.", rich_help_panel=FILES),
]
Checkpoint = Annotated[
    str | None,
    typer.Option(
        "--checkpoint",
        metavar="FILE",
        help="File that holds the unfinished detector after every round. Default: the name of "
        "--out with .checkpoint. It is removed at the end.",
        rich_help_panel=FILES,
        show_default=False,
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on from the checkpoint, with the same data and options.",
        rich_help_panel=FILES,
    ),
]
Window = Annotated[
    str,
    typer.Option(
        "--window",
        metavar="HxW",
        help="Height and width of windows in pixels: the smallest size at which an object can be "
        "recognised.",
        rich_help_panel=_TRAINING,
    ),
]
Inset = Annotated[
    str,
    typer.Option(
        "--inset",
        metavar="FRACTIONS",
        help="Parts of a patch around the window: one fraction, or top, left, bottom and right.",
        rich_help_panel=_TRAINING,
    ),
]
ChannelsOption = Annotated[
    Channels,
    typer.Option(
        "--channels",
        help="What windows show: gray values, two frames and their differences (motion), or the "
        "differences alone. Two frames need --boxes.",
        rich_help_panel=_TRAINING,
    ),
]
Trees = Annotated[
    int, typer.Option("--trees", min=1, help="Number of trees.", rich_help_panel=_TRAINING)
]
Features = Annotated[
    int,
    typer.Option(
        "--features", min=1, help="Features drawn for each tree.", rich_help_panel=_TRAINING
    ),
]
Variations = Annotated[
    int,
    typer.Option(
        "--variations",
        min=10,
        help="Number of varied patches: shifted, turned, scaled, of other contrast.",
        rich_help_panel=_TRAINING,
    ),
]
Background = Annotated[
    int,
    typer.Option(
        "--background",
        min=10,
        help="Number of windows without object that each search of the scenes adds.",
        rich_help_panel=_TRAINING,
    ),
]
Mirror = Annotated[
    bool,
    typer.Option(
        "--mirror/--no-mirror",
        help="Whether a mirrored object is an object.",
        rich_help_panel=_TRAINING,
    ),
]
DemoOut = Annotated[
    str,
    typer.Option(
        "--out",
        "-o",
        help="Folder for the page, its pictures, and files to try commands on.",
        rich_help_panel=FILES,
    ),
]
