"""Coverage by time, group or block, where such rows were held out together."""

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray
from scipy import stats

from posterity.arrays import Array
from posterity.comparison import row_scores
from posterity.comparison.holdout import Holdout
from posterity.comparison.results import HeldOut
from posterity.report import numbers, scales
from posterity.report.contents import ReportData
from posterity.report.sections import rows
from posterity.report.sections.blocks import Figure
from posterity.report.svg import BROAD, Plot, label_margin

NOMINAL = 0.9
_ROWS_A_WINDOW, _MOST_WINDOWS = 15, 24
_MOST_GROUPS = 20
_STEP = 22.0


@dataclass(frozen=True, eq=False)
class CoverageOfParts:
    """Observed and expected share of rows in each part of a table, with 90 % intervals."""

    labels: tuple[str, ...]
    places: Array  # times, or 0, 1, ... for groups
    share: Array
    expected: Array
    low: Array
    high: Array


def draw_coverage(data: ReportData) -> tuple[Figure, ...]:
    """Draw coverage over time or by group; nothing if random rows were held out."""
    found, held = data.contents.comparison, data.contents.held_out
    if found is None or held.clusters is None or found.holdout.kind == "random":
        return ()
    if found.holdout.kind == "time":
        return _draw_over_time(data, found.holdout.columns[0])
    return _draw_by_group(data, found.holdout)


def count_parts(held: HeldOut, parts: list[NDArray[np.intp]]) -> CoverageOfParts:
    """Count the covered rows of each part; intervals use a Beta(1/2, 1/2) prior.

    Numbers are covered by their 90 % interval, classes by the most probable class.
    """
    inside, expected = _covered_rows(held)
    n = np.array([len(part) for part in parts], dtype=np.float64)
    k = np.array([np.count_nonzero(inside[part]) for part in parts], dtype=np.float64)
    low, high = stats.beta(k + 0.5, n - k + 0.5).interval(NOMINAL)
    return CoverageOfParts(
        (),
        np.arange(len(parts), dtype=np.float64),
        k / n,
        np.array([float(expected[part].mean()) for part in parts]),
        np.minimum(low, k / n),
        np.maximum(high, k / n),
    )


def _covered_rows(held: HeldOut) -> tuple[NDArray[np.bool_], Array]:
    if held.probabilities is not None:
        return row_scores.is_correct(held), row_scores.confidence(held)
    pit = np.asarray(held.pit)
    return np.abs(2.0 * pit - 1.0) <= NOMINAL, np.full(len(pit), NOMINAL)


@dataclass(frozen=True)
class MeasureWords:
    """Words for counted rows: title, axis, caption and legend."""

    title: str
    axis: str
    caption: str
    legend: tuple[tuple[str, str], ...]


_NUMBERS = MeasureWords(
    "Coverage", "coverage of 90 % intervals", "Share of rows inside their 90 % interval", ()
)
_CLASSES = MeasureWords(
    "Correct classes",
    "share of correct classes",
    "Share of rows whose most probable class is the observed one, and what the model predicted",
    (("dots accent", "observed share"), ("dots hollow", "mean predicted probability")),
)


def _find_words(data: ReportData) -> MeasureWords:
    return _NUMBERS if data.contents.is_regression else _CLASSES


def _draw_over_time(data: ReportData, name: str) -> tuple[Figure, ...]:
    held = data.contents.held_out
    times = data.values(name, data.take_measured(np.arange(len(held.rows))))
    order = np.argsort(times, kind="stable")
    order = order[np.isfinite(times[order])]
    if len(order) < 2 * _ROWS_A_WINDOW:
        return ()
    n_windows = int(np.clip(len(order) // _ROWS_A_WINDOW, 2, _MOST_WINDOWS))
    windows = np.array_split(order, n_windows)
    found = count_parts(held, windows)
    places = np.array([float(times[window].mean()) for window in windows])
    words = _find_words(data)
    title = f"{words.title} over {numbers.clip_text(name, 40)}"
    make = scales.date_scale if data.kind(name) == "date" else scales.linear_scale

    def draw(width: float) -> Markup:
        plot = Plot(make(places, name), scales.percent_scale(words.axis), width=width)
        layers = [
            plot.dots(places, found.expected, "hollow", radius=4.0)
            if words.legend
            else plot.line(places, found.expected, "rule"),
            plot.sticks(places, found.low, found.high, "muted"),
            plot.line(places, found.share, "accent"),
            plot.dots(places, found.share, "accent", radius=4.0),
        ]
        told = f"{n_windows} windows of time."
        return plot.picture(*layers, title=title, description=told)

    caption = (
        f"{words.caption}, in {n_windows} windows of about {len(windows[0])} rows, with 90 % "
        "intervals. Every row was predicted from earlier rows only."
    )
    return (Figure(draw(Plot.width), title, caption, words.legend, draw(BROAD)),)


def _draw_by_group(data: ReportData, holdout: Holdout) -> tuple[Figure, ...]:
    held, columns = data.contents.held_out, holdout.columns
    parts = [np.flatnonzero(held.clusters == one) for one in np.unique(np.asarray(held.clusters))]
    found = count_parts(held, parts)
    worst = np.argsort(found.share - found.expected, kind="stable")[:_MOST_GROUPS]
    names = [_name_part(data, columns, int(parts[k][0])) for k in worst[::-1]]
    words = _find_words(data)
    title = f"{words.title} by {numbers.clip_text(' and '.join(columns), 40)}"
    y = np.arange(len(worst) - 1, -1, -1, dtype=np.float64)

    def draw(width: float) -> Markup:
        labels = scales.category_scale(names, length=22 if width < BROAD else 36)
        plot = Plot(
            scales.percent_scale(words.axis),
            labels,
            width=width,
            height=_STEP * len(worst) + 54.0,
            left=label_margin(labels),
        )
        layers = [
            plot.dots(found.expected[worst], y, "hollow", radius=4.0)
            if words.legend
            else plot.line(found.expected[worst], y, "rule"),
            plot.bars(found.low[worst], found.high[worst], y, "muted"),
            plot.dots(found.share[worst], y, "accent", radius=4.0),
        ]
        told = f"The lowest of {len(parts)} shares is {names[-1]}."
        return plot.picture(*layers, title=title, description=told)

    below = int(np.count_nonzero(found.high < found.expected))
    unit = "group" if holdout.kind == "groups" else "block"
    expected = "the predicted probability" if words.legend else "90 %"
    caption = (
        f"{words.caption}, with 90 % intervals; every row was predicted without the others of its "
        f"{unit}. The interval lies below {expected} in {below} of {len(parts)} {unit}s."
        + (f" Showing the lowest {_MOST_GROUPS}." if len(parts) > _MOST_GROUPS else "")
    )
    return (Figure(draw(Plot.width), title, caption, words.legend, draw(BROAD)),)


def _name_part(data: ReportData, columns: tuple[str, ...], position: int) -> str:
    row = data.take_measured(np.array([position]))
    return ", ".join(rows.format_cell(row[name][0]) for name in columns)
