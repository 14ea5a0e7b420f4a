"""Options of the commands that label pixels."""

from typing import Annotated

import typer

from posterity.cli.options import FILES

_LABELS = typer.Option(
    "--labels",
    metavar="DIR",
    help="Folder of labels: for each image a picture of the same name up to the suffix, whose "
    "gray values or palette are numbers of classes.",
    show_default=False,
)

LabelledImages = Annotated[
    str,
    typer.Option("--images", metavar="DIR", help="Folder of images.", show_default=False),
]
Labels = Annotated[str, _LABELS]
KnownLabels = Annotated[str | None, _LABELS]
ClassFile = Annotated[
    str | None,
    typer.Option(
        "--classes",
        metavar="FILE",
        help="Names of the classes, one per line from 0, each with an optional colour such as "
        "#3cb44b. Default: classes.txt in the folder of labels, or above it, if there is one.",
        show_default=False,
    ),
]
ClassColors = Annotated[
    str | None,
    typer.Option(
        "--classes",
        metavar="FILE",
        help="Classes with the colours in which labels are written.",
        show_default=False,
    ),
]
Void = Annotated[
    list[int],
    typer.Option(
        "--void", min=0, help="Number of pixels that are left out; may be given several times."
    ),
]
PixelModelOut = Annotated[
    str,
    typer.Option("--out", "-o", help="File to save the model to.", rich_help_panel=FILES),
]
PixelModel = Annotated[
    str | None,
    typer.Option("--model", "-m", help="Model that was trained before.", show_default=False),
]
LabelInputs = Annotated[
    list[str],
    typer.Argument(
        help="Images, and folders whose images are labelled.",
        show_default=False,
        metavar="FILES...",
    ),
]
LabelsOut = Annotated[
    str | None,
    typer.Option(
        "--out",
        "-o",
        help="PNG file to write labels to; a folder if there are several images. Pixels are the "
        "numbers of classes, shown in colours.",
        rich_help_panel=FILES,
        show_default=False,
    ),
]
Entropy = Annotated[
    str | None,
    typer.Option(
        "--entropy",
        help="File, .png or .npy, to write the entropy of each pixel to, from 0 (sure) to 1; a "
        "folder if there are several images.",
        rich_help_panel=FILES,
        show_default=False,
    ),
]
Probabilities = Annotated[
    str | None,
    typer.Option(
        "--probabilities",
        help="File, .npy, to write all probabilities to; a folder if there are several images.",
        rich_help_panel=FILES,
        show_default=False,
    ),
]
MostTrees = Annotated[
    int,
    typer.Option("--trees", min=1, help="Largest number of trees.", rich_help_panel="Training"),
]
NumberOfTextons = Annotated[
    int,
    typer.Option(
        "--textons",
        min=1,
        help="Number of typical textures that are told from each other.",
        rich_help_panel="Training",
    ),
]
Folds = Annotated[
    int,
    typer.Option(
        "--folds",
        min=2,
        help="Number of sums of trees that are averaged, each learned without one part of the "
        "images.",
        rich_help_panel="Training",
    ),
]
Smooth = Annotated[
    bool,
    typer.Option(
        "--smooth/--no-smooth",
        help="Whether neighbouring pixels influence each other.",
        rich_help_panel="Training",
    ),
]
