"""The top of the page: what was asked, the answer in two sentences, and what to type next."""

from dataclasses import dataclass

import numpy as np

from posterity.report import numbers
from posterity.report.story import Story

_NOMINAL = 0.9


@dataclass(frozen=True)
class Head:
    """What the page opens with."""

    title: str
    source: str
    target: str
    verdict: str
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    next_command: str


def head(story: Story) -> Head:
    """The top of the page."""
    return Head(
        story.title,
        story.source,
        story.schema.target,
        _verdict(story),
        tuple(_facts(story)),
        (*story.notes, *story.schema.notes),
        story.predict_command,
    )


def _facts(story: Story) -> list[tuple[str, str]]:
    used = len(story.held_out.rows)
    inputs, dropped = len(story.schema.inputs), len(story.schema.dropped)
    left_out = f", {dropped} left out" if dropped else ""
    rows = numbers.count(story.n_rows)
    facts = [
        ("Target", story.schema.target),
        ("Task", story.schema.task),
        ("Rows", rows if used == story.n_rows else f"{rows}, {numbers.count(used)} measured"),
        ("Inputs", f"{inputs}{left_out}"),
        ("Model", story.model_name),
    ]
    classes = len(story.held_out.classes)
    return [*facts, ("Classes", str(classes))] if classes else facts


def _verdict(story: Story) -> str:
    if story.comparison is not None:
        return story.comparison.verdict
    score = numbers.short(float(np.mean(story.held_out.log_prob)))
    measured = numbers.plural(len(story.held_out.rows), "row")
    return f"Measured on {measured}, the mean log score is {score}. {_trust(story)}"


def _trust(story: Story) -> str:
    """A sentence on whether what happens is as likely as the model says."""
    held = story.held_out
    if held.quantiles is not None:
        inside = np.mean((held.quantiles[:, 0] <= held.y) & (held.y <= held.quantiles[:, -1]))
        share, stated = numbers.percent(float(inside)), numbers.percent(_NOMINAL)
        return f"Of what came, {share} lay within the central {stated} of the prediction."
    if held.probabilities is None:
        return ""
    right = np.mean(np.argmax(held.probabilities, axis=1) == held.y)
    stated = numbers.percent(float(np.mean(np.max(held.probabilities, axis=1))))
    return (
        f"The most probable class came in {numbers.percent(float(right))} of rows, and was given "
        f"{stated} on average."
    )
