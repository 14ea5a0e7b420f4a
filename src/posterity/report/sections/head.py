"""The top of the page: the verdict, the main facts, and the next command."""

from dataclasses import dataclass

import numpy as np

from posterity.report import numbers
from posterity.report.sections import models
from posterity.report.sections.dependence import NOMINAL
from posterity.report.story import Story

_PLUS_MINUS = f"\N{NO-BREAK SPACE}{numbers.PLUS_MINUS}\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class Head:
    """Contents of the top of the page."""

    title: str
    source: str
    target: str
    verdict: str
    facts: tuple[tuple[str, str], ...]
    cautions: tuple[str, ...]
    notes: tuple[str, ...]
    next_command: str


def head(story: Story) -> Head:
    """Build the top of the page."""
    found = story.comparison
    return Head(
        story.title,
        story.source,
        story.schema.target,
        models.link_quoted_names(_write_verdict(story), models.find_links(story)),
        tuple(_list_facts(story)),
        () if found is None else found.cautions,
        (*story.notes, *story.schema.notes),
        story.predict_command,
    )


def _list_facts(story: Story) -> list[tuple[str, str]]:
    used = len(story.held_out.rows)
    inputs, dropped = len(story.schema.inputs), len(story.schema.dropped)
    left_out = f", {dropped} ignored" if dropped else ""
    rows = numbers.format_count(story.n_rows)
    facts = [
        ("Target", story.schema.target),
        ("Task", story.schema.task),
        ("Rows", rows if used == story.n_rows else f"{rows}, {numbers.format_count(used)} scored"),
        ("Inputs", f"{inputs}{left_out}"),
        ("Model", models.link_name(story.model_name, models.find_links(story))),
    ]
    if story.comparison is not None and story.comparison.scope:
        facts.append(("Scores hold", story.comparison.scope))
    classes = len(story.held_out.classes)
    return [*facts, ("Classes", str(classes))] if classes else facts


def _write_verdict(story: Story) -> str:
    if story.comparison is not None:
        return story.comparison.verdict.replace(" +- ", _PLUS_MINUS)
    score = numbers.format_short(float(np.mean(story.held_out.log_prob)))
    measured = numbers.format_plural(len(story.held_out.rows), "row")
    return (
        f"The log score, the mean log probability of the observed values, is {score} on "
        f"{measured}. {_describe_calibration(story)}"
    )


def _describe_calibration(story: Story) -> str:
    """Return a sentence that compares predicted and observed frequencies."""
    held = story.held_out
    if held.pit is not None:
        inside = np.mean(np.abs(2.0 * held.pit - 1.0) <= NOMINAL)
        share, stated = numbers.format_percent(float(inside), 1), numbers.format_percent(NOMINAL)
        return f"The {stated} intervals contain {share} of the observed values."
    if held.probabilities is None:
        return ""
    right = np.mean(np.argmax(held.probabilities, axis=1) == held.y)
    stated = numbers.format_percent(float(np.mean(np.max(held.probabilities, axis=1))))
    return (
        f"The most probable class is correct in {numbers.format_percent(float(right))} of rows, "
        "with a "
        f"mean predicted probability of {stated}."
    )
