"""Options of ``posterity vision evaluate``."""

from typing import Annotated

import typer

from posterity.cli.options import FILES

ScoredModel = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="Saved detector, segmenter, surface layout or patch classifier. Default: the detector "
        "of frontal faces that comes with the package.",
        show_default=False,
    ),
]
ScoredImages = Annotated[
    str | None,
    typer.Option(
        "--images",
        metavar="DIR",
        help="Folder of images. For a patch classifier it has one subfolder for each class; for a "
        "detector it is the folder that names in --boxes are relative to, by default that of the "
        "file of boxes.",
        show_default=False,
    ),
]
Overlap = Annotated[
    float,
    typer.Option(
        "--overlap",
        min=0.01,
        max=1.0,
        help="A box is right if it shares at least this part of its area with a known box "
        "(intersection over union).",
    ),
]
ScoresOut = Annotated[
    str | None,
    typer.Option(
        "--out",
        "-o",
        help="File to write the scores to: .json for all, .csv for the curve of a detector or the "
        "table of classes.",
        rich_help_panel=FILES,
        show_default=False,
    ),
]
ScoresDraw = Annotated[
    str | None,
    typer.Option(
        "--draw",
        help="File to write a picture of the scores and the reliability to, such as scores.png.",
        rich_help_panel=FILES,
        show_default=False,
    ),
]
