"""Parse the cells of a column as numbers or labels.

A column is typed (Parquet, JSON lines, Python) or text (CSV). Both give the same values, with
missing ones as nan (numbers) or null (labels).
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.tables.columns import CellError, Column, TableError

LARGEST = 1e150
"""Larger numbers raise an error: their squares are infinite."""

DAY = 86_400e6  # microseconds

_NO_LABEL = ["", "na", "n/a", "null", "nan", "none"]
_NO_NUMBER = [*_NO_LABEL, "-", "--", "?", ".", "#n/a", "#na", "n.a.", "missing", "nil", "<na>"]
_LOOK_AT = 1000  # number of texts that decide how to parse the whole column
_CURRENCY = r"[$\x{20AC}\x{A3}\x{A5}]"
_GROUPED = r"\d{1,3}(?:X\d{3})+|\d{1,3}(?:\s\d{3})+|\d{1,3}(?:['\x{2019}]\d{3})+|\d+"


@dataclass(frozen=True, eq=False)
class ParsedNumbers:
    """Numbers parsed from cells.

    Attributes
    ----------
    numbers : ndarray of shape (N,)
        Values; nan where a cell is missing or unreadable.
    odd : ndarray of bool of shape (N,)
        Unreadable cells.
    """

    numbers: Array
    odd: NDArray[np.bool_]


def is_text(cells: pl.Series) -> bool:
    """Return whether a column has a polars text type."""
    return isinstance(cells.dtype, pl.String | pl.Categorical | pl.Enum)


def strip_whitespace(cells: pl.Series) -> pl.Series:
    """Strip white space from text."""
    return cells.cast(pl.String).str.strip_chars()


def sample_texts(cells: pl.Series) -> pl.Series:
    """Return up to a thousand texts of a column, without missing values."""
    texts = strip_whitespace(cells.drop_nulls())
    present = texts.filter(~denotes_missing(texts))
    return present.gather_every(max(1, len(present) // _LOOK_AT))


def denotes_missing(texts: pl.Series) -> pl.Series:
    """Return which texts denote a missing number, null where there is no text."""
    return texts.str.to_lowercase().is_in(_NO_NUMBER)


def parse_numbers(cells: pl.Series, style: str = "") -> ParsedNumbers:
    """Convert cells to numbers; durations and dates in days, true as 1.

    Examples
    --------
    >>> import polars as pl
    >>> parse_numbers(pl.Series(["1,234.5", "12%", "n/a", "$3.50"])).numbers
    array([1234.5,   12. ,    nan,    3.5])
    >>> parse_numbers(pl.Series(["1.234,5", "3,14"]), "comma").numbers
    array([1234.5 ,    3.14])
    """
    if is_text(cells):
        return _parse_texts(strip_whitespace(cells), style)
    return ParsedNumbers(_convert_typed(cells), np.zeros(len(cells), dtype=np.bool_))


def infer_numbers(cells: pl.Series) -> tuple[str, ParsedNumbers]:
    """Return the number format that parses more texts, and the numbers."""
    with_point = parse_numbers(cells)
    if not with_point.odd.any():
        return "", with_point
    with_comma = parse_numbers(cells, "comma")
    if with_comma.odd.sum() < with_point.odd.sum():
        return "comma", with_comma
    return "", with_point


def convert_labels(cells: pl.Series, column: Column | None = None) -> pl.Series:
    """Convert cells to labels, null where missing; whole numbers without a point.

    Examples
    --------
    >>> import polars as pl
    >>> convert_labels(pl.Series([" red ", "", "NA", None, "blue"])).to_list()
    ['red', None, None, None, 'blue']
    >>> convert_labels(pl.Series([1.0, 2.5, None])).to_list()
    ['1', '2.5', None]
    """
    if column is not None and column.kind == "number":
        return _format_numbers(require_numbers(cells, column))
    if is_text(cells):
        texts = strip_whitespace(cells)
        found = texts.str.to_lowercase().is_in(_NO_LABEL)
        return texts.set(found.fill_null(False), None) if found.any() else texts
    if cells.dtype.is_float() or cells.dtype.is_decimal():
        return _format_numbers(cells.cast(pl.Float64).to_numpy())
    _refuse_nested(cells)
    return cells.cast(pl.String)


def require_numbers(cells: pl.Series, column: Column) -> Array:
    """Convert a column to numbers; raise an error that names the first invalid cell."""
    return require_valid(parse_numbers(cells, column.style), cells, column, "is not a number")


def require_valid(values: ParsedNumbers, cells: pl.Series, column: Column, trouble: str) -> Array:
    """Return valid values; raise for the first unreadable or too large cell."""
    if not column.lenient and values.odd.any():
        row = int(values.odd.argmax())
        raise CellError(
            row + 1,
            column.name,
            f"{format_cell(cells[row])} {trouble}. Correct the cell or leave it empty; if the "
            "whole "
            "column is of another kind, set its kind when the model is fitted.",
        )
    too_large = np.abs(values.numbers) > LARGEST  # nan, for missing, is not
    if too_large.any():
        row = int(too_large.argmax())
        raise CellError(
            row + 1,
            column.name,
            f"{format_cell(cells[row])} is infinite or too large to compute with. Correct the "
            "cell or "
            "leave it empty, or drop the column.",
        )
    return values.numbers


def format_cell(cell: object) -> str:
    """Format a cell for messages, truncated if it is long."""
    text = str(cell)
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _convert_typed(cells: pl.Series) -> Array:
    """Convert a typed column to numbers; a time of day is a fraction of a day."""
    kind = cells.dtype
    if isinstance(kind, pl.Datetime):
        return cells.dt.epoch("us").cast(pl.Float64).to_numpy() / DAY
    if isinstance(kind, pl.Date):
        return cells.to_physical().cast(pl.Float64).to_numpy()
    if isinstance(kind, pl.Duration):
        return cells.dt.total_microseconds().cast(pl.Float64).to_numpy() / DAY
    if isinstance(kind, pl.Time):
        return cells.to_physical().cast(pl.Float64).to_numpy() / (1000.0 * DAY)
    _refuse_nested(cells)
    return cells.cast(pl.Float64).to_numpy()


def _refuse_nested(cells: pl.Series) -> None:
    if cells.dtype.is_nested() or isinstance(cells.dtype, pl.Binary | pl.Object):
        raise TableError(
            f"Column {cells.name!r} contains values of type {cells.dtype}, which are not "
            "numbers, text or dates. Drop it, or split it into separate columns."
        )


def _parse_texts(texts: pl.Series, style: str) -> ParsedNumbers:
    """Parse texts as numbers: first by one cast, then the remaining ones by pattern."""
    plain = texts.cast(pl.Float64, strict=False)
    values = plain.to_numpy(writable=True)
    odd = np.zeros(len(texts), dtype=np.bool_)
    unread = texts.is_not_null() if style else plain.is_null() & texts.is_not_null()
    rows = np.flatnonzero(unread.to_numpy())
    if len(rows):
        rest = texts.gather(rows)
        tidied = _strip_signs(rest, ("\\.", ",") if style else (",", "\\."))
        values[rows] = tidied.to_numpy()
        odd[rows] = (tidied.is_null() & ~denotes_missing(rest)).to_numpy()
    return ParsedNumbers(values, odd)


def _strip_signs(texts: pl.Series, marks: tuple[str, str]) -> pl.Series:
    """Parse texts with currency, percent and grouping signs; null if not a number."""
    group, point = marks
    whole = _GROUPED.replace("X", group)
    bare = (
        texts.str.replace(r"^\x{2212}", "-")
        .str.replace(rf"^([+-]?)\s*{_CURRENCY}\s*", "${1}")
        .str.replace(rf"\s*(?:%|{_CURRENCY})$", "")
    )
    regular = bare.str.contains(rf"^[+-]?(?:{whole})?(?:{point}\d*)?(?:[eE][+-]?\d+)?$")
    joined = bare.str.replace_all(rf"{group}|\s|['\x{{2019}}]", "").str.replace(point, ".")
    read = joined.cast(pl.Float64, strict=False)
    return read.set(~regular, None)


def _format_numbers(values: Array) -> pl.Series:
    """Format numbers as labels, whole ones without a point."""
    series = pl.Series(values, dtype=pl.Float64).fill_nan(None)
    whole = (series == series.floor()) & (series.abs() < 2.0**53)
    texts = series.cast(pl.String)
    return pl.select(
        pl.when(whole).then(series.cast(pl.Int64, strict=False).cast(pl.String)).otherwise(texts)
    ).to_series()
