"""Determine whether a column holds numbers, labels or dates."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from posterity.arrays import Array
from posterity.tables import dates, schema_sentences, spelling, texts
from posterity.tables.columns import Column, Kind, TableError
from posterity.tables.texts import InferredNumbers, ParsedNumbers

_FIRST_DAY, _LAST_DAY = 19000101, 21001231  # whole numbers that may be dates
_MANY_DAYS = 10
_WORTH = 0.5  # fraction of numbers in a sample above which the whole column is parsed
_OFFERED = 3  # unreadable texts that are named
_MOST_UNITS = 6  # more different endings of numbers are not units


@dataclass(frozen=True, eq=False)
class ParsedColumn:
    """A column and its parsed values; missing ones are nan (numbers, days) or null.

    ``notes`` are sentences for the user about what was changed or may be wrong.
    """

    column: Column
    numbers: Array | None = None
    labels: pl.Series | None = None
    notes: tuple[str, ...] = ()

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
    """A way to read cells, the reason, and the values (none for labels)."""

    kind: Kind
    why: str
    style: str = ""
    values: ParsedNumbers | None = None
    unit: str = ""
    missing_words: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def parse_column(
    cells: pl.Series,
    forced: Kind | None = None,
    *,
    missing: Sequence[str] = (),
    exact: bool = False,
) -> ParsedColumn:
    """Parse the cells, as the given kind or as the inferred one.

    ``missing`` are words that count as missing; ``exact`` keeps labels that differ by case apart.
    """
    words = tuple(missing)
    present = texts.remove_words(cells, words)
    reading = _read_as(present, forced) if forced else _read_typed(present)
    words += tuple(word for word in reading.missing_words if word not in words)
    if reading.values is None:
        return _parse_labels(present, reading, words, exact)
    column = _make_numeric_column(present, reading, reading.values, forced is not None)
    numbers = texts.require_valid(reading.values, cells, column, "")
    notes = reading.notes + _note_sentinel(column, numbers)
    return ParsedColumn(replace(column, missing_words=words), numbers, notes=notes)


def _parse_labels(
    cells: pl.Series, reading: _Reading, words: tuple[str, ...], exact: bool
) -> ParsedColumn:
    """Return a column of labels, with spellings of one word merged."""
    written = texts.convert_labels(cells)
    spellings = () if exact else spelling.find_spellings(written)
    labels = texts.merge_spellings(written, spellings)
    column = Column(
        cells.name,
        "category",
        labels.null_count(),
        labels.drop_nulls().n_unique(),
        reading.why,
        missing_words=words,
        spellings=spellings,
    )
    undo = f"{schema_sentences.format_option('exact', cells.name)} to keep them apart"
    merged = spelling.describe_merging(cells, written, spellings, undo)
    return ParsedColumn(column, labels=labels, notes=reading.notes + merged)


def _make_numeric_column(
    cells: pl.Series, reading: _Reading, values: ParsedNumbers, forced: bool
) -> Column:
    """Return a column of numbers or dates; a few unreadable texts count as missing."""
    n_odd = int(values.odd.sum())
    odd = f", {_describe_odd(cells, values)}" if n_odd else ""
    present = values.numbers[~np.isnan(values.numbers)]
    n_missing = len(values.numbers) - len(present)
    return Column(
        cells.name,
        reading.kind,
        n_missing,
        _count_distinct(cells, values) or pl.Series(present).n_unique(),
        reading.why + odd,
        reading.style,
        forced or n_odd > 0,
        reading.unit,
    )


def _describe_odd(cells: pl.Series, values: ParsedNumbers) -> str:
    """Say how many texts count as missing, and which."""
    n_odd, distinct = int(values.odd.sum()), spelling.list_odd_texts(cells, values.odd)
    shown = ", ".join(texts.format_cell(text) for text in distinct[:_OFFERED])
    more = ", ..." if len(distinct) > _OFFERED else ""
    return f"{n_odd:,} {'text' if n_odd == 1 else 'texts'} treated as missing: {shown}{more}"


def _count_distinct(cells: pl.Series, values: ParsedNumbers) -> int:
    """Count distinct whole numbers that are equal as floats; 0 if all are small."""
    present = ~np.isnan(values.numbers)
    if not np.any(np.abs(values.numbers[present]) >= texts.EXACT):
        return 0
    some = cells.filter(pl.Series(present, dtype=pl.Boolean))
    if texts.is_text(cells):
        written = texts.strip_whitespace(some)
        return written.n_unique() if written.str.contains(r"^[+-]?\d+$").all() else 0
    return some.n_unique() if cells.dtype.is_integer() else 0


def _note_sentinel(column: Column, numbers: Array) -> tuple[str, ...]:
    """Point out a number that may stand for a missing value."""
    sentinel = spelling.find_sentinel(numbers) if column.kind == "number" else None
    if sentinel is None:
        return ()
    n, shown = int(np.sum(numbers == sentinel)), f"{sentinel:.15g}"
    return (
        f"{column.name!r} is {shown} in {n:,} rows, far from its other values: if that stands for "
        f"a missing value, add {schema_sentences.format_option('missing', shown)}.",
    )


def _read_as(cells: pl.Series, kind: Kind) -> _Reading:
    """Read the cells as the kind given by the user."""
    if kind == "category":
        return _Reading(kind, "requested")
    if kind == "number":
        reading = _read_numbers(cells, texts.infer_numbers(cells), "requested")
    else:
        style = _infer_date_style(cells)
        reading = _Reading(kind, "requested", style, dates.parse_days(cells, style))
    assert reading.values is not None
    if reading.values.odd.any() and np.isnan(reading.values.numbers).all():
        row = int(reading.values.odd.argmax())
        raise TableError(
            f"Column {cells.name!r} was to be read as {kind}s, but none of its values is a {kind}: "
            f"row {row + 1} is {texts.format_cell(cells[row])}. Leave out "
            f"{schema_sentences.format_option(kind, cells.name)}."
        )
    return reading


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
        return (
            _read_long_numbers(cells, values)
            or _read_compact_dates(values)
            or _Reading("number", "numbers", "", values)
        )
    return _Reading("category", "labels")


def _read_long_numbers(cells: pl.Series, values: ParsedNumbers) -> _Reading | None:
    """Read whole numbers as labels where some are equal as floats."""
    present = pl.Series(values.numbers[~np.isnan(values.numbers)])
    if _count_distinct(cells, values) <= present.n_unique():
        return None
    note = (
        f"{cells.name!r} has whole numbers above 2^53, which are not all different as "
        "floating-point numbers: it is read as a category "
        f"({schema_sentences.format_option('number', cells.name)} to change)."
    )
    return _Reading("category", "long whole numbers", notes=(note,))


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
    """Read texts as codes, numbers, dates or labels."""
    if texts.are_codes(cells):
        return _read_codes(cells)
    some, notes = texts.sample_texts(cells), tuple[str, ...]()
    if texts.infer_numbers(some).values.odd.sum() < (1.0 - _WORTH) * len(some) or _has_units(some):
        found = texts.infer_numbers(cells)
        reading = _read_numbers(cells, found, "numbers")
        assert reading.values is not None
        if dates.is_mostly_readable(reading.values):
            return (
                _read_long_numbers(cells, reading.values)
                or _read_compact_dates(reading.values)
                or reading
            )
        notes = _note_odd_texts(cells, reading, found)
    days = dates.infer_days(cells)
    if days is None:
        return _Reading("category", "texts", notes=notes + dates.describe_ambiguous(cells))
    written, values, unsure = days
    doubt = ", although day and month could be swapped" if unsure else ""
    return _Reading("date", f"dates written as {dates.name_style(written)}{doubt}", written, values)


def _has_units(some: pl.Series) -> bool:
    """Return whether most texts are numbers in one of a few units."""
    units = texts.count_units(some)
    return len(units) <= _MOST_UNITS and sum(units.values()) > _WORTH * len(some)


def _read_codes(cells: pl.Series) -> _Reading:
    """Read digits with leading zeros as labels."""
    first = next(text for text in texts.sample_texts(cells) if text.startswith("0"))
    note = (
        f"{cells.name!r} has codes with leading zeros such as {first!r} and is read as a category "
        f"({schema_sentences.format_option('number', cells.name)} to change)."
    )
    return _Reading("category", "codes with leading zeros", notes=(note,))


def _read_numbers(cells: pl.Series, found: InferredNumbers, why: str) -> _Reading:
    """Read numbers in one unit; words for a missing value among them are missing."""
    values, words = found.values, tuple[str, ...]()
    if values.odd.any():
        words = spelling.find_words(cells, values.odd)
        values = spelling.accept_words(cells, values, words)
    said = [why + (" with a decimal comma" if found.style else "")]
    said[0] += f" in {found.unit}" if found.unit else ""
    if texts.is_text(cells) and texts.has_brackets(texts.strip_whitespace(cells)):
        said.append("those in brackets as negative")
    if words:
        said.append(f"{', '.join(texts.format_cell(word) for word in words)} as missing")
    return _Reading("number", ", ".join(said), found.style, values, found.unit, words)


def _note_odd_texts(cells: pl.Series, reading: _Reading, found: InferredNumbers) -> tuple[str, ...]:
    """Say why texts that are mostly numbers are labels, and what to type."""
    assert reading.values is not None
    option = schema_sentences.format_option("number", cells.name)
    if 1 < len(found.units) <= _MOST_UNITS:
        used = ", ".join(f"{unit!r} ({n:,})" for unit, n in found.units.items())
        return (
            f"{cells.name!r} has numbers in {len(found.units)} units, {used}, which are not mixed: "
            f"it is read as text. Convert them to one unit; {option} reads those in "
            f"{found.unit!r} and treats the others as missing.",
        )
    odd = spelling.list_odd_texts(cells, reading.values.odd)
    if reading.values.odd.sum() >= _WORTH * cells.drop_nulls().len():
        return ()
    words = " ".join(schema_sentences.format_option("missing", word) for word in odd[:_OFFERED])
    offered = f"{words} counts it as missing, and " if len(odd) <= _OFFERED else ""
    first = texts.format_cell(cells[int(reading.values.odd.argmax())])
    return (
        f"Most values of {cells.name!r} are numbers, but {first} is not: {offered}{option} reads "
        "the column as numbers and treats all other text as missing.",
    )
