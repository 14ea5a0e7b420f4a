"""The top of the page: the verdict, the main facts, and the next command."""

from dataclasses import dataclass

import numpy as np

from posterity.report import numbers
from posterity.report.contents import ReportContents
from posterity.report.sections import models
from posterity.report.sections.dependence import NOMINAL

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


def head(contents: ReportContents) -> Head:
    """Build the top of the page."""
    found = contents.comparison
    return Head(
        contents.title,
        contents.source,
        contents.schema.target,
        models.link_quoted_names(_write_verdict(contents), models.find_links(contents)),
        tuple(_list_facts(contents)),
        () if found is None else found.cautions,
        (*contents.notes, *contents.schema.notes),
        contents.predict_command,
    )


def _list_facts(contents: ReportContents) -> list[tuple[str, str]]:
    used = len(contents.held_out.rows)
    inputs, dropped = len(contents.schema.inputs), len(contents.schema.dropped)
    left_out = f", {dropped} ignored" if dropped else ""
    rows = numbers.format_count(contents.n_rows)
    scored = f", {numbers.format_count(used)} scored"
    facts = [
        ("Target", contents.schema.target),
        ("Task", contents.schema.task),
        (
            "Rows",
            rows if used == contents.n_rows else rows + scored,
        ),
        ("Inputs", f"{inputs}{left_out}"),
        ("Model", models.link_name(contents.model_name, models.find_links(contents))),
    ]
    if contents.comparison is not None and contents.comparison.scope:
        facts.append(("Scores hold", contents.comparison.scope))
    classes = len(contents.held_out.classes)
    return [*facts, ("Classes", str(classes))] if classes else facts


def _write_verdict(contents: ReportContents) -> str:
    if contents.comparison is not None:
        return contents.comparison.verdict.replace(" +- ", _PLUS_MINUS)
    score = numbers.format_short(float(np.mean(contents.held_out.log_prob)))
    measured = numbers.format_plural(len(contents.held_out.rows), "row")
    return (
        f"The log score, the mean log probability of the observed values, is {score} on "
        f"{measured}. {_describe_calibration(contents)}"
    )


def _describe_calibration(contents: ReportContents) -> str:
    """Return a sentence that compares predicted and observed frequencies."""
    held = contents.held_out
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
