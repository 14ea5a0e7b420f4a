"""Parse the cells of a column as dates, in days since 1970-01-01."""

import numpy as np
import polars as pl

from posterity.arrays import Array
from posterity.tables import texts
from posterity.tables.columns import Column
from posterity.tables.texts import ParsedNumbers

_TIME = (
    r"(?:[T ,]+(?<H>\d{1,2}):(?<M>\d{2})(?::(?<S>\d{2}(?:[.,]\d+)?))?\s*(?<half>[AaPp][Mm])?"
    r"\s*(?:Z|UTC|(?<zone>[+-]\d{2}:?\d{2}))?)?$"
)
_YEAR = r"(?<y>\d{4}|\d{2})"
_MONTH = r"(?<name>[A-Za-z]{3,9})\.?"
_SEPARATOR = r"[-/., ]+"
PATTERNS = {
    "iso": r"^(?<y>\d{4})[-/](?<m>\d{1,2})(?:[-/](?<d>\d{1,2}))?" + _TIME,
    "dmy": rf"^(?<d>\d{{1,2}})[-/.](?<m>\d{{1,2}})[-/.]{_YEAR}{_TIME}",
    "mdy": rf"^(?<m>\d{{1,2}})[-/.](?<d>\d{{1,2}})[-/.]{_YEAR}{_TIME}",
    "d mon y": rf"^(?<d>\d{{1,2}}){_SEPARATOR}{_MONTH}{_SEPARATOR}{_YEAR}{_TIME}",
    "mon d y": rf"^{_MONTH}{_SEPARATOR}(?:(?<d>\d{{1,2}}){_SEPARATOR})?(?<y>\d{{4}}){_TIME}",
    "clock": _TIME.replace("(?:[T ,]+", "^(?:", 1).replace(")?$", ")$"),
    "compact": r"^(?<y>\d{4})(?<m>\d{2})(?<d>\d{2})$",
}
WORDS = {
    "iso": "year-month-day",
    "dmy": "day/month/year",
    "mdy": "month/day/year",
    "d mon y": "day, name of the month, year",
    "mon d y": "name of the month, day, year",
    "clock": "times of day",
    "compact": "yyyymmdd",
}
_MIXED = ("iso", "dmy", "mdy", "d mon y", "mon d y")  # formats that may stand in one column
_COVERED = 0.9  # fraction of a sample that they must cover
_NAMES = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTHS = {name: str(number) for number, name in enumerate(_NAMES, 1)}
_GROUPS = ("y", "m", "d", "name", "H", "M", "S", "half", "zone")
_FEW = 0.5  # fraction of distinct texts below which each is parsed once
_MANY = 20  # number of values from which one unreadable cell is treated as a typo
_HALF_PAST = 69  # two-digit years from here on are 19xx, as in POSIX


def parse_days(cells: pl.Series, style: str = "iso") -> ParsedNumbers:
    """Convert cells to days since 1970-01-01; times of day are fractions of a day.

    Examples
    --------
    >>> import polars as pl
    >>> parse_days(pl.Series(["1970-01-02", "1970-01-03 12:00", "?"])).numbers
    array([1. , 2.5, nan])
    """
    if not texts.is_text(cells):
        return (
            _parse_compact_numbers(cells)
            if cells.dtype.is_numeric()
            else texts.parse_numbers(cells)
        )
    if "+" in style:
        return _parse_several(cells, style.split("+"))
    written = texts.strip_whitespace(cells)
    distinct = written.unique()
    if len(distinct) > _FEW * len(written):
        return _parse_texts(written, style or "iso")
    # Dates repeat: parse each distinct one once.
    read = _parse_texts(distinct, style or "iso")
    places = pl.DataFrame({"text": written}).join(
        pl.DataFrame({"text": distinct, "place": np.arange(len(distinct))}),
        on="text",
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )["place"]
    return ParsedNumbers(read.numbers[places.to_numpy()], read.odd[places.to_numpy()])


