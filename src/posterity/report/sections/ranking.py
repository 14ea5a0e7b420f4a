"""Sections with the ranking of models by log score, and of two classes by the rows they flag."""

import math
from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from posterity.comparison import describe_gain
from posterity.comparison.results import Comparison, Result, TwoClassScores
from posterity.report import numbers, scales
from posterity.report.contents import ReportContents, ReportData
from posterity.report.sections import models
from posterity.report.sections.blocks import (
    Block,
    Figure,
    Figures,
    Items,
    Row,
    Section,
    Table,
    Text,
)
from posterity.report.svg import BROAD, Plot, label_margin

_STEP = 26.0  # between two models in the figure
_FAR = 4.0  # times the typical difference; models beyond it get a mark at the edge


def section(data: ReportData) -> Section | None:
    """Show the ranking; None if there is only one model."""
    found = data.contents.comparison
    if found is None or len(found.results) < 2:
        return None
    links = models.find_links(data.contents)
    blocks: list[Block] = [Figures((_figure(found),)), _table(found, links)]
    if found.skipped:
        items = (
            Markup("{}: {}").format(models.link_name(s.name, links), s.why) for s in found.skipped
        )
        blocks += [Text("Not scored:"), Items(tuple(items))]
    stopped = [(r.name, why) for r in found.results if (why := r.stopped)]
    if stopped:
        told = (
            Markup("{}: {}").format(models.link_name(name, links), why) for name, why in stopped
        )
        blocks += [Text("Compared on fewer rows:"), Items(tuple(told))]
    lead = (
        f"{found.folds}-fold cross-validation of "
        f"{numbers.format_plural(len(found.results), 'model')} on "
        f"{numbers.format_plural(found.n_rows, 'row')}; all models use the same folds. The "
        "log score is the mean logarithm of the probability that a model gave to the observed "
        "values, in nats: 0.01 nats more are 1 % more probability."
    )
    lead = " ".join([lead, *describe_gain(found.results, found.best)])
    return Section("ranking", "Ranking of models", lead, tuple(blocks))


def _figure(found: Comparison) -> Figure:
    title = "Difference in log score from the best model"
    caption = (
        "Each dot is the mean log score of a model on held-out rows minus that of the best; "
        "further right is better. Lines are two standard errors of the difference, computed row "
        "by row. If a line reaches zero, the difference may be chance."
    )
    both = (("dots accent", "models"), ("dots hollow", "baselines"))
    legend = both if any(result.baseline for result in found.results) else ()
    narrow, broad = (_picture(found.results, title, width) for width in (Plot.width, BROAD))
    return Figure(narrow, title, caption, legend, broad)


def _picture(results: tuple[Result, ...], title: str, width: float) -> Markup:
    n = len(results)
    y = np.arange(n - 1, -1, -1, dtype=np.float64)
    lost = -np.array([r.behind for r in results])
    error = 2.0 * np.nan_to_num([r.behind_error for r in results])
    edge = _axis_limit(lost)
    near = lost >= edge
    ends = np.concatenate([(lost - error)[near], (lost + error)[near], np.zeros(1)])
    x_scale = scales.linear_scale(ends, "nats per row")
    names = scales.category_scale(
        [r.name for r in reversed(results)], length=22 if width < BROAD else 36
    )
    height = _STEP * n + 54.0
    plot = Plot(x_scale, names, width=width, height=height, left=label_margin(names))
    far = ~near & (lost < x_scale.low)
    baseline = np.array([r.baseline for r in results])
    layers = [
        plot.line([0.0, 0.0], [-0.5, n - 0.5], "rule"),
        plot.bars((lost - error)[~far], (lost + error)[~far], y[~far], "muted"),
        *(
            plot.dots(lost[at], y[at], name, radius=5.0, tips=_list_tooltips(results, at))
            for at, name in ((~far & ~baseline, "accent"), (~far & baseline, "hollow"))
        ),
        plot.texts(
            np.full(far.sum(), x_scale.low), y[far], _label_beyond_axis(lost[far]), "beyond"
        ),
    ]
    best = results[0].name
    told = f"{n} models from best to worst; the best is {best}."
    return plot.picture(*layers, title=title, description=told)


