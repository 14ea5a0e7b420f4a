"""Options of the commands that score models: compare, evaluate and report."""

import enum
from typing import Annotated, Any

import typer

from posterity.cli import options, parsing

_TWO_CLASSES = "Two classes"


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
Cost = Annotated[
    Any,
    typer.Option(
        "--cost",
        parser=parsing.parse_cost,
        metavar="FALSE_ALARM:MISS",
        help="Costs of the two mistakes, such as 1:20: rows are flagged from the probability on at "
        "which that costs less, and the expected cost of each model is shown.",
        rich_help_panel=_TWO_CLASSES,
        show_default=False,
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        "--positive",
        metavar="CLASS",
        help="Class whose rows should be flagged, for precision, recall and costs. Default: the "
        "second one, such as 1 of 0 and 1, or yes of no and yes.",
        rich_help_panel=_TWO_CLASSES,
        show_default=False,
    ),
]
