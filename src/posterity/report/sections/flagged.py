"""Section on rows of one of two classes: how well each model flags them, and at which cost."""

import math
from collections.abc import Sequence

from posterity.comparison.results import TwoClassScores
from posterity.report import numbers
from posterity.report.contents import ReportContents, ReportData
from posterity.report.sections import models
from posterity.report.sections.blocks import Row, Section, Table

_HEAD = ("Model", "Brier score", "Precision", "Recall", "ROC area", "Flagged")


def section(data: ReportData) -> Section | None:
    """Show the scores of two classes; None for numbers and for more classes."""
    contents = data.contents
    scored = _list_scores(contents)
    if not scored:
        return None
    links = models.find_links(contents)
    first = scored[0][2]
    costs = () if first.expected_cost is None else ("Cost per row",)
    rows = tuple(_row(name, mark, found, links.get(name, "")) for name, mark, found in scored)
    title = f"Rows flagged as {numbers.clip_text(first.positive, 40)}"
    lead = (
        f"A row is flagged if its probability of {first.positive!r} is at least "
        f"{numbers.format_short(first.threshold)}."
    )
    return Section("flagged", title, lead, (Table(_caption(first), (*_HEAD, *costs), rows),))


def _list_scores(contents: ReportContents) -> Sequence[tuple[str, str, TwoClassScores]]:
    """Return the name of each model, its mark in the table, and its scores."""
    found = contents.comparison
    if found is None:
        alone = contents.two_classes
        return [] if alone is None else [(contents.model_name, "", alone)]
    return [
        (
            one.name,
            "baseline" if one.baseline else "chosen" if one is found.best else "",
            one.two_classes,
        )
        for one in found.results
        if one.two_classes is not None
    ]


def _caption(found: TwoClassScores) -> str:
    costs = " Cost per row: mean cost of mistakes with its standard error; lower is better."
    return (
        "Brier score: mean squared error of the probability; lower is better. Precision: share of "
        f"the flagged rows whose class is {found.positive!r}. Recall: share of the rows of this "
        "class that are flagged. ROC area: probability that a row of this class is ranked above "
        "one of the other. Flagged: share of all rows."
        f"{'' if found.expected_cost is None else costs}"
    )


def _row(name: str, mark: str, found: TwoClassScores, link: str) -> Row:
    cells = (
        name,
        numbers.format_fixed(found.brier, 3),
        numbers.format_percent(found.precision, 1),
        numbers.format_percent(found.recall, 1),
        _format_area(found.roc_area),
        numbers.format_percent(found.flagged, 1),
    )
    sorts = (found.brier, found.precision, found.recall, found.roc_area, found.flagged)
    values = (None, *(None if math.isnan(value) else value for value in sorts))
    if found.expected_cost is None or found.cost_error is None:
        return Row(cells, mark, values, link)
    cost = numbers.join_with_error(found.expected_cost, found.cost_error)
    return Row((*cells, cost), mark, (*values, found.expected_cost), link)


def _format_area(area: float) -> str:
    return numbers.DASH if math.isnan(area) else numbers.format_fixed(area, 3)
