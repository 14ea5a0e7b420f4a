"""Arguments and options of ``train-patches`` and ``classify-patches``."""

from typing import Annotated

import typer

from posterity.cli.options import FILES

PatchFolder = Annotated[
    str,
    typer.Argument(
        help="Folder with one subfolder of images for each class, named after the class.",
        show_default=False,
        metavar="FOLDER",
    ),
]
PatchInputs = Annotated[
    list[str],
    typer.Argument(
        help="Images that show one thing each, and folders of them.",
        show_default=False,
        metavar="FILES...",
    ),
]
PatchModel = Annotated[
    str,
    typer.Option("--model", "-m", help="Classifier saved by train-patches.", metavar="FILE"),
]
PatchModelOut = Annotated[
    str,
    typer.Option(
        "--out", "-o", help="File of the classifier.", metavar="FILE", rich_help_panel=FILES
    ),
]
Size = Annotated[
    str, typer.Option("--size", help="Height and width to which images are brought.", metavar="HxW")
]
HoldOut = Annotated[
    float,
    typer.Option(
        "--hold-out",
        help="Share of the images of each class that the classifier is first tested on.",
        min=0.0,
        max=0.5,
    ),
]
ClassesOut = Annotated[
    str | None,
    typer.Option(
        "--out",
        "-o",
        help="Output file, .csv or .json; - writes CSV to standard output.",
        metavar="FILE",
        rich_help_panel=FILES,
    ),
]
