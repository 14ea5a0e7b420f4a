"""The rows that the model had least expected."""

from collections.abc import Callable

import numpy as np

from posterity.comparison.results import HeldOut
from posterity.report import numbers
from posterity.report.material import Material
from posterity.report.sections import cells
from posterity.report.sections.blocks import Row, Section, Table

_MOST = 10


def section(material: Material) -> Section | None:
    """The least probable rows, with what was said of them and what came."""
    story, held = material.story, material.story.held_out
    if not len(held.rows):
        return None
    order = np.argsort(held.log_prob, kind="stable")[:_MOST]
    names = cells.columns(material)
    said = _class_said if held.probabilities is not None else _number_said
    rows = tuple(_row(material, int(k), names, said) for k in order)
    head = ("Row", f"Observed {story.schema.target}", "Predicted", "Log score", *names)
    words = (1, 2, *range(4, 4 + len(names)))
    caption = f"The least expected first. {story.counting}" + cells.cut(material)
    lead = (
        f"The {numbers.plural(len(rows), 'row')} to which the model gave least. Errors in the data "
        "often stand here, and so do cases of a kind that the inputs do not tell."
    )
    return Section(
        "surprises", "The most surprising rows", lead, (Table(caption, head, rows, words),)
    )


def _row(
    material: Material, k: int, names: list[str], said: Callable[[HeldOut, int], tuple[str, str]]
) -> Row:
    held, story = material.story.held_out, material.story
    place = int(held.rows[k])
    score = numbers.fixed(float(held.log_prob[k]), 2)
    number = numbers.count(story.row_number(place))
    return Row((number, *said(held, k), score, *cells.cells(story.frame, names, place)))


def _number_said(held: HeldOut, k: int) -> tuple[str, str]:
    came = numbers.short(float(held.y[k]), 4)
    if held.quantiles is None:
        return came, numbers.DASH
    low, middle, high = (numbers.short(float(held.quantiles[k, j]), 4) for j in (0, 2, 4))
    return came, f"{middle}; 90 %: {low} to {high}"


def _class_said(held: HeldOut, k: int) -> tuple[str, str]:
    if held.probabilities is None:
        return held.classes[int(held.y[k])], numbers.DASH
    p = held.probabilities[k]
    best, came = int(np.argmax(p)), int(held.y[k])
    given = f"{held.classes[came]} ({_chance(float(p[came]))})"
    return given, f"{held.classes[best]} ({_chance(float(p[best]))})"


def _chance(p: float) -> str:
    """In per cent; never certain, and small ones to the digits they have."""
    if p > 0.995:
        return "> " + numbers.percent(0.99)
    return numbers.percent(p) if p > 0.01 else numbers.short(100.0 * p, 2) + " %"