def _parse_texts(written: pl.Series, style: str) -> ParsedNumbers:
    found = written.str.extract_groups(PATTERNS[style]).struct.unnest()
    absent = [pl.lit(None, pl.String).alias(name) for name in _GROUPS if name not in found.columns]
    is_clock = style == "clock"
    start, hour = (pl.lit(0.0), "H") if is_clock else (_compute_days(), pl.col("H").fill_null("0"))
    read = found.with_columns(absent).with_columns(hour, days=start)
    parts = read.select("days", seconds=_compute_seconds())
    days = parts["days"].to_numpy() + parts["seconds"].to_numpy() / 86_400.0
    missing = written.is_null() | texts.denotes_missing(written).fill_null(False)
    return ParsedNumbers(days, np.isnan(days) & ~missing.to_numpy())


def _parse_several(cells: pl.Series, styles: list[str]) -> ParsedNumbers:
    """Parse dates of several formats; a date that two of them read differently is unreadable."""
    read = [parse_days(cells, style) for style in styles]
    days = np.stack([values.numbers for values in read])
    known = ~np.isnan(days)
    low = np.min(days, axis=0, where=known, initial=np.inf)
    high = np.max(days, axis=0, where=known, initial=-np.inf)
    numbers = np.where(low == high, low, np.nan)
    odd = np.all([values.odd for values in read], axis=0) | (low < high)
    return ParsedNumbers(numbers, odd)


def require_days(cells: pl.Series, column: Column) -> Array:
    """Convert a column to days; raise an error that names the first invalid date."""
    trouble = f"is not a date written as {name_style(column.style or 'iso')}"
    if "dmy+mdy" in column.style:
        trouble += ", or could be either"
    present = texts.remove_words(cells, column.missing_words)
    return texts.require_valid(parse_days(present, column.style), cells, column, trouble)


def name_style(style: str) -> str:
    """Name a date format, or several, for messages.

    Examples
    --------
    >>> name_style("iso+dmy")
    'year-month-day or day/month/year'
    """
    return " or ".join(WORDS[one] for one in style.split("+"))


def infer_days(cells: pl.Series) -> tuple[str, ParsedNumbers, bool] | None:
    """Return the date format of a text column, its days, and whether it is ambiguous.

    It is ambiguous where day and month could be swapped. Return None if the texts are not dates.
    """
    written = texts.strip_whitespace(cells)
    some = texts.sample_texts(cells)
    likely = [style for style in PATTERNS if style != "compact" and _fits(some, style)]
    read = {style: parse_days(cells, style) for style in likely}
    fits = {style: values for style, values in read.items() if is_mostly_readable(values)}
    if not fits:
        return _infer_several(cells, some)
    best = min(fits, key=lambda style: int(fits[style].odd.sum()))
    tied = [style for style in fits if fits[style].odd.sum() == fits[best].odd.sum()]
    if len(tied) == 1:
        return best, fits[best], False
    style, unsure = _choose_day_or_month_first(written, fits["dmy"].numbers, fits["mdy"].numbers)
    return style, fits[style], unsure


def _infer_several(cells: pl.Series, some: pl.Series) -> tuple[str, ParsedNumbers, bool] | None:
    """Return the formats of dates written in several, as ``infer_days`` does."""
    written = {style: some.str.contains(PATTERNS[style]) for style in _MIXED}
    used = [style for style, found in written.items() if found.any()]
    if (
        not used
        or pl.DataFrame([written[style].alias(style) for style in used])
        .select(pl.any_horizontal(pl.all()).mean())
        .item()
        < _COVERED
    ):
        return None
    read = {style: parse_days(cells, style) for style in used}
    needed = [style for style in used if _is_needed(style, read)]
    unsure = False
    if "dmy" in used and not {"dmy", "mdy"} & set(needed):  # all of them are read both ways
        of_slashes = texts.strip_whitespace(cells)
        style, unsure = _choose_day_or_month_first(
            of_slashes, read["dmy"].numbers, read["mdy"].numbers
        )
        needed.append(style)
    if len(needed) < 2:
        return None
    style = "+".join(one for one in _MIXED if one in needed)
    values = parse_days(cells, style)
    return (style, values, unsure) if is_mostly_readable(values) else None


def _is_needed(style: str, read: dict[str, ParsedNumbers]) -> bool:
    """Return whether a format reads a cell that no other one does."""
    others = [values.odd for other, values in read.items() if other != style]
    return bool(np.any(~read[style].odd & np.all(others, axis=0))) if others else True


