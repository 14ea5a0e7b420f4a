"""Arguments and options of ``posterity vision pose``."""

from typing import Annotated

import typer

from posterity.cli.options import FILES

MaskInputs = Annotated[
    list[str],
    typer.Argument(
        help="Masks of one person each, white on black or opaque on transparent, and folders of "
        "them. With --video: one folder of frames.",
        show_default=False,
        metavar="FILES...",
    ),
]
PoseModel = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="SilhouettePose saved by posterity.save. The default is the model of the package.",
        show_default=False,
    ),
]
PoseVideo = Annotated[
    bool,
    typer.Option(
        "--video",
        help="The masks are successive frames in the order of their names, about 15 a second; "
        "each is judged by all.",
    ),
]
PosesOut = Annotated[
    str | None,
    typer.Option(
        "--out",
        "-o",
        help="File to write the joints to, .json or .csv; - writes CSV to standard output.",
        rich_help_panel=FILES,
        show_default=False,
    ),
]
DrawPoses = Annotated[
    str | None,
    typer.Option(
        "--draw",
        help="File to write a picture of mask and skeletons to; a folder if there are several.",
        rich_help_panel=FILES,
        show_default=False,
    ),
]
