"""Arguments and options that several subcommands share."""

import enum
from typing import Annotated

import typer

from posterity.cli import parsing


class Task(enum.StrEnum):
    """Whether the target is a number or a class."""

    REGRESSION = "regression"
    CLASSIFICATION = "classification"


class Format(enum.StrEnum):
    """How a table is stored."""

    CSV = "csv"
    PARQUET = "parquet"
    JSON_LINES = "jsonl"
    EXCEL = "excel"


_TABLE = "Input table"
_DASK = "Data larger than memory"
_DEPENDENCE = "Rows that depend on each other"
FILES = "Files"


Data = Annotated[
    str,
    typer.Argument(
        help="CSV, TSV, Parquet, JSON lines or Excel file, optionally gzipped; - reads standard "
        "input.",
        show_default=False,
        metavar="DATA",
    ),
]
Model = Annotated[
    str,
    typer.Argument(help="Model file saved by compare or fit.", show_default=False, metavar="MODEL"),
]
Target = Annotated[
    str, typer.Option("--target", "-t", help="Column to predict.", show_default=False)
]
TaskOption = Annotated[
    Task | None,
    typer.Option(
        "--task",
        help="Predict a number or a class. Default: inferred from the target.",
        rich_help_panel=_TABLE,
    ),
]
Number = Annotated[
    list[str] | None,
    typer.Option(
        "--number",
        metavar="COLUMN",
        help="Read this column as numbers (repeatable).",
        rich_help_panel=_TABLE,
    ),
]
Category = Annotated[
    list[str] | None,
    typer.Option(
        "--category",
        metavar="COLUMN",
        help="Read this column as categories (repeatable).",
        rich_help_panel=_TABLE,
    ),
]
Date = Annotated[
    list[str] | None,
    typer.Option(
        "--date",
        metavar="COLUMN",
        help="Read this column as dates (repeatable).",
        rich_help_panel=_TABLE,
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        "--drop",
        metavar="COLUMN",
        help="Ignore this column (repeatable).",
        rich_help_panel=_TABLE,
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        metavar="COLUMN",
        help="Use this column although it looks like an identifier or a copy of the target "
        "(repeatable).",
        rich_help_panel=_TABLE,
    ),
]
Rows = Annotated[
    int | None,
    typer.Option(
        "--rows",
        parser=parsing.parse_row_limit,
        metavar="NUMBER",
        help="Use at most this many rows, drawn at random, or 'all'.",
        rich_help_panel=_TABLE,
    ),
]
SampledRows = Annotated[
    int | None,
    typer.Option(
        "--rows",
        parser=parsing.parse_row_limit,
        metavar="NUMBER",
        help="Use at most this many rows, drawn at random, or 'all'. With --dask, models are "
        "fitted to all rows, and this is the sample from which column types are inferred.",
        rich_help_panel=_TABLE,
    ),
]
Budget = Annotated[
    float | None,
    typer.Option(
        "--budget",
        parser=parsing.parse_duration,
        metavar="TIME",
        help="Approximate time limit, such as 60s or 2m.",
    ),
]
Time = Annotated[
    str | None,
    typer.Option(
        "--time",
        metavar="COLUMN",
        help="Column of dates or numbers that orders the rows: models are fitted to earlier rows "
        "and scored on later ones.",
        rich_help_panel=_DEPENDENCE,
        show_default=False,
    ),
]
Group = Annotated[
    str | None,
    typer.Option(
        "--group",
        metavar="COLUMN[,COLUMN...]",
        help="Column with the group of each row, such as a patient: whole groups are held out. A "
        "group of several columns is a combination of their values.",
        rich_help_panel=_DEPENDENCE,
        show_default=False,
    ),
]
Exposure = Annotated[
    str | None,
    typer.Option(
        "--exposure",
        metavar="COLUMN",
        help="Column with the exposure of each count, such as policy years, hours or square "
        "metres: the rate of events in a unit of it is learned. Only for counts.",
        rich_help_panel=_TABLE,
        show_default=False,
    ),
]
Blocks = Annotated[
    str | None,
    typer.Option(
        "--blocks",
        metavar="X,Y",
        help="Two columns with the coordinates of each row: whole regions are held out.",
        rich_help_panel=_DEPENDENCE,
        show_default=False,
    ),
]
Exact = Annotated[
    list[str] | None,
    typer.Option(
        "--exact",
        metavar="COLUMN",
        help="Keep labels of this column, or of the target, apart where they differ only by case "
        "(repeatable).",
        rich_help_panel=_TABLE,
    ),
]
Gap = Annotated[
    str | None,
    typer.Option(
        "--gap",
        parser=parsing.parse_gap,
        metavar="GAP",
        help="With --time: how far held-out rows are after the rows that models are fitted to, as "
        "a number of times, such as 3, or for dates as a length of time, such as 7d or 12h.",
        rich_help_panel=_DEPENDENCE,
        show_default=False,
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        metavar="WORD",
        help="Text or number that stands for a missing value (repeatable).",
        rich_help_panel=_TABLE,
    ),
]
Quantiles = Annotated[
    str,
    typer.Option(
        "--quantiles",
        metavar="LEVELS",
        help="Levels of the predicted quantiles to add (regression only).",
    ),
]
FormatOption = Annotated[
    Format | None,
    typer.Option(
        "--format",
        help="Format of the file. Default: from its extension or contents.",
        rich_help_panel=_TABLE,
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--separator",
        help="Character that separates cells. Default: detected.",
        rich_help_panel=_TABLE,
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(
        "--sheet",
        metavar="NAME",
        help="Sheet of an Excel file. Default: the first.",
        rich_help_panel=_TABLE,
    ),
]
Folds = Annotated[int, typer.Option("--folds", min=2, help="Number of cross-validation folds.")]
Seed = Annotated[
    int, typer.Option("--seed", min=0, help="Random seed; the same seed gives the same results.")
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Force = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Overwrite files that posterity did not write.",
        rich_help_panel=FILES,
    ),
]
ReportOut = Annotated[
    str, typer.Option("--report", help="File to write the report to.", rich_help_panel=FILES)
]
ModelOut = Annotated[
    str, typer.Option("--save", help="File to save the model to.", rich_help_panel=FILES)
]
Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="Run on a Dask cluster: 'local', or the address tcp://host:port of a scheduler. DATA "
        "must then be a Parquet file or a folder of Parquet files.",
        rich_help_panel=_DASK,
        show_default=False,
    ),
]
ROWS = 100_000
LEVELS = "0.05,0.25,0.5,0.75,0.95"