def _axis_limit(lost: np.ndarray) -> float:
    """Return the lower end of the axis, so that one bad model does not compress all others."""
    behind = np.sort(-lost[np.isfinite(lost)])
    typical = float(np.median(behind[behind > 0.0])) if (behind > 0.0).any() else 0.0
    return -min(float(behind[-1]), _FAR * typical) if len(behind) else 0.0


def _label_beyond_axis(lost: np.ndarray) -> list[str]:
    arrow = "\N{LEFTWARDS ARROW}"
    return [f"{arrow} {numbers.format_short(value)}" for value in lost.tolist()]


def _list_tooltips(results: tuple[Result, ...], at: np.ndarray) -> list[str]:
    return [
        f"{r.name}: {numbers.format_short(r.behind)} below the best"
        for r, shown in zip(results, at, strict=True)
        if shown
    ]


def _table(found: Comparison, links: dict[str, str]) -> Table:
    regression = found.schema.task == "regression"
    head = (
        "Model",
        "Log score",
        "Below the best",
        "RMSE" if regression else "Accuracy",
        *(("Coverage 90 %",) if regression else ()),
        "Calibration error",
        "Log evidence",
        "Fit, s",
        "Predict, ms",
        "Size",
    )
    caption = (
        "Log score: with its standard error; higher is better. Calibration error: 0 is best. Fit: "
        "seconds for one fold; predict: milliseconds for 1000 rows; size: of the saved model."
    )
    rows = (_row(r, found.best, regression, links.get(r.name, "")) for r in found.results)
    return Table(caption, head, tuple(rows))


def _row(result: Result, best: Result, regression: bool, link: str) -> Row:
    figures = (
        (numbers.format_short(result.rmse, 4), numbers.format_percent(result.coverage))
        if regression
        else (numbers.format_percent(result.accuracy, 1),)
    )
    cells = (
        result.name,
        numbers.join_with_error(result.log_score, result.standard_error),
        numbers.join_with_error(result.behind, result.behind_error)
        if result.behind > 0.0
        else numbers.DASH,
        *figures,
        numbers.format_short(result.calibration, 2),
        numbers.format_short(result.log_evidence, 4),
        numbers.format_short(result.fit_seconds, 2),
        numbers.format_short(1000.0 * result.predict_seconds, 2),
        numbers.format_bytes(result.n_bytes),
    )
    values = (
        None,
        result.log_score,
        result.behind,
        *((result.rmse, result.coverage) if regression else (result.accuracy,)),
        result.calibration,
        result.log_evidence,
        result.fit_seconds,
        result.predict_seconds,
        result.n_bytes,
    )
    mark = "baseline" if result.baseline else "chosen" if result is best else ""
    return Row(cells, mark, values, link)


_FLAGGED_HEAD = ("Model", "Brier score", "Precision", "Recall", "ROC area", "Flagged")


def show_flagged(data: ReportData) -> Section | None:
    """Show the scores of two classes; None for numbers and for more classes."""
    contents = data.contents
    scored = _list_scores(contents)
    if not scored:
        return None
    links = models.find_links(contents)
    first = scored[0][2]
    costs = () if first.expected_cost is None else ("Cost per row",)
    rows = tuple(
        _list_flagged_cells(name, mark, found, links.get(name, "")) for name, mark, found in scored
    )
    title = f"Rows flagged as {numbers.clip_text(first.positive, 40)}"
    lead = (
        f"A row is flagged if its probability of {first.positive!r} is at least "
        f"{numbers.format_short(first.threshold)}."
    )
    return Section(
        "flagged", title, lead, (Table(_describe_flagged(first), (*_FLAGGED_HEAD, *costs), rows),)
    )


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


def _describe_flagged(found: TwoClassScores) -> str:
    costs = " Cost per row: mean cost of mistakes with its standard error; lower is better."
    return (
        "Brier score: mean squared error of the probability; lower is better. Precision: share of "
        f"the flagged rows whose class is {found.positive!r}. Recall: share of the rows of this "
        "class that are flagged. ROC area: probability that a row of this class is ranked above "
        "one of the other. Flagged: share of all rows."
        f"{'' if found.expected_cost is None else costs}"
    )


def _list_flagged_cells(name: str, mark: str, found: TwoClassScores, link: str) -> Row:
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
