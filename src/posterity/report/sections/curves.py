"""Section with the effect of one input at a time, all others at typical values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup

from posterity.arrays import Array
from posterity.report import numbers, scales
from posterity.report.contents import ReportData
from posterity.report.sections import prediction
from posterity.report.sections.blocks import Figure, Figures, Section
from posterity.report.svg import Plot, label_margin

_MOST_INPUTS = 12
_MOST_LEVELS = 12
_MOST_CLASSES = 6
_GRID = 41
_ENDS = (1.0, 99.0)  # per cent of the rows
_SIZE = {"width": 330.0, "height": 230.0, "left": 70.0}
_LABEL = 16  # characters of the name of a category


@dataclass(frozen=True, eq=False)
class InputGrid:
    """Values of one input at which the model predicts."""

    name: str
    places: Array  # positions on the axis
    cells: list[Any]  # values in the table
    labels: tuple[str, ...]  # names of categories; empty for numbers and dates


def section(data: ReportData) -> Section | None:
    """Draw curves over the most important inputs, from one prediction of all rows."""
    asked = [
        q
        for name in data.names[: data.count_leading(3, _MOST_INPUTS)]
        if (q := _make_grid(data, name))
    ]
    if not asked:
        return None
    frame = pl.concat([data.rows_of({q.name: q.cells}) for q in asked])
    cuts = np.cumsum([len(q.cells) for q in asked])[:-1]
    draw = NumberCurves.of if data.contents.is_regression else ProbabilityCurves.of
    drawing = draw(data, frame)
    answers = np.split(drawing.answers, cuts)
    figures = tuple(drawing.figure(data, q, a) for q, a in zip(asked, answers, strict=True))
    lead = "One input varies; all others have their median or most frequent value. " + drawing.lead
    return Section("curves", "Effect of each input", lead, (Figures(figures, small=True),))


def _make_grid(data: ReportData, name: str) -> InputGrid | None:
    if data.kind(name) == "text":
        return None
    if data.kind(name) == "category":
        levels = data.part(name).levels[:_MOST_LEVELS]
        places = np.arange(len(levels), dtype=np.float64)
        return InputGrid(name, places, list(levels), tuple(levels)) if levels else None
    if (pair := data.two_values(name)) is not None:
        labels = tuple(numbers.format_short(value) for value in pair)
        return InputGrid(name, np.arange(2.0), list(pair), labels)
    values = data.values(name, data.sample)
    known = values[np.isfinite(values)]
    if not len(known):
        return None
    low, high = np.percentile(known, _ENDS)
    grid = data.grid(name, low, high, _GRID)
    return InputGrid(name, grid, data.column(name, grid), ())


def _make_plot(data: ReportData, asked: InputGrid, answer: scales.AxisScale) -> Plot:
    """Make a plot over a number or a date; names of categories stand one below the other."""
    title = numbers.clip_text(asked.name, 40)
    if asked.labels:
        names = scales.category_scale(asked.labels[::-1], length=_LABEL)
        return Plot(answer, names, **(_SIZE | {"left": label_margin(names)}))
    make = scales.date_scale if data.kind(asked.name) == "date" else scales.linear_scale
    count = 3 if data.kind(asked.name) == "date" else 4
    return Plot(make(asked.places, title, count=count), answer, **_SIZE)


@dataclass(frozen=True, eq=False)
class NumberCurves:
    """Bands of a number, all on one scale so that inputs can be compared."""

    answers: Array  # (n, 5)
    lead = (
        "Line or dot: median; dark band: 50 % interval; light band: 90 % interval. All figures "
        "share one scale."
    )

    @classmethod
    def of(cls, data: ReportData, frame: pl.DataFrame) -> NumberCurves:
        return cls(data.quantiles(frame))

    def figure(self, data: ReportData, asked: InputGrid, q: Array) -> Figure:
        count = 3 if asked.labels else 4
        y = scales.linear_scale(self.answers, data.contents.schema.target, count=count)
        plot = _make_plot(data, asked, y)
        if asked.labels:
            layers = _draw_levels(plot, asked.places[::-1], q)
        elif len(q) > 1:
            layers = prediction.draw_bands(plot, asked.places, q)
        else:
            layers = _draw_points(plot, asked.places, q)
        return _build_figure(plot, layers, asked, data.contents.schema.target)


def _draw_levels(plot: Plot, y: Array, q: Array) -> list[Markup]:
    return [
        plot.bars(q[:, 0], q[:, 4], y, "outer thick"),
        plot.bars(q[:, 1], q[:, 3], y, "inner thick"),
        plot.dots(q[:, 2], y, "accent", radius=4.0),
    ]


def _draw_points(plot: Plot, x: Array, q: Array) -> list[Markup]:
    return [
        plot.sticks(x, q[:, 0], q[:, 4], "outer thick"),
        plot.sticks(x, q[:, 1], q[:, 3], "inner thick"),
        plot.dots(x, q[:, 2], "accent", radius=4.0),
    ]


@dataclass(frozen=True, eq=False)
class ProbabilityCurves:
    """Probabilities of the second of two classes, or of the most probable of several."""

    answers: Array  # (n, C)
    shown: tuple[int, ...]
    classes: tuple[str, ...]

    @classmethod
    def of(cls, data: ReportData, frame: pl.DataFrame) -> ProbabilityCurves:
        p = np.asarray(data.contents.model.predict_proba(frame), dtype=np.float64)
        likely = np.argsort(-p.max(axis=0), kind="stable")[:_MOST_CLASSES]
        shown = (1,) if p.shape[1] == 2 else tuple(sorted(likely.tolist()))
        return cls(p, shown, data.contents.held_out.classes)

    @property
    def lead(self) -> str:
        """Sentence that explains the curves."""
        if self.shown == (1,):
            return f"The line is the probability of {self.classes[1]}."
        return "Each line is the probability of a class."

    def figure(self, data: ReportData, asked: InputGrid, p: Array) -> Figure:
        classes = self.classes
        title = f"P({classes[1]})" if len(classes) == 2 else "probability"
        count = 2 if asked.labels else 5
        axis = scales.percent_scale(numbers.clip_text(title, 24), count=count)
        plot = _make_plot(data, asked, axis)
        layers = [layer for c in self.shown for layer in self._line(plot, asked, p[:, c], c)]
        legend = tuple((f"dots c{c % 8}", classes[c]) for c in self.shown if len(classes) > 2)
        return _build_figure(plot, layers, asked, "class probabilities", legend)

    def _line(self, plot: Plot, asked: InputGrid, p: Array, c: int) -> list[Markup]:
        name = "accent" if self.shown == (1,) else f"c{c % 8}"
        if asked.labels:
            y = asked.places[::-1]
            return [plot.bars(0.0 * p, p, y, name), plot.dots(p, y, name, radius=4.0)]
        if len(p) == 1:
            return [
                plot.sticks(asked.places, 0.0 * p, p, name),
                plot.dots(asked.places, p, name, radius=4.0),
            ]
        return [plot.line(asked.places, p, name)]


def _build_figure(
    plot: Plot,
    layers: list[Markup],
    asked: InputGrid,
    what: str,
    legend: tuple[tuple[str, str], ...] = (),
) -> Figure:
    title = numbers.clip_text(asked.name, 40)
    told = f"{what} over {asked.name}."
    return Figure(plot.picture(*layers, title=title, description=told), title, "", legend)
