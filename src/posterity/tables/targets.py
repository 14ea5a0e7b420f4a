"""Determine the task and how the target is read."""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.tables import column_types, dates, frames, schema_sentences, spelling, texts
from posterity.tables.column_types import ParsedColumn
from posterity.tables.columns import TableError, Task, list_names, refuse_cells

MOST_CLASSES = 50
_FEW_WHOLE = 10  # maximum number of distinct whole numbers treated as classes
_COUNTED = re.compile(
    r"(?:^|_)(?:n|nb|num|number)_.|(?:^|_)(?:counts?|cnt|nb|claims|visits|goals|events|accidents|crashes|"
    r"calls|deaths|births|children|siblings|injuries|arrests|failures|defects|errors|complaints|"
    r"purchases|orders|awards|trips|eggs|seizures|episodes|bugs)$"
)
_CODED = re.compile(
    r"(?:^|_)(?:class|label|code|categor|group|type|level|grade|stage|rating|id(?:_|$))"
)
_ENOUGH_ROWS = 100  # for a spread to be told from that of classes
_OPEN_VALUES, _OPEN_ROWS, _OPEN_SHARE = 4, 3, 0.02  # the largest of some counts is rare
_DISPERSION = (0.5, 5.0)  # variance over mean
_ERRORS = 2.0  # by which a larger value may have more rows by chance


def infer_target(
    frame: pl.DataFrame,
    target: str,
    task: Task | None,
    *,
    missing: Sequence[str] = (),
    exact: bool = False,
) -> tuple[Task, ParsedColumn, tuple[str, ...]]:
    """Return the task, the parsed target, and notes about it."""
    frames.require_columns(frame, (target,))
    cells = frame[target]
    if task == "regression":
        number = _parse_numbers(cells, missing)
        _require_variation(number)
        return task, number, number.notes
    seen = column_types.parse_column(cells, missing=missing, exact=exact)
    _require_variation(seen)
    chosen, notes = (task, ()) if task else _infer_task(seen)
    if chosen == "regression":
        return chosen, seen, (*notes, *seen.notes)
    classes = _parse_classes(seen, cells, exact)
    return chosen, classes, (*notes, *classes.notes, *_check_classes(classes))


def _require_variation(seen: ParsedColumn) -> None:
    name = seen.column.name
    if seen.n_present < 2:
        n = "no row has" if not seen.n_present else "only one row has"
        raise TableError(
            f"The target {name!r} cannot be learned: {n} a value for it. At least 2 rows are "
            "required, and many more for a useful model."
        )
    if seen.column.n_distinct == 1:
        raise TableError(
            f"The target {name!r} has the same value in every row. Choose another target."
        )


def _infer_task(seen: ParsedColumn) -> tuple[Task, tuple[str, ...]]:
    """Infer the task, with a note if it is ambiguous."""
    name, n_distinct = seen.column.name, seen.column.n_distinct
    if seen.column.kind == "date":
        raise TableError(
            f"The target {name!r} contains dates, which cannot be predicted. Use a number as "
            "target, such as the days since some event, or --task classification."
        )
    if seen.column.kind == "category":
        return "classification", ()
    if n_distinct == 2 and seen.n_present > 2:
        return "classification", ()
    if seen.are_whole() and n_distinct <= _FEW_WHOLE and seen.n_present >= 3 * n_distinct:
        if why := find_counts(seen):
            return "regression", (
                f"The target {name!r} has {n_distinct} distinct whole numbers, which are treated "
                f"as counts because {why}; use --task classification if they are classes.",
            )
        return "classification", (
            f"The target {name!r} has {n_distinct} distinct whole numbers, which are treated as "
            "classes; use --task regression if they are quantities.",
        )
    return "regression", ()


