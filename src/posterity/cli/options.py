"""What can be written after a word of the command, once for all of them."""

import enum
import re
from typing import Annotated

import typer


class Task(enum.StrEnum):
    """Whether the target is a number or a class."""

    REGRESSION = "regression"
    CLASSIFICATION = "classification"


class Format(enum.StrEnum):
    """How a table is stored."""

    CSV = "csv"
    PARQUET = "parquet"
    JSON_LINES = "jsonl"


_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_TABLE = "The table"
_DASK = "Many rows"
_FILES = "Files"


def seconds(text: str | float) -> float:
    """A duration such as 60s, 2m, 1.5h or plain 90, in seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([smh]?)", str(text).strip().lower())
    if not match or float(match[1]) <= 0.0:
        raise typer.BadParameter(f"{text!r} is no duration; write 60s, 2m or 1h.")
    return float(match[1]) * _SECONDS[match[2]]


def row_limit(text: str | int) -> int | None:
    """A number of rows, or None for all of them."""
    if str(text).strip().lower() == "all":
        return None
    digits = str(text).replace(",", "").replace("_", "")
    if not digits.isdecimal() or int(digits) < 1:
        raise typer.BadParameter(f"{text!r} is no number of rows; write 100000, or all.")
    return int(digits)


def quantile_levels(text: str) -> tuple[float, ...]:
    """Levels between 0 and 1, separated by commas."""
    try:
        levels = tuple(float(part) for part in text.split(","))
    except ValueError:
        levels = ()
    if not levels or not all(0.0 < level < 1.0 for level in levels):
        raise typer.BadParameter(f"{text!r}: write levels between 0 and 1, such as 0.05,0.5,0.95.")
    return tuple(sorted(set(levels)))


Data = Annotated[
    str,
    typer.Argument(
        help="CSV, TSV, Parquet or JSON lines, maybe gzipped; - for standard input.",
        show_default=False,
        metavar="DATA",
    ),
]
Model = Annotated[
    str,
    typer.Argument(help="A model that was saved.", show_default=False, metavar="MODEL"),
]
Target = Annotated[
    str, typer.Option("--target", "-t", help="The column to predict.", show_default=False)
]
TaskOption = Annotated[
    Task | None,
    typer.Option("--task", help="Number or class, if the guess is wrong.", rich_help_panel=_TABLE),
]
Number = Annotated[
    list[str] | None,
    typer.Option("--number", metavar="COLUMN", help="Read as numbers.", rich_help_panel=_TABLE),
]
Category = Annotated[
    list[str] | None,
    typer.Option("--category", metavar="COLUMN", help="Read as classes.", rich_help_panel=_TABLE),
]
Date = Annotated[
    list[str] | None,
    typer.Option("--date", metavar="COLUMN", help="Read as dates.", rich_help_panel=_TABLE),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COLUMN", help="Leave out.", rich_help_panel=_TABLE),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        metavar="COLUMN",
        help="Use, though it looks like an identifier or a copy of the target.",
        rich_help_panel=_TABLE,
    ),
]
Rows = Annotated[
    int | None,
    typer.Option(
        "--rows",
        parser=row_limit,
        metavar="NUMBER",
        help="At most this many rows, drawn at random; or all.",
        rich_help_panel=_TABLE,
    ),
]
Time = Annotated[
    float | None,
    typer.Option("--time", parser=seconds, metavar="TIME", help="Spend about this long: 60s, 2m."),
]
Quantiles = Annotated[
    str,
    typer.Option("--quantiles", metavar="LEVELS", help="Which quantiles of a number to add."),
]
FormatOption = Annotated[
    Format | None,
    typer.Option("--format", help="If the file's name does not tell.", rich_help_panel=_TABLE),
]
Separator = Annotated[
    str | None,
    typer.Option("--separator", help="Between cells, if not seen.", rich_help_panel=_TABLE),
]
Folds = Annotated[int, typer.Option("--folds", min=2, help="Parts of the cross-validation.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Same seed, same numbers.")]
Json = Annotated[bool, typer.Option("--json", help="Answer in JSON, for machines.")]
Force = Annotated[
    bool,
    typer.Option(
        "--force", help="Overwrite files posterity did not write.", rich_help_panel=_FILES
    ),
]
ReportOut = Annotated[
    str, typer.Option("--report", help="Where the report goes.", rich_help_panel=_FILES)
]
ModelOut = Annotated[
    str, typer.Option("--save", help="Where the model goes.", rich_help_panel=_FILES)
]
Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="Work on Dask: local, or the scheduler's tcp://host:port. DATA is then a Parquet "
        "file or a folder of them, and --rows the sample from which columns are understood.",
        rich_help_panel=_DASK,
        show_default=False,
    ),
]
ROWS = 100_000
LEVELS = "0.05,0.25,0.5,0.75,0.95"
