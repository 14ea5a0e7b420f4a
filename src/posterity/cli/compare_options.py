"""Options of ``posterity compare`` alone."""

import enum
from typing import Annotated

import typer

from posterity.cli import options


class Preference(enum.StrEnum):
    """Which model is chosen among those that do not differ significantly."""

    SIMPLE = "simple"
    BEST = "best"


Prefer = Annotated[
    Preference,
    typer.Option(
        "--prefer",
        help="Model to choose among those that do not differ significantly from the best: the "
        "simplest, or the one with the highest log score.",
    ),
]
PredictionsOut = Annotated[
    str | None,
    typer.Option(
        "--predictions",
        metavar="FILE",
        help="File to write the held-out predictions of the chosen model to; format from its "
        "extension.",
        rich_help_panel=options.FILES,
        show_default=False,
    ),
]
