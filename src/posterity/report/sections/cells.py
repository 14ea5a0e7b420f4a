"""Format rows of the input table for tables of the report."""

from typing import Any

import polars as pl

from posterity.report import numbers
from posterity.report.material import Material

_LENGTH = 40
MOST_COLUMNS = 8


def columns(material: Material) -> list[str]:
    """Return the names of the inputs that are shown for a row, the most important ones."""
    return material.names[:MOST_COLUMNS]


def cells(frame: pl.DataFrame, names: list[str], row: int) -> tuple[str, ...]:
    """Format the cells of one row, each short enough for a table."""
    return tuple(text(frame[name][row]) for name in names)


def text(value: Any) -> str:
    """Format one value; a dash if it is missing."""
    if value is None:
        return numbers.DASH
    return (
        numbers.short(value, 5)
        if isinstance(value, float)
        else numbers.clipped(str(value), _LENGTH)
    )


def cut(material: Material) -> str:
    """Return a sentence if not all inputs are shown."""
    n = len(material.names)
    return "" if n <= MOST_COLUMNS else f" Showing the {MOST_COLUMNS} most important of {n} inputs."
