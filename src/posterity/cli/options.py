"""Options that several subcommands share: groups of them, which requests inherit, and their values.

Options stand in the order of the fields, so those of the last base come first; the random seed and
``--json`` come last.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, dataclass_transform

import typer

from posterity.cli import command

if TYPE_CHECKING:
    from posterity.cli.output import OutputPrinter


_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def parse_duration(text: str | float) -> float:
    """Parse a duration such as 60s, 2m, 1.5h or plain 90 into seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([smh]?)", str(text).strip().lower())
    if not match or float(match[1]) <= 0.0:
        raise typer.BadParameter(f"{text!r} is not a duration; use, for example, 60s, 2m or 1h.")
    return float(match[1]) * _SECONDS[match[2]]


def parse_gap(text: str | int) -> int | str:
    """Parse a gap: a number of times, or a length of time such as 7d."""
    from posterity.comparison.holdout import parse_gap

    try:
        return parse_gap(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def parse_cost(text: Any) -> tuple[float, float]:
    """Parse the costs of a false alarm and of a miss, such as 1:20."""
    from posterity.comparison.flags import parse_cost

    try:
        return parse_cost(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def parse_row_limit(text: str | int) -> int | None:
    """Parse a number of rows; return None for all."""
    if str(text).strip().lower() == "all":
        return None
    digits = str(text).replace(",", "").replace("_", "")
    if not digits.isdecimal() or int(digits) < 1:
        raise typer.BadParameter(
            f"{text!r} is not a number of rows; use, for example, 100000, or all."
        )
    return int(digits)


def parse_quantile_levels(text: str) -> tuple[float, ...]:
    """Parse comma-separated levels between 0 and 1."""
    try:
        levels = tuple(float(part) for part in text.split(","))
    except ValueError:
        levels = ()
    if not levels or not all(0.0 < level < 1.0 for level in levels):
        raise typer.BadParameter(
            f"{text!r} is not a list of levels between 0 and 1, such as 0.05,0.5,0.95."
        )
    return tuple(sorted(set(levels)))


def format_value(value: Any) -> str:
    """Format a value as the text of an option that is parsed to it.

    Examples
    --------
    >>> from posterity.cli import options
    >>> [options.format_value(value) for value in (None, 90.0, (1.0, 20.0), "town")]
    ['all', '90', '1:20', 'town']
    """
    match value:
        case None:
            return "all"
        case float():
            return f"{value:.15g}"
        case tuple():
            return ":".join(f"{part:.15g}" for part in value)
    return str(value)


FILES = "Files"
_in_table = partial(typer.Option, rich_help_panel="Input table")
_in_dependence = partial(typer.Option, rich_help_panel="Rows that depend on each other")
_of_two_classes = partial(typer.Option, rich_help_panel="Two classes")
in_files = partial(typer.Option, rich_help_panel=FILES)

Seed = Annotated[
    int, typer.Option("--seed", min=0, help="Random seed; the same seed gives the same results.")
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Force = Annotated[bool, in_files("--force", help="Overwrite files that posterity did not write.")]
Save = Annotated[str, in_files(help="File to save the model to.")]
Folds = Annotated[int, typer.Option(min=2, help="Number of cross-validation folds.")]
_BUDGET_HELP = "Approximate time limit, such as 60s or 2m."
Budget = Annotated[
    float | None, typer.Option(parser=parse_duration, metavar="TIME", help=_BUDGET_HELP)
]
Rows = Annotated[int | None, _in_table(parser=parse_row_limit, metavar="NUMBER")]
Exposure = Annotated[str | None, _in_table(metavar="COLUMN")]
_Columns = Annotated[list[str] | None, _in_table(metavar="COLUMN")]
Gap = Annotated[str | None, _in_dependence(parser=parse_gap, metavar="GAP")]


@dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclass(frozen=True, kw_only=True)
class Request:
    """Base class of requests, which are frozen dataclasses, with the option of every command."""

    stream: ClassVar[str] = ""  # what ``--out -`` writes to standard output

    json: Json = False

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, kw_only=True)(cls)

    def make_printer(self) -> "OutputPrinter":
        """Return the printer, which leaves standard output to the data if they go there."""
        from posterity.cli import output

        aside = bool(self.stream) and getattr(self, "out", None) == "-"
        if aside and self.json:
            raise typer.BadParameter(
                f"--json prints to standard output, so {self.stream} need a file: add --out FILE."
            )
        return output.OutputPrinter(self.json, aside)

    def list_words(self, group: "type[Request] | None" = None) -> Iterator[str]:
        """Yield the arguments that repeat the request, or a group of its options.

        Options with their default and files to write are left out.
        """
        for parameter in command.list_parameters(group or type(self)):
            value, info = getattr(self, parameter.name), parameter.annotation.__metadata__[0]
            is_kept = parameter.name != "json" and info.rich_help_panel != FILES
            if not is_kept or value == parameter.default:
                continue
            name = f"--{parameter.name.replace('_', '-')}"
            for one in value if isinstance(value, list) else [value]:
                yield from () if isinstance(info, typer.models.ArgumentInfo) else (name,)
                yield from () if one is True else (format_value(one),)


class SavedModel(Request):
    """A saved model.

    Attributes
    ----------
    model : str
        Model file saved by compare or fit.
    """

    model: Annotated[str, typer.Argument(metavar="MODEL")]


class TableFile(Request):
    """A file with a table.

    Attributes
    ----------
    data : str
        CSV, TSV, Parquet, JSON lines or Excel file, optionally gzipped; - reads standard input.
    format : str, optional
        Format of the file. Default: from its extension or contents.
    separator : str, optional
        Character that separates cells. Default: detected.
    sheet : str, optional
        Sheet of an Excel file. Default: the first.
    """

    data: Annotated[str, typer.Argument(metavar="DATA")]
    format: Annotated[Literal["csv", "parquet", "jsonl", "excel"] | None, _in_table()] = None
    separator: Annotated[str | None, _in_table()] = None
    sheet: Annotated[str | None, _in_table(metavar="NAME")] = None


class Cluster(Request):
    """A Dask cluster.

    Attributes
    ----------
    dask : str, optional
        Run on a Dask cluster: 'local', or the address tcp://host:port of a scheduler. DATA must
        then be a Parquet file or a folder of Parquet files.
    """

    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", rich_help_panel="Data larger than memory")
    ] = None


class TableColumns(Request):
    """The target of a table, and the way to read its columns.

    Attributes
    ----------
    target : str
        Column to predict.
    time : str, optional
        Column of dates or numbers that orders the rows: models are fitted to earlier rows and
        scored on later ones.
    group : str, optional
        Column with the group of each row, such as a patient: whole groups are held out. A group of
        several columns is a combination of their values.
    blocks : str, optional
        Two columns with the coordinates of each row: whole regions are held out.
    exposure : str, optional
        Column with the exposure of each count, such as policy years, hours or square metres: the
        rate of events in a unit of it is learned. Only for counts.
    task : str, optional
        Predict a number or a class. Default: inferred from the target.
    number : list of str, optional
        Read this column as numbers (repeatable).
    category : list of str, optional
        Read this column as categories (repeatable).
    date : list of str, optional
        Read this column as dates (repeatable).
    drop : list of str, optional
        Ignore this column (repeatable).
    keep : list of str, optional
        Use this column although it looks like an identifier or a copy of the target (repeatable).
    exact : list of str, optional
        Keep labels of this column, or of the target, apart where they differ only by case
        (repeatable).
    missing : list of str, optional
        Text or number that stands for a missing value (repeatable).
    rows : int, optional
        Use at most this many rows, drawn at random, or 'all'. With --dask, models are fitted to all
        rows, and this is the sample from which column types are inferred.
    """

    target: Annotated[str, typer.Option("--target", "-t")]
    time: Annotated[str | None, _in_dependence(metavar="COLUMN")] = None
    group: Annotated[str | None, _in_dependence(metavar="COLUMN[,COLUMN...]")] = None
    blocks: Annotated[str | None, _in_dependence(metavar="X,Y")] = None
    exposure: Exposure = None
    task: Annotated[Literal["regression", "classification"] | None, _in_table()] = None
    number: _Columns = None
    category: _Columns = None
    date: _Columns = None
    drop: _Columns = None
    keep: _Columns = None
    exact: _Columns = None
    missing: Annotated[list[str] | None, _in_table(metavar="WORD")] = None
    rows: Rows = 100_000
    seed: Seed = 0


class TwoClasses(Request):
    """Costs of the mistakes of a classification into two classes.

    Attributes
    ----------
    cost : (float, float), optional
        Costs of the two mistakes, such as 1:20: rows are flagged from the probability on at which
        that costs less, and the expected cost of each model is shown.
    positive : str, optional
        Class whose rows should be flagged, for precision, recall and costs. Default: the second
        one, such as 1 of 0 and 1, or yes of no and yes.
    """

    cost: Annotated[Any, _of_two_classes(parser=parse_cost, metavar="FALSE_ALARM:MISS")] = None
    positive: Annotated[str | None, _of_two_classes(metavar="CLASS")] = None


class DrawnRows(Request):
    """Rows that a saved model is scored on.

    Attributes
    ----------
    rows : int, optional
        Use at most this many rows, drawn at random, or 'all'.
    """

    rows: Rows = 100_000
    seed: Seed = 0
