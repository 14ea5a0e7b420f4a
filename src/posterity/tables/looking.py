"""Determine whether a column holds numbers, labels or dates."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from posterity.arrays import Array
from posterity.tables import dates, texts
from posterity.tables.columns import Column, Kind
from posterity.tables.texts import ParsedNumbers

_FIRST_DAY, _LAST_DAY = 19000101, 21001231  # whole numbers that may be dates
_MANY_DAYS = 10
_WORTH = 0.5  # fraction of numbers in a sample above which the whole column is parsed


@dataclass(frozen=True, eq=False)
class ParsedColumn:
    """A column and its parsed values; missing ones are nan (numbers, days) or null.

    If most labels are numbers, ``odd_text`` is the first that is not.
    """

    column: Column
    numbers: Array | None = None
    labels: pl.Series | None = None
    odd_text: str = ""

    @property
    def n_present(self) -> int:
        """Number of rows with a value."""
        n = len(self.labels) if self.numbers is None else len(self.numbers)  # type: ignore[arg-type]
        return n - self.column.n_missing

    def series(self) -> pl.Series:
        """Return the values as a series, null where missing."""
        if self.numbers is None:
            assert self.labels is not None
            return self.labels
        return pl.Series(self.numbers, nan_to_null=True)

    def are_whole(self) -> bool:
        """Return whether the column contains only integers."""
        if self.numbers is None or self.column.kind != "number":
            return False
        present = self.numbers[~np.isnan(self.numbers)]
        return bool(np.all(present == np.floor(present)))


@dataclass(frozen=True, eq=False)
class _Reading:
    """How cells are read, the reason, and the values (none for labels)."""

    kind: Kind
    why: str
    style: str = ""
    values: ParsedNumbers | None = None
    odd_text: str = ""


def parse_column(cells: pl.Series, forced: Kind | None = None) -> ParsedColumn:
    """Parse the cells, as the given kind or as the inferred one."""
    reading = _read_as(cells, forced) if forced else _read_typed(cells)
    if reading.values is None:
        labels = texts.convert_labels(cells)
        n_distinct = labels.drop_nulls().n_unique()
        return ParsedColumn(
            Column(cells.name, "category", labels.null_count(), n_distinct, reading.why),
            labels=labels,
            odd_text=reading.odd_text,
        )
    column = _make_numeric_column(cells.name, reading, reading.values, forced is not None)
    return ParsedColumn(column, texts.require_valid(reading.values, cells, column, ""))


def _make_numeric_column(
    name: str, reading: _Reading, values: ParsedNumbers, forced: bool
) -> Column:
    """Return a column of numbers or dates; a few unreadable texts count as missing."""
    n_odd = int(values.odd.sum())
    odd = f", {n_odd:,} {'text' if n_odd == 1 else 'texts'} treated as missing" if n_odd else ""
    present = values.numbers[~np.isnan(values.numbers)]
    n_missing, n_distinct = len(values.numbers) - len(present), pl.Series(present).n_unique()
    why, lenient = reading.why + odd, forced or n_odd > 0
    return Column(name, reading.kind, n_missing, n_distinct, why, reading.style, lenient)


def _read_as(cells: pl.Series, kind: Kind) -> _Reading:
    """Read the cells as the kind given by the user."""
    why = "requested"
    if kind == "category":
        return _Reading(kind, why)
    if kind == "number":
        return _Reading(kind, why, *texts.infer_numbers(cells))
    style = _infer_date_style(cells)
    return _Reading(kind, why, style, dates.parse_days(cells, style))


def _infer_date_style(cells: pl.Series) -> str:
    """Return the date format that parses most cells, including bare digits."""
    if not texts.is_text(cells):
        return "compact" if cells.dtype.is_numeric() else "iso"
    found = dates.infer_days(cells)
    if found:
        return found[0]
    return min(dates.PATTERNS, key=lambda style: int(dates.parse_days(cells, style).odd.sum()))


def _read_typed(cells: pl.Series) -> _Reading:
    """Read the cells according to their data type, or parse their text."""
    kind = cells.dtype
    if isinstance(kind, pl.String):
        return _read_texts(cells)
    if isinstance(kind, pl.Time):
        return _Reading("date", "times of day", "clock", texts.parse_numbers(cells))
    if isinstance(kind, pl.Date | pl.Datetime):
        return _Reading("date", "dates", "iso", texts.parse_numbers(cells))
    if isinstance(kind, pl.Duration):
        return _Reading("number", "lengths of time, in days", "", texts.parse_numbers(cells))
    if kind.is_numeric():
        values = texts.parse_numbers(cells)
        return _read_compact_dates(values) or _Reading("number", "numbers", "", values)
    return _Reading("category", "labels")


def _read_compact_dates(values: ParsedNumbers) -> _Reading | None:
    """Read whole numbers such as 20240131 as dates if all of many are valid dates."""
    present = values.numbers[~np.isnan(values.numbers)]
    if not len(present) or present.min() < _FIRST_DAY or present.max() > _LAST_DAY:
        return None
    days = dates.parse_days(pl.Series(values.numbers, nan_to_null=True), "compact")
    whole = np.all(present == np.floor(present))
    if not whole or days.odd.any() or pl.Series(present).n_unique() < _MANY_DAYS:
        return None
    return _Reading("date", f"dates written as {dates.WORDS['compact']}", "compact", days)


def _read_texts(cells: pl.Series) -> _Reading:
    some, odd_text = texts.sample_texts(cells), ""
    if texts.infer_numbers(some)[1].odd.sum() < (1.0 - _WORTH) * len(some):
        style, values = texts.infer_numbers(cells)
        if dates.is_mostly_readable(values):
            why = "numbers with a decimal comma" if style else "numbers"
            return _read_compact_dates(values) or _Reading("number", why, style, values)
        odd_text = texts.format_cell(cells[int(values.odd.argmax())])
    found = dates.infer_days(cells)
    if found is None:
        return _Reading("category", "texts", odd_text=odd_text)
    written, days, unsure = found
    doubt = ", although day and month could be swapped" if unsure else ""
    return _Reading("date", f"dates written as {dates.WORDS[written]}{doubt}", written, days)
