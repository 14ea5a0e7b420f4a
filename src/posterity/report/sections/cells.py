"""Rows of the reader's own table, as cells of a table of the page."""

from typing import Any

import polars as pl

from posterity.report import numbers
from posterity.report.material import Material

_LENGTH = 40
MOST_COLUMNS = 8


def columns(material: Material) -> list[str]:
    """The inputs that are shown beside a row: the most important ones."""
    return material.names[:MOST_COLUMNS]


def cells(frame: pl.DataFrame, names: list[str], row: int) -> tuple[str, ...]:
    """The cells of one row, each short enough for a table."""
    return tuple(text(frame[name][row]) for name in names)


def text(value: Any) -> str:
    """One value as a person reads it; a dash where it is missing."""
    if value is None:
        return numbers.DASH
    return (
        numbers.short(value, 5)
        if isinstance(value, float)
        else numbers.clipped(str(value), _LENGTH)
    )


def cut(material: Material) -> str:
    """A sentence on inputs that are not shown."""
    n = len(material.names)
    return (
        "" if n <= MOST_COLUMNS else f" Of {n} inputs the {MOST_COLUMNS} most important are shown."
    )
