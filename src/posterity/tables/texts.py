"""Parse the cells of a column as numbers or labels.

A column is typed (Parquet, JSON lines, Python) or text (CSV). Both give the same values, with
missing ones as nan (numbers) or null (labels).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.tables.columns import Column, TableError, refuse_cells

LARGEST = 1e150
"""Larger numbers raise an error: their squares are infinite."""

DAY = 86_400e6  # microseconds

_NO_LABEL = ["", "na", "n/a", "null", "nan", "none"]
_NO_NUMBER = [*_NO_LABEL, "-", "--", "?", ".", "#n/a", "#na", "n.a.", "missing", "nil", "<na>"]
_CODE = 3  # minimum number of digits of a code; months and days have two
_LOOK_AT = 1000  # number of texts that decide how to parse the whole column
EXACT = 2.0**53  # larger whole numbers are not all floats


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


@dataclass(frozen=True, eq=False)
class InferredNumbers:
    """Numbers parsed from cells, and how they are written.

    Attributes
    ----------
    values : ParsedNumbers
        The numbers.
    style : str
        "comma" for a decimal comma.
    units : dict of str to int
        Units beside the numbers and how often each is used; the values are in the first.
    """

    values: ParsedNumbers
    style: str = ""
    units: dict[str, int] = field(default_factory=dict)

    @property
    def unit(self) -> str:
        """Unit in which the values are, if any."""
        return next(iter(self.units), "")


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


def are_codes(cells: pl.Series) -> bool:
    """Return whether texts are digits of which some have leading zeros, like postal codes."""
    if not is_text(cells):
        return False
    some = sample_texts(cells)
    padded = some.str.contains(rf"^0\d{{{_CODE - 1},}}$").any()
    return bool(padded and some.str.contains(r"^\d+$").all())


def denotes_missing(texts: pl.Series) -> pl.Series:
    """Return which texts denote a missing number, null where there is no text."""
    return texts.str.to_lowercase().is_in(_NO_NUMBER)


def remove_words(cells: pl.Series, words: tuple[str, ...]) -> pl.Series:
    """Return the cells with those equal to one of the words missing.

    Case and surrounding blanks do not count; a word that is a number stands for its value.

    Examples
    --------
    >>> import polars as pl
    >>> remove_words(pl.Series(["-999.0", "k.A.", "3"]), ("-999", "K.A.")).to_list()
    [None, None, '3']
    """
    if not words or not (is_text(cells) or cells.dtype.is_numeric()):
        return cells
    wanted, written = strip_whitespace(pl.Series(words, dtype=pl.String)), strip_whitespace(cells)
    values = wanted.cast(pl.Float64, strict=False).fill_nan(None).drop_nulls()
    found = written.str.to_lowercase().is_in(wanted.str.to_lowercase().to_list())
    if len(values):
        found |= written.cast(pl.Float64, strict=False).is_in(values.to_list())
    found = found.fill_null(False)
    if not found.any():
        return cells
    kept = cells.to_frame().select(pl.when(~found).then(pl.first()).alias(cells.name))
    return kept.to_series()


def parse_numbers(cells: pl.Series, style: str = "", unit: str = "") -> ParsedNumbers:
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
        return _parse_texts(strip_whitespace(cells), style, unit)
    return ParsedNumbers(_convert_typed(cells), np.zeros(len(cells), dtype=np.bool_))


def infer_numbers(cells: pl.Series) -> InferredNumbers:
    """Return the numbers in the format, and in the unit, that parses more texts."""
    if not is_text(cells):
        return InferredNumbers(parse_numbers(cells))
    written = strip_whitespace(cells)
    plain = written.cast(pl.Float64, strict=False)
    rest = written.filter(plain.is_null() & written.is_not_null() & ~denotes_missing(written))
    if not len(rest):
        return InferredNumbers(parse_numbers(cells))
    with_point = _infer_unit(cells, rest, "")
    if not with_point.values.odd.any():
        return with_point
    with_comma = _infer_unit(cells, rest, "comma")
    fewer = with_comma.values.odd.sum() < with_point.values.odd.sum()
    return with_comma if fewer else with_point


def _infer_unit(cells: pl.Series, rest: pl.Series, style: str) -> InferredNumbers:
    """Return the numbers in the most frequent unit of the texts that are not plain numbers."""
    units = count_units(rest, style)
    return InferredNumbers(parse_numbers(cells, style, next(iter(units), "")), style, units)


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
    present = cells if column is None else remove_words(cells, column.missing_words)
    labels = _convert_to_labels(present)
    return labels if column is None else merge_spellings(labels, column.spellings)


def merge_spellings(labels: pl.Series, spellings: tuple[str, ...]) -> pl.Series:
    """Replace labels that differ from one of the spellings only by case by that spelling.

    Examples
    --------
    >>> import polars as pl
    >>> merge_spellings(pl.Series(["NO", "no", "Yes"]), ("No",)).to_list()
    ['No', 'No', 'Yes']
    """
    if not spellings:
        return labels
    folded = labels.str.to_lowercase()
    known = pl.Series(spellings, dtype=pl.String)
    found = folded.replace_strict(
        known.str.to_lowercase(), known, default=None, return_dtype=pl.String
    )
    return found.fill_null(labels) if len(labels) else labels


def find_places(
    labels: pl.Series, levels: Sequence[str], *, unknown: int = -1, missing: int = -1
) -> NDArray[np.int64]:
    """Return the place of each label among the levels.

    Examples
    --------
    >>> import polars as pl
    >>> find_places(pl.Series(["b", "z", None, "a"]), ("a", "b"), missing=2)
    array([ 1, -1,  2,  0])
    """
    known, order = pl.Series(levels, dtype=pl.String), pl.Series(range(len(levels)), dtype=pl.Int64)
    places = labels.replace_strict(known, order, default=unknown, return_dtype=pl.Int64)
    return places.set(labels.is_null(), missing).to_numpy()


def _convert_to_labels(cells: pl.Series) -> pl.Series:
    """Convert cells to labels without merging any."""
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
    trouble = f"is not a number in {column.unit}" if column.unit else "is not a number"
    present = remove_words(cells, column.missing_words)
    values = parse_numbers(present, column.style, column.unit)
    return require_valid(values, cells, column, trouble)


def require_valid(values: ParsedNumbers, cells: pl.Series, column: Column, trouble: str) -> Array:
    """Return valid values; raise for the first unreadable or too large cell."""
    if not column.lenient:
        refuse_cells(
            values.odd,
            column.name,
            lambda row: (
                f"{format_cell(cells[row])} {trouble}. Correct the cell or leave it empty; if "
                "the whole column is of another kind, set its kind when the model is fitted."
            ),
        )
    refuse_cells(
        np.abs(values.numbers) > LARGEST,  # nan, for missing, is not
        column.name,
        lambda row: (
            f"{format_cell(cells[row])} is infinite or too large to compute with. Correct "
            "the cell, leave it empty, count it as missing "
            f"(--missing={format_cell(cells[row])[1:-1]}), or drop the column."
        ),
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


def _parse_texts(texts: pl.Series, style: str, unit: str) -> ParsedNumbers:
    """Parse texts as numbers: first by one cast, then the remaining ones by pattern."""
    plain = texts.cast(pl.Float64, strict=False)
    values = plain.to_numpy(writable=True)
    odd = np.zeros(len(texts), dtype=np.bool_)
    unread = texts.is_not_null() if style else plain.is_null() & texts.is_not_null()
    rows = np.flatnonzero(unread.to_numpy())
    if len(rows):
        rest = texts.gather(rows)
        tidied = parse_numerals(rest, style, unit)
        values[rows] = tidied.to_numpy()
        odd[rows] = (tidied.is_null() & ~denotes_missing(rest)).to_numpy()
    return ParsedNumbers(values, odd)


def _format_numbers(values: Array) -> pl.Series:
    """Format numbers as labels, whole ones without a point."""
    series = pl.Series(values, dtype=pl.Float64).fill_nan(None)
    whole = (series == series.floor()) & (series.abs() < EXACT)
    texts = series.cast(pl.String)
    return pl.select(
        pl.when(whole).then(series.cast(pl.Int64, strict=False).cast(pl.String)).otherwise(texts)
    ).to_series()


_CURRENCY = r"[$\x{20AC}\x{A3}\x{A5}]"
_GROUPED = r"\d{1,3}(?:X\d{3})+|\d{1,3}(?:\s\d{3})+|\d{1,3}(?:['\x{2019}]\d{3})+|\d+"
_SUFFIX = r"[\p{L}%\x{B0}\x{2030}\x{20AC}\x{A3}\x{A5}$][\p{L}\p{No}%/.^ ]{0,14}[23]?"
_MINUS = r"^\x{2212}"
_BRACKETS = r"^\(\s*([^()+-]*\d[^()]*)\)$"


def parse_numerals(texts: pl.Series, style: str = "", unit: str = "") -> pl.Series:
    """Parse texts as numbers, null where a text is not a number.

    Without a unit, a currency sign or a percent sign is ignored; with one, only this unit is.

    Examples
    --------
    >>> import polars as pl
    >>> parse_numerals(pl.Series(["1,234.5", "(12)", "3 kg"])).to_list()
    [1234.5, -12.0, None]
    >>> parse_numerals(pl.Series(["3 kg", "4", "5 lb"]), unit="kg").to_list()
    [3.0, 4.0, None]
    """
    group, point = _marks(style)
    bare = _strip_unit(_resolve_signs(texts), unit)
    regular = bare.str.contains(rf"^{_numeral(style)}$")
    joined = bare.str.replace_all(rf"{group}|\s|['\x{{2019}}]", "").str.replace(point, ".")
    return joined.cast(pl.Float64, strict=False).set(~regular, None)


def count_units(texts: pl.Series, style: str = "") -> dict[str, int]:
    """Return the units written beside numbers, most frequent first, and how often.

    Spellings that differ by case are one unit.

    Examples
    --------
    >>> import polars as pl
    >>> count_units(pl.Series(["54 kg", "61 KG", "62 kg", "119 lb", "70"]))
    {'kg': 3, 'lb': 1}
    """
    pattern = (
        rf"^[+-]?\s*(?<before>{_CURRENCY})?\s*[+-]?(?<digits>{_numeral(style)})"
        rf"\s*(?<after>{_SUFFIX})?$"
    )
    found = _resolve_signs(texts).str.extract_groups(pattern).struct.unnest()
    written = found.filter(pl.col("digits").str.contains(r"\d")).select(
        unit=pl.coalesce("before", pl.col("after").str.strip_chars(" "))
    )
    counts = written.drop_nulls().with_columns(folded=pl.col("unit").str.to_lowercase())
    spelt = counts.group_by("folded", "unit").len().sort("len", "unit", descending=[True, False])
    units = (
        spelt.group_by("folded", maintain_order=True)
        .agg(pl.col("unit").first(), pl.col("len").sum())
        .sort("len", "unit", descending=[True, False])
    )
    return dict(zip(units["unit"].to_list(), units["len"].to_list(), strict=True))


def has_brackets(texts: pl.Series) -> bool:
    """Return whether a text is a number in brackets, as negative amounts in accounts."""
    return bool(texts.str.contains(_BRACKETS).any())


def _marks(style: str) -> tuple[str, str]:
    """Return the patterns of the mark between thousands and of the decimal mark."""
    return ("\\.", ",") if style else (",", "\\.")


def _numeral(style: str) -> str:
    """Return the pattern of a number with an optional sign."""
    group, point = _marks(style)
    return rf"[+-]?(?:{_GROUPED.replace('X', group)})?(?:{point}\d*)?(?:[eE][+-]?\d+)?"


def _resolve_signs(texts: pl.Series) -> pl.Series:
    """Write minus signs and brackets as a hyphen."""
    return texts.str.replace(_MINUS, "-").str.replace(_BRACKETS, "-${1}")


def _strip_unit(texts: pl.Series, unit: str) -> pl.Series:
    """Remove the unit beside a number."""
    before = re.escape(unit) if unit else _CURRENCY
    after = re.escape(unit) if unit else rf"(?:%|{_CURRENCY})"
    return texts.str.replace(rf"(?i)^([+-]?)\s*{before}\s*", "${1}").str.replace(
        rf"(?i)\s*{after}$", ""
    )
