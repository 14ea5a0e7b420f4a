"""Section on predictive distributions of numbers and the observed values."""

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.report import numbers, scales
from posterity.report.material import ReportData, draw_positions
from posterity.report.sections.blocks import Figure, Figures, Section
from posterity.report.sections.download import offer_predictions
from posterity.report.svg import Plot

_N_STICKS = 240  # intervals that remain distinguishable
_GRID = 81
DOMINATES = 0.8  # share of the total importance of a dominant input


def section(material: ReportData) -> Section | None:
    """Compare predictive distributions with observed values; None for classification."""
    held = material.story.held_out
    if held.quantiles is None:
        return None
    figures = [_draw_intervals(material, held.quantiles), *_draw_dominant_input(material)]
    lead = (
        f"Distributions predicted by {material.story.model_name} for "
        f"{material.story.rows_description}, and "
        "the observed values."
    )
    blocks = (Figures(tuple(figures)), *offer_predictions(material))
    return Section("prediction", "Predictions", lead, blocks)


def _draw_intervals(material: ReportData, quantiles: Array) -> Figure:
    held, story = material.story.held_out, material.story
    k = material.shown[
        draw_positions(len(material.shown), _N_STICKS, np.random.default_rng(story.seed))
    ]
    y, q = held.y[k].astype(np.float64), quantiles[k]
    x, inside = q[:, 2], (q[:, 0] <= held.y[k]) & (held.y[k] <= q[:, -1])
    target = story.schema.target
    axis = scales.linear_scale(np.concatenate([y, q[:, 0], q[:, -1]]), f"observed {target}")
    plot = Plot(scales.linear_scale(x, f"predicted {target} (median)"), axis)
    ends = np.array([plot.x.low, plot.x.high])
    tips = [
        _describe_row(story.row_number(int(r)), a, b)
        for r, a, b in zip(held.rows[k], y, q, strict=True)
    ]
    layers = [
        plot.sticks(x, q[:, 0], q[:, -1], "outer"),
        plot.sticks(x, q[:, 1], q[:, -2], "inner"),
        plot.line(ends, ends, "rule"),
        plot.dots(x[inside], y[inside], "ink", tips=_select_texts(tips, inside)),
        plot.dots(x[~inside], y[~inside], "warn", tips=_select_texts(tips, ~inside)),
    ]
    title = "Predicted and observed"
    n = len(held.rows)
    caption = (
        "Each dot is a row; the bar behind it shows the 50 % (dark) and 90 % (light) interval."
        + (f" Showing {len(k)} of {numbers.format_count(n)} rows." if len(k) < n else "")
    )
    legend = (("dots ink", "inside the 90 % interval"), ("dots warn", "outside"))
    told = f"{len(k)} rows: observed {target} against its predicted median, with intervals."
    return Figure(plot.picture(*layers, title=title, description=told), title, caption, legend)


def _describe_row(row: int, y: float, q: Array) -> str:
    low, high = numbers.format_short(float(q[0])), numbers.format_short(float(q[-1]))
    return (
        f"row {numbers.format_count(row)}: {numbers.format_short(y)}; 90 % between {low} and {high}"
    )


def _select_texts(texts: list[str], chosen: NDArray[np.bool_]) -> list[str]:
    return [text for text, shown in zip(texts, chosen.tolist(), strict=True) if shown]


def dominant_input(material: ReportData) -> str | None:
    """Return the number or date that dominates the prediction, if there is one."""
    drops = np.array([max(one.drop, 0.0) for one in material.importance])
    found = material.of_kind("number", "date")
    if not found or found[0] != material.names[0]:
        return None
    alone = len(drops) == 1 or drops[0] >= DOMINATES * drops.sum() > 0.0
    return found[0] if alone else None


def _draw_dominant_input(material: ReportData) -> list[Figure]:
    """Draw the distribution as a band over the dominant input, if there is one."""
    name = dominant_input(material)
    if name is None:
        return []
    values = material.values(name, material.measured(material.shown))
    known = values[np.isfinite(values)]
    if not len(known):
        return []
    grid = material.grid(name, known.min(), known.max(), _GRID)
    beside = values >= grid[0]
    q = material.quantiles(material.rows_of({name: material.column(name, grid)}))
    seen, y = values[beside], material.story.held_out.y[material.shown][beside].astype(np.float64)
    axis = scales.date_scale if material.kind(name) == "date" else scales.linear_scale
    target = material.story.schema.target
    plot = Plot(axis(seen, name), scales.linear_scale(np.concatenate([y, q.ravel()]), target))
    layers = [*draw_bands(plot, grid, q), plot.dots(seen, y, "ink", radius=2.0)]
    title = f"{target} over {numbers.clip_text(name, 40)}"
    others = "" if len(material.names) == 1 else ", all other inputs at typical values"
    caption = (
        f"Predicted distribution of {target} over {name}{others}. Line: median; dark band: 50 % "
        "interval; light band: 90 % interval; dots: rows."
    )
    told = f"Median and bands of {target} over {name}."
    return [Figure(plot.picture(*layers, title=title, description=told), title, caption)]


def draw_bands(plot: Plot, x: Array, q: Array) -> list[Markup]:
    """Draw the bands and the median of quantiles (n, 5) at ascending x."""
    return [
        plot.area(x, q[:, 0], q[:, 4], "outer"),
        plot.area(x, q[:, 1], q[:, 3], "inner"),
        plot.line(x, q[:, 2], "accent"),
    ]
