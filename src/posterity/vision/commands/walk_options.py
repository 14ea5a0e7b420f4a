"""Options of ``posterity vision walk``."""

from typing import Annotated

import typer

from posterity.cli.options import FILES

Masks = Annotated[
    list[str] | None,
    typer.Option(
        "--mask",
        metavar="FOLDER",
        help="Folder of masks of a person, white on black, black on white or opaque, one for each "
        "frame, in the order of their names. Repeat it for several motions. Default: the mean "
        "cycle of the model.",
        show_default=False,
    ),
]
WalkModel = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="WalkingModel saved by posterity.save. Default: the model that comes with the "
        "package, of a person seen from the right side.",
        show_default=False,
    ),
]
WalkOut = Annotated[
    str,
    typer.Option(
        "--out",
        "-o",
        help="Output file; format from its extension: an animation (.svg, .gif), or a table of "
        "joints with standard deviations (.csv).",
        rich_help_panel=FILES,
    ),
]
Frames = Annotated[
    int,
    typer.Option("--frames", min=2, max=2000, help="Frames of a cycle, or of a random walk."),
]
Sample = Annotated[
    bool,
    typer.Option("--sample", help="Draw a walk at random instead of the mean cycle."),
]
Interval = Annotated[
    float | None,
    typer.Option(
        "--interval",
        min=0.001,
        metavar="SECONDS",
        help="Time between frames. Default: that of the frames the model was fitted to, and for "
        "the cycle its period over the number of frames.",
        show_default=False,
    ),
]