def find_counts(seen: ParsedColumn) -> str | None:
    """Return why a few whole numbers are counts and not the codes of classes; None if they may be.

    Counts begin with 0, 1 and 2. A name that says what is counted decides. Otherwise their spread
    must be one of counts: one peak, a variance near the mean, and no upper end, so that the largest
    values are rare, as the rarest of a few classes hardly is.

    Examples
    --------
    >>> import polars as pl
    >>> coded = column_types.parse_column(pl.Series("kind", [0, 1, 2] * 9 + [0] * 9))
    >>> find_counts(coded)
    >>> find_counts(column_types.parse_column(pl.Series("n_visits", [0, 1, 2] * 9 + [0] * 9)))
    'its name says so'
    """
    assert seen.numbers is not None
    values, rows = np.unique(seen.numbers[~np.isnan(seen.numbers)], return_counts=True)
    if not np.array_equal(values[:3], [0.0, 1.0, 2.0]):
        return None
    name = "_".join(re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", seen.column.name)).lower()
    if _CODED.search(name):
        return None
    if _COUNTED.search(name):
        return "its name says so"
    return "larger ones are ever rarer" if _spread_like_counts(values, rows) else None


def _spread_like_counts(values: Array, rows: NDArray[np.intp]) -> bool:
    """Return whether these values, each in some rows, have the spread of counts."""
    mean = np.average(values, weights=rows)
    dispersion = np.average((values - mean) ** 2, weights=rows) / mean
    peak, n = int(np.argmax(rows)), int(rows.sum())
    falls = np.concatenate([np.diff(rows[peak::-1]), np.diff(rows[peak:])])  # away from the peak
    before = np.concatenate([rows[peak:0:-1], rows[peak:-1]])
    has_one_peak = np.all(falls <= _ERRORS * np.sqrt(before + 1.0))
    is_open = len(values) >= _OPEN_VALUES and rows[-1] <= max(_OPEN_ROWS, _OPEN_SHARE * n)
    spreads = n >= _ENOUGH_ROWS and _DISPERSION[0] <= dispersion <= _DISPERSION[1]
    return bool(has_one_peak and is_open and spreads)


def _parse_numbers(cells: pl.Series, missing: Sequence[str]) -> ParsedColumn:
    """Parse the target as numbers; raise if a value is not a number."""
    if isinstance(cells.dtype, pl.Date | pl.Datetime | pl.Time):
        raise TableError(
            f"The target {cells.name!r} contains dates, not numbers. Use another target, such as "
            "the days since some event."
        )
    found = texts.infer_numbers(texts.remove_words(cells, tuple(missing)))
    values = spelling.accept_words(
        cells, found.values, spelling.find_words(cells, found.values.odd)
    )
    if not dates.is_mostly_readable(values):
        refuse_cells(
            values.odd,
            cells.name,
            lambda row: (
                f"{str(cells[row])!r} is not a number, which regression requires. Correct "
                "the cell, leave it empty, count it as missing "
                f"({schema_sentences.format_option('missing', str(cells[row]))}), or use --task "
                "classification."
            ),
        )
    seen = column_types.parse_column(cells, "number", missing=missing)
    column = replace(seen.column, lenient=bool(values.odd.any()))
    return ParsedColumn(column, seen.numbers, notes=seen.notes)


def _parse_classes(seen: ParsedColumn, cells: pl.Series, exact: bool) -> ParsedColumn:
    """Return the target as labels."""
    column = seen.column
    if column.kind == "number":
        labels = texts.convert_labels(cells, column)
        return ParsedColumn(column, labels=labels, notes=seen.notes)
    if column.kind == "category":
        return seen
    return column_types.parse_column(cells, "category", missing=column.missing_words, exact=exact)


def _check_classes(seen: ParsedColumn) -> tuple[str, ...]:
    """Raise if there are too many classes; return a note about rare classes."""
    assert seen.labels is not None
    name, n_distinct = seen.column.name, seen.column.n_distinct
    if n_distinct > MOST_CLASSES or (seen.n_present >= 10 and n_distinct > 0.5 * seen.n_present):
        number = seen.column.kind == "number"
        advice = (
            "use --task regression" if number else "merge rare classes, or choose another target"
        )
        raise TableError(
            f"The target {name!r} has {n_distinct} distinct values in {seen.n_present} rows, too "
            f"many for classes (at most {MOST_CLASSES}, and half the rows): {advice}."
        )
    counts = seen.labels.drop_nulls().alias("label").value_counts(name="count", sort=True)
    single = sorted(counts.filter(pl.col("count") == 1)["label"].to_list())
    if not single:
        return ()
    shown = list_names([texts.format_cell(label) for label in single])
    some = "is a class" if len(single) == 1 else "are classes"
    return (f"{shown} {some} of the target with a single row, too few to learn from.",)
