"""Section with the rows that have the lowest predicted probability."""

from collections.abc import Callable

import numpy as np

from posterity.comparison.results import HeldOut
from posterity.report import numbers
from posterity.report.material import ReportData
from posterity.report.sections import cells
from posterity.report.sections.blocks import Row, Section, Table

_MOST = 10


def section(material: ReportData) -> Section | None:
    """Show the least probable rows with their predictions and observed values."""
    story, held = material.story, material.story.held_out
    if not len(held.rows):
        return None
    order = np.argsort(held.log_prob, kind="stable")[:_MOST]
    names = cells.shown_inputs(material)
    said = _describe_class if held.probabilities is not None else _describe_number
    rows = tuple(_row(material, int(k), names, said) for k in order)
    head = ("Row", f"Observed {story.schema.target}", "Predicted", "Log score", *names)
    words = (1, 2, *range(4, 4 + len(names)))
    caption = f"Lowest log score first. {story.row_number_note}" + cells.mention_hidden_inputs(
        material
    )
    lead = (
        f"The {numbers.format_plural(len(rows), 'row')} with the lowest predicted probability. "
        "They are "
        "often errors in the data, or cases that the inputs do not explain."
    )
    return Section(
        "surprises", "The most surprising rows", lead, (Table(caption, head, rows, words),)
    )


def _row(
    material: ReportData, k: int, names: list[str], said: Callable[[HeldOut, int], tuple[str, str]]
) -> Row:
    held, story = material.story.held_out, material.story
    place = int(held.rows[k])
    score = numbers.format_fixed(float(held.log_prob[k]), 2)
    number = story.row_number(place)
    shown = cells.format_cells(story.frame, names, place)
    values = (
        float(number),
        None if held.classes else float(held.y[k]),
        None if held.mean is None else float(held.mean[k]),
        float(held.log_prob[k]),
        *cells.find_values(story.frame, names, place),
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
