"""Section with the effect of one input at a time, all others at typical values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup

from posterity.arrays import Array
from posterity.report import numbers, scales
from posterity.report.material import ReportData
from posterity.report.sections import prediction
from posterity.report.sections.blocks import Figure, Figures, Section
from posterity.report.svg import Plot

_MOST_INPUTS = 12
_MOST_LEVELS = 12
_MOST_CLASSES = 6
_GRID = 41
_ENDS = (1.0, 99.0)  # per cent of the rows
_SIZE = {"width": 330.0, "height": 230.0, "left": 64.0}


@dataclass(frozen=True, eq=False)
class InputGrid:
    """Values of one input at which the model predicts."""

    name: str
    places: Array  # positions on the axis
    cells: list[Any]  # values in the table
    labels: tuple[str, ...]  # names of categories; empty for numbers and dates


def section(material: ReportData) -> Section | None:
    """Draw curves over the most important inputs, from one prediction of all rows."""
    asked = [
        q
        for name in material.names[: material.leading(3, _MOST_INPUTS)]
        if (q := _make_grid(material, name))
    ]
    if not asked:
        return None
    frame = pl.concat([material.rows_of({q.name: q.cells}) for q in asked])
    cuts = np.cumsum([len(q.cells) for q in asked])[:-1]
    draw = NumberCurves.of if material.story.is_regression else ProbabilityCurves.of
    drawing = draw(material, frame)
    answers = np.split(drawing.answers, cuts)
    figures = tuple(drawing.figure(material, q, a) for q, a in zip(asked, answers, strict=True))
    lead = "One input varies; all others have their median or most frequent value. " + drawing.lead
    return Section("curves", "Effect of each input", lead, (Figures(figures, small=True),))


def _make_grid(material: ReportData, name: str) -> InputGrid | None:
    if material.kind(name) == "category":
        levels = material.part(name).levels[:_MOST_LEVELS]
        places = np.arange(len(levels), dtype=np.float64)
        return InputGrid(name, places, list(levels), tuple(levels)) if levels else None
    values = material.values(name, material.sample)
    known = values[np.isfinite(values)]
    if not len(known):
        return None
    low, high = np.percentile(known, _ENDS)
    grid = material.grid(name, low, high, _GRID)
    return InputGrid(name, grid, material.column(name, grid), ())


def _make_axis(material: ReportData, asked: InputGrid) -> scales.AxisScale:
    title = numbers.clip_text(asked.name, 40)
    if asked.labels:
        n = len(asked.labels)
        return scales.category_scale(
            asked.labels, title, length=12 if n <= 3 else 6 if n <= 6 else 3
        )
    if material.kind(asked.name) == "date":
        return scales.date_scale(asked.places, title, count=3)
    return scales.linear_scale(asked.places, title, count=4)


@dataclass(frozen=True, eq=False)
class NumberCurves:
    """Bands of a number, all on one vertical scale so that inputs can be compared."""

    answers: Array  # (n, 5)
    lead = (
        "Line: median; dark band: 50 % interval; light band: 90 % interval. All figures share one "
        "vertical scale."
    )

    @classmethod
    def of(cls, material: ReportData, frame: pl.DataFrame) -> NumberCurves:
        return cls(material.quantiles(frame))

    def figure(self, material: ReportData, asked: InputGrid, q: Array) -> Figure:
        y = scales.linear_scale(self.answers, material.story.schema.target, count=4)
        plot = Plot(_make_axis(material, asked), y, **_SIZE)
        if len(q) > 1 and not asked.labels:
            layers = prediction.draw_bands(plot, asked.places, q)
        else:
            layers = _draw_points(plot, asked.places, q)
        return _build_figure(plot, layers, asked, material.story.schema.target)


def _draw_points(plot: Plot, x: Array, q: Array) -> list[Markup]:
    return [
        plot.sticks(x, q[:, 0], q[:, 4], "outer thick"),
        plot.sticks(x, q[:, 1], q[:, 3], "inner thick"),
        plot.dots(x, q[:, 2], "accent", radius=4.0),
    ]


@dataclass(frozen=True, eq=False)
class ProbabilityCurves:
    """Probabilities of the second of two classes, or of the most frequent of several."""

    answers: Array  # (n, C)
    shown: tuple[int, ...]
    classes: tuple[str, ...]

    @classmethod
    def of(cls, material: ReportData, frame: pl.DataFrame) -> ProbabilityCurves:
        p = np.asarray(material.story.model.predict_proba(frame), dtype=np.float64)
        held = material.story.held_out
        usual = np.argsort(
            -np.bincount(held.y.astype(np.intp), minlength=p.shape[1]), kind="stable"
        )
        shown = (1,) if p.shape[1] == 2 else tuple(sorted(usual[:_MOST_CLASSES].tolist()))
        return cls(p, shown, material.story.held_out.classes)

    @property
    def lead(self) -> str:
        """Sentence that explains the curves."""
        if self.shown == (1,):
            return f"The line is the probability of {self.classes[1]}."
        return "Each line is the probability of a class."

    def figure(self, material: ReportData, asked: InputGrid, p: Array) -> Figure:
        classes = self.classes
        title = f"P({classes[1]})" if len(classes) == 2 else "probability"
        plot = Plot(
            _make_axis(material, asked), scales.percent_scale(numbers.clip_text(title, 24)), **_SIZE
        )
        layers = [layer for c in self.shown for layer in self._line(plot, asked, p[:, c], c)]
        legend = tuple((f"dots c{c % 8}", classes[c]) for c in self.shown if len(classes) > 2)
        return _build_figure(plot, layers, asked, "class probabilities", legend)

    def _line(self, plot: Plot, asked: InputGrid, p: Array, c: int) -> list[Markup]:
        name = "accent" if self.shown == (1,) else f"c{c % 8}"
        if asked.labels or len(p) == 1:
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
