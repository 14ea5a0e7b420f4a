"""Arguments and options of ``posterity vision body-parts``, and what their texts mean."""

from typing import Annotated

import typer

from posterity.cli.options import FILES

_READING = "Reading depth"


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


DepthInputs = Annotated[
    list[str],
    typer.Argument(
        help="Depth images, and folders of them: PNG, TIFF or PGM of 16 bits, or arrays of NumPy "
        "(.npy). Pixels without a reading, and the background, are 0.",
        show_default=False,
        metavar="FILES...",
    ),
]
PartModel = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="BodyPartForest saved by posterity.save. Default: the model that comes with the "
        "package.",
        show_default=False,
    ),
]
DepthUnit = Annotated[
    str | None,
    typer.Option(
        "--depth-unit",
        metavar="UNIT",
        help="mm, cm, m, or a size in metres such as 0.0002. Default: mm for whole numbers, m for "
        "floating-point numbers.",
        rich_help_panel=_READING,
        show_default=False,
    ),
]
Near = Annotated[
    float,
    typer.Option(
        "--near",
        min=0.0,
        metavar="METRES",
        help="Ignore what is nearer.",
        rich_help_panel=_READING,
    ),
]
Far = Annotated[
    float,
    typer.Option(
        "--far",
        min=0.0,
        metavar="METRES",
        help="Ignore what is further away, such as the wall behind a person.",
        rich_help_panel=_READING,
    ),
]
FieldOfView = Annotated[
    float | None,
    typer.Option(
        "--field-of-view",
        min=1.0,
        max=179.0,
        metavar="DEGREES",
        help="Angle between the left and right edges of images. Default: that of the model; Kinect "
        "has 58.6.",
        rich_help_panel=_READING,
        show_default=False,
    ),
]
MinJointProbability = Annotated[
    float,
    typer.Option(
        "--min-probability",
        min=0.0,
        max=1.0,
        help="Least probability of a joint: that it is within 10 cm.",
    ),
]
JointsOut = Annotated[
    str | None,
    typer.Option(
        "--out",
        "-o",
        help="File to write the joints to, .json or .csv; - writes CSV to standard output.",
        rich_help_panel=FILES,
        show_default=False,
    ),
]
LabelsOut = Annotated[
    str | None,
    typer.Option(
        "--labels",
        help="File to write the part of each pixel to, .png (numbers with a palette) or .npy; a "
        "folder if there are several images. Pixels without a part are 255.",
        rich_help_panel=FILES,
        show_default=False,
    ),
]
DrawParts = Annotated[
    str | None,
    typer.Option(
        "--draw",
        help="File to write a picture of parts, entropy and joints to; a folder if there are "
        "several images.",
        rich_help_panel=FILES,
        show_default=False,
    ),
]
