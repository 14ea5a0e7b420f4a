"""Format rows of the input table for tables of the report."""

from typing import Any

import polars as pl

from posterity.report import numbers
from posterity.report.material import ReportData

_LENGTH = 40
MOST_COLUMNS = 8


def shown_inputs(material: ReportData) -> list[str]:
    """Return the names of the inputs that are shown for a row, the most important ones."""
    return material.names[:MOST_COLUMNS]


def format_cells(frame: pl.DataFrame, names: list[str], row: int) -> tuple[str, ...]:
    """Format the cells of one row, each short enough for a table."""
    return tuple(format_cell(frame[name][row]) for name in names)


def find_values(frame: pl.DataFrame, names: list[str], row: int) -> tuple[float | None, ...]:
    """Return the cells of one row that are numbers, by which a table is sorted."""
    cells = (frame[name][row] for name in names)
    return tuple(float(one) if isinstance(one, int | float) else None for one in cells)


def format_cell(value: Any) -> str:
    """Format one value; a dash if it is missing."""
    if value is None:
        return numbers.DASH
    return (
        numbers.format_short(value, 5)
        if isinstance(value, float)
        else numbers.clip_text(str(value), _LENGTH)
    )


def mention_hidden_inputs(material: ReportData) -> str:
    """Return a sentence if not all inputs are shown."""
    n = len(material.names)
    return "" if n <= MOST_COLUMNS else f" Showing the {MOST_COLUMNS} most important of {n} inputs."