def describe_ambiguous(cells: pl.Series) -> tuple[str, ...]:
    """Return a sentence if dates are written day first and month first, and some could be both."""
    some = texts.sample_texts(cells)
    if not len(some) or some.str.contains(PATTERNS["dmy"]).mean() < _COVERED:  # type: ignore[operator]
        return ()
    first, second = parse_days(cells, "dmy"), parse_days(cells, "mdy")
    both = _parse_several(cells, ["dmy", "mdy"]).odd & ~first.odd & ~second.odd
    mixed = np.any(first.odd & ~second.odd) and np.any(second.odd & ~first.odd)
    if not mixed or not both.any():
        return ()
    row, n = int(both.argmax()), int(both.sum())
    return (
        f"{cells.name!r} has dates written as {WORDS['dmy']} and as {WORDS['mdy']}, and "
        f"{n:,} of them, such as {str(cells[row])!r} in row {row + 1}, could be either: it "
        "is read as text. Write the dates as year-month-day.",
    )


def is_mostly_readable(values: ParsedNumbers) -> bool:
    """Return whether there are values and at most one cell, or 1 %, was unreadable."""
    n_odd, n_read = int(values.odd.sum()), int((~np.isnan(values.numbers)).sum())
    most = max(0.01 * (n_read + n_odd), 1.0 if n_read >= _MANY else 0.0)
    return n_read > 0 and n_odd <= most


def _fits(some: pl.Series, style: str) -> bool:
    return len(some) > 0 and bool(some.str.contains(PATTERNS[style]).mean() > 0.9)  # type: ignore[operator]


def _choose_day_or_month_first(written: pl.Series, dmy: Array, mdy: Array) -> tuple[str, bool]:
    """Decide between day first and month first by row order, else by convention."""
    if _is_monotonic(dmy) != _is_monotonic(mdy):
        return ("dmy" if _is_monotonic(dmy) else "mdy"), False
    slashes = written.str.contains("/", literal=True).any()
    return ("mdy" if slashes else "dmy"), True


def _is_monotonic(values: Array) -> bool:
    steps = np.diff(values[~np.isnan(values)])
    return bool(np.any(steps) and (np.all(steps >= 0.0) or np.all(steps <= 0.0)))


def _parse_compact_numbers(cells: pl.Series) -> ParsedNumbers:
    """Parse whole numbers such as 20240131 as dates."""
    return parse_days(cells.cast(pl.Int64, strict=False).cast(pl.String), "compact")


def _compute_days() -> pl.Expr:
    """Return days since 1970-01-01 without the time; null for invalid dates."""
    year = pl.col("y")
    century = pl.when(year.cast(pl.Int32) >= _HALF_PAST).then(pl.lit("19")).otherwise(pl.lit("20"))
    full = pl.when(year.str.len_chars() == 2).then(pl.concat_str(century, year)).otherwise(year)
    named = pl.col("name").str.to_lowercase().str.head(3).replace_strict(_MONTHS, default=None)
    month, day = pl.coalesce("m", named), pl.col("d").fill_null("1")
    date = pl.concat_str(full, month, day, separator="-").str.to_date("%Y-%m-%d", strict=False)
    return date.cast(pl.Int32).cast(pl.Float64)


def _compute_seconds() -> pl.Expr:
    """Return the time in seconds of the day, in UTC where a zone is given; null if invalid."""
    S = pl.col("S").str.replace(",", ".", literal=True)
    H, M, S = (part.cast(pl.Float64) for part in (pl.col("H"), pl.col("M"), S))
    M, S, half = M.fill_null(0.0), S.fill_null(0.0), pl.col("half").str.to_lowercase()
    hours = pl.when(half == "pm").then(H % 12 + 12).when(half == "am").then(H % 12).otherwise(H)
    zone = pl.col("zone").str.replace(":", "", literal=True)
    behind, minutes = (zone.str.slice(at, 2).cast(pl.Float64) for at in (1, 3))
    size = 3600.0 * behind + 60.0 * minutes
    offset = pl.when(zone.str.starts_with("-")).then(-size).otherwise(size).fill_null(0.0)
    seconds = 3600.0 * hours + 60.0 * M + S - offset
    return pl.when((H <= 24) & (M < 60) & (S < 61)).then(seconds)
