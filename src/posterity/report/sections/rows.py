"""Sections with rows of the table: those with the lowest predicted probability, and vectors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from posterity import tables
from posterity.comparison.results import HeldOut
from posterity.report import numbers
from posterity.report.contents import ReportData
from posterity.report.sections.blocks import Row, Section, Table

_LENGTH = 40
MOST_COLUMNS = 8


def shown_inputs(data: ReportData) -> list[str]:
    """Return the names of the inputs that are shown for a row, the most important ones."""
    return data.names[:MOST_COLUMNS]


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


def mention_hidden_inputs(data: ReportData) -> str:
    """Return a sentence if not all inputs are shown."""
    n = len(data.names)
    return "" if n <= MOST_COLUMNS else f" Showing the {MOST_COLUMNS} most important of {n} inputs."


_MOST_SURPRISING = 10


def show_surprising_rows(data: ReportData) -> Section | None:
    """Show the least probable rows with their predictions and observed values."""
    contents, held = data.contents, data.contents.held_out
    if not len(held.rows):
        return None
    order = np.argsort(held.log_prob, kind="stable")[:_MOST_SURPRISING]
    names = shown_inputs(data)
    said = _describe_class if held.probabilities is not None else _describe_number
    rows = tuple(_make_row(data, int(k), names, said) for k in order)
    head = ("Row", f"Observed {contents.schema.target}", "Predicted", "Log score", *names)
    words = (1, 2, *range(4, 4 + len(names)))
    caption = f"Lowest log score first. {contents.row_number_note}" + mention_hidden_inputs(data)
    lead = (
        f"The {numbers.format_plural(len(rows), 'row')} with the lowest predicted probability. "
        "They are "
        "often errors in the data, or cases that the inputs do not explain."
    )
    return Section(
        "surprises", "The most surprising rows", lead, (Table(caption, head, rows, words),)
    )


def _make_row(
    data: ReportData, k: int, names: list[str], said: Callable[[HeldOut, int], tuple[str, str]]
) -> Row:
    held, contents = data.contents.held_out, data.contents
    place = int(held.rows[k])
    score = numbers.format_fixed(float(held.log_prob[k]), 2)
    number = contents.row_number(place)
    shown = format_cells(contents.frame, names, place)
    values = (
        float(number),
        None if held.classes else float(held.y[k]),
        None if held.mean is None else float(held.mean[k]),
        float(held.log_prob[k]),
        *find_values(contents.frame, names, place),
    )
    return Row((numbers.format_count(number), *said(held, k), score, *shown), values=values)


def _describe_number(held: HeldOut, k: int) -> tuple[str, str]:
    came = numbers.format_short(float(held.y[k]), 4)
    if held.quantiles is None:
        return came, numbers.DASH
    low, middle, high = (numbers.format_short(float(held.quantiles[k, j]), 4) for j in (0, 2, 4))
    return came, f"{middle}; 90 %: {low} to {high}"


def _describe_class(held: HeldOut, k: int) -> tuple[str, str]:
    if held.probabilities is None:
        return held.classes[int(held.y[k])], numbers.DASH
    p = held.probabilities[k]
    best, came = int(np.argmax(p)), int(held.y[k])
    given = f"{held.classes[came]} ({_format_probability(float(p[came]))})"
    return given, f"{held.classes[best]} ({_format_probability(float(p[best]))})"


def _format_probability(p: float) -> str:
    """Format a probability in per cent, never as 100 %, and small ones with more digits."""
    if p > 0.995:
        return "> " + numbers.format_percent(0.99)
    return numbers.format_percent(p) if p > 0.01 else numbers.format_short(100.0 * p, 2) + " %"


_MOST_VECTORS = 30
_SAME = 1e-9


def show_vectors(data: ReportData) -> Section | None:
    """Show the relevance vectors; None if there are none, or they are not in the table."""
    contents = data.contents
    rows = find_training_rows(data)
    if rows is None or not len(rows):
        return None
    shown, names = rows[:_MOST_VECTORS], shown_inputs(data)
    target = contents.schema.target
    caption = contents.row_number_note + mention_hidden_inputs(data)
    lines = tuple(
        Row(
            (
                numbers.format_count(contents.row_number(int(row))),
                *format_cells(contents.frame, [target, *names], int(row)),
            ),
            values=(
                float(contents.row_number(int(row))),
                *find_values(contents.frame, [target, *names], int(row)),
            ),
        )
        for row in shown
    )
    lead = (
        f"The model keeps {numbers.format_plural(len(rows), 'relevance vector')} of "
        f"{numbers.format_plural(contents.model.n_rows_, 'row')}; predictions depend on these rows "
        "only."
    )
    if len(rows) > _MOST_VECTORS:
        lead += f" Showing the first {_MOST_VECTORS}."
    words = tuple(range(1, 2 + len(names)))
    table = Table(caption, ("Row", target, *names), lines, words=words)
    return Section("vectors", "Relevance vectors", lead, (table,))


def find_training_rows(data: ReportData) -> NDArray[np.intp] | None:
    """Return the positions of the relevance vectors in the frame.

    The model counts only rows with a target, and may have been fitted to another table, so its
    vectors are compared with the rows of the frame; None if they differ.
    """
    contents = data.contents
    estimator: Any = tables.strip_exposure(contents.model.estimator_)
    vectors = getattr(estimator, "relevance_vectors_", None)
    places = getattr(estimator, "relevance_", None)
    if vectors is None or places is None:
        return None
    with_target = np.flatnonzero(contents.model.encode_targets(contents.frame)[1])
    if len(with_target) != contents.model.n_rows_ or places.max(initial=-1) >= len(with_target):
        return None
    rows = with_target[places]
    X = contents.model.encoder_.transform(contents.frame[rows])
    return rows if np.allclose(X, vectors, rtol=_SAME, atol=_SAME) else None
