"""Sections on predictions and observed values: of numbers, and of classes with a map."""

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.comparison.results import HeldOut
from posterity.report import numbers, scales
from posterity.report.contents import ReportData, draw_positions
from posterity.report.sections.blocks import Figure, Figures, Section
from posterity.report.sections.usage import offer_predictions
from posterity.report.svg import Plot

_N_STICKS = 240  # intervals that remain distinguishable
_GRID = 81
DOMINATES = 0.8  # share of the total importance of a dominant input


def show_numbers(data: ReportData) -> Section | None:
    """Compare predictive distributions with observed values; None for classification."""
    held = data.contents.held_out
    if held.quantiles is None:
        return None
    figures = [_draw_intervals(data, held.quantiles), *_draw_dominant_input(data)]
    lead = (
        f"Distributions predicted by {data.contents.model_name} for "
        f"{data.contents.rows_description}, and "
        "the observed values."
    )
    blocks = (Figures(tuple(figures)), *offer_predictions(data))
    return Section("prediction", "Predictions", lead, blocks)


def _draw_intervals(data: ReportData, quantiles: Array) -> Figure:
    held, contents = data.contents.held_out, data.contents
    k = data.shown[draw_positions(len(data.shown), _N_STICKS, np.random.default_rng(contents.seed))]
    y, q = held.y[k].astype(np.float64), quantiles[k]
    x, inside = q[:, 2], (q[:, 0] <= held.y[k]) & (held.y[k] <= q[:, -1])
    target = contents.schema.target
    axis = scales.linear_scale(np.concatenate([y, q[:, 0], q[:, -1]]), f"observed {target}")
    plot = Plot(scales.linear_scale(x, f"predicted {target} (median)"), axis)
    ends = np.array([plot.x.low, plot.x.high])
    tips = [
        _describe_row(contents.row_number(int(r)), a, b)
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


def dominant_input(data: ReportData) -> str | None:
    """Return the number or date that dominates the prediction, if there is one."""
    drops = np.array([max(one.drop, 0.0) for one in data.importance])
    found = data.list_kind("number", "date")
    if not found or found[0] != data.names[0]:
        return None
    alone = len(drops) == 1 or drops[0] >= DOMINATES * drops.sum() > 0.0
    return found[0] if alone else None


def _draw_dominant_input(data: ReportData) -> list[Figure]:
    """Draw the distribution as a band over the dominant input, if there is one."""
    name = dominant_input(data)
    if name is None:
        return []
    values = data.values(name, data.take_measured(data.shown))
    known = values[np.isfinite(values)]
    if not len(known):
        return []
    grid = data.grid(name, known.min(), known.max(), _GRID)
    beside = values >= grid[0]
    q = data.quantiles(data.rows_of({name: data.column(name, grid)}))
    seen, y = values[beside], data.contents.held_out.y[data.shown][beside].astype(np.float64)
    axis = scales.date_scale if data.kind(name) == "date" else scales.linear_scale
    target = data.contents.schema.target
    plot = Plot(axis(seen, name), scales.linear_scale(np.concatenate([y, q.ravel()]), target))
    layers = [*draw_bands(plot, grid, q), plot.dots(seen, y, "ink", radius=2.0)]
    title = f"{target} over {numbers.clip_text(name, 40)}"
    others = "" if len(data.names) == 1 else ", all other inputs at typical values"
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


_MOST_CLASSES = 12  # in a readable confusion matrix
_N_BINS = 20


def show_classes(data: ReportData) -> Section | None:
    """Compare predicted probabilities with observed classes; None for regression."""
    held = data.contents.held_out
    p = held.probabilities
    if p is None:
        return None
    figures = [
        _draw_observed_probability(held, p),
        *_draw_confusions(held, p),
        *draw_map(data),
    ]
    lead = (
        f"Class probabilities predicted by {data.contents.model_name} for "
        f"{data.contents.rows_description}, "
        "and the observed classes."
    )
    blocks = (Figures(tuple(figures)), *offer_predictions(data))
    return Section("prediction", "Predictions", lead, blocks)


def _draw_observed_probability(held: HeldOut, p: Array) -> Figure:
    given = p[np.arange(len(held.y)), held.y.astype(np.intp)]
    edges = np.linspace(0.0, 1.0, _N_BINS + 1)
    share = np.histogram(given, edges)[0] / max(len(given), 1)
    top = max(float(share.max()), 0.05)
    plot = Plot(
        scales.percent_scale("predicted probability of the observed class"),
        scales.percent_scale("share of rows", high=1.05 * top),
    )
    boxes = plot.boxes(edges[:-1] + 0.004, edges[1:] - 0.004, 0.0 * share, share, "accent")
    title = "Probability of the observed class"
    caption = (
        "Rows on the right are predicted well. Rows on the left were assigned a low probability of "
        "their observed class."
    )
    told = f"Histogram over {len(given)} rows."
    return Figure(plot.picture(boxes, title=title, description=told), title, caption)


def _draw_confusions(held: HeldOut, p: Array) -> list[Figure]:
    C = len(held.classes)
    if not 2 <= C <= _MOST_CLASSES:
        return []
    said = p.argmax(axis=1)
    counts = np.zeros((C, C), dtype=np.int64)
    np.add.at(counts, (held.y.astype(np.intp), said), 1)
    title = "Confusion matrix"
    caption = (
        "Observed classes from top to bottom, most probable classes from left to right. Numbers "
        "are counts of rows; correct predictions lie on the diagonal."
    )
    return [Figure(_draw_matrix(held.classes, counts, title), title, caption)]


def _draw_matrix(classes: tuple[str, ...], counts: NDArray[np.int64], title: str) -> Markup:
    C = len(classes)
    length = 14 if C <= 4 else 7 if C <= 7 else 4
    x = scales.category_scale(classes, "most probable", length=length)
    y = scales.category_scale(classes[::-1], "observed", length=9)
    plot = Plot(x, y, left=92.0, height=300.0)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    layers = []
    for level in range(1, 6):
        i, j = np.nonzero(np.ceil(5.0 * share).astype(int) == level)
        for name, at in (("accent", i == j), ("warn", i != j)):
            layers.append(_draw_cells(plot, C, i[at], j[at], f"{name} level{level}"))
    i, j = np.nonzero(counts)
    words = [numbers.format_count(int(n)) for n in counts[i, j]]
    layers.append(plot.texts(j, C - 1 - i, words, "cells"))
    told = f"Counts of {C} observed classes against the most probable class."
    return plot.picture(*layers, title=title, description=told, grid=False)


def _draw_cells(plot: Plot, C: int, i: NDArray[np.intp], j: NDArray[np.intp], name: str) -> Markup:
    x, y = j.astype(np.float64), (C - 1 - i).astype(np.float64)
    if not len(x):
        return Markup()
    return plot.boxes(x - 0.48, x + 0.48, y - 0.48, y + 0.48, name)


_MAP_TILES = 36
_N_LEVELS = 5  # of the probability of the most probable class
N_COLOURS = 8
_LOW, _HIGH = 1.0, 99.0  # per cent of the rows that the map spans
_MOST_DOTS = 250


def draw_map(data: ReportData) -> list[Figure]:
    """Draw the map, if two inputs are numbers and there are enough colours for the classes."""
    pair = data.list_kind("number")[:2]
    held = data.contents.held_out
    if len(pair) < 2 or len(held.classes) > N_COLOURS:
        return []
    k = data.shown[:: max(1, len(data.shown) // _MOST_DOTS)]
    seen = [data.values(name, data.take_measured(k)) for name in pair]
    known = np.isfinite(seen[0]) & np.isfinite(seen[1])
    if np.count_nonzero(known) < 2:
        return []
    x, y = (tile_edges(values[known]) for values in seen)
    known &= _is_within(seen[0], x) & _is_within(seen[1], y)
    p = _probabilities(data, pair, x, y)
    plot = Plot(_make_scale(x, pair[0]), _make_scale(y, pair[1]))
    classes = held.y[k].astype(np.intp)
    layers = [
        *_draw_tiles(plot, x, y, p),
        *_draw_map_rows(plot, seen, known, classes, len(held.classes)),
    ]
    title = "Map of probabilities"
    others = "" if len(data.names) == 2 else " All other inputs are at typical values."
    caption = (
        f"Most probable class over {pair[0]} and {pair[1]}; stronger colours mean higher "
        f"probability.{others} Dots are rows in the colour of their observed class."
    )
    legend = tuple((f"dots c{c}", name) for c, name in enumerate(held.classes))
    told = f"Most probable class over {pair[0]} and {pair[1]}."
    return [Figure(plot.picture(*layers, title=title, description=told), title, caption, legend)]


def tile_edges(values: Array) -> Array:
    """Return the edges of the tiles along one input."""
    low, high = np.percentile(values, [_LOW, _HIGH])
    if high <= low:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, _MAP_TILES + 1)


def _is_within(values: Array, edges: Array) -> NDArray[np.bool_]:
    return (edges[0] <= values) & (values <= edges[-1])


def _make_scale(edges: Array, title: str) -> scales.AxisScale:
    return scales.scale_between(float(edges[0]), float(edges[-1]), numbers.clip_text(title, 50))


def _probabilities(data: ReportData, pair: list[str], x: Array, y: Array) -> Array:
    """Return class probabilities at the centre of each tile, (rows, columns, C)."""
    middles = [0.5 * (edges[:-1] + edges[1:]) for edges in (x, y)]
    X, Y = np.meshgrid(*middles)
    frame = data.rows_of({pair[0]: X.ravel().tolist(), pair[1]: Y.ravel().tolist()})
    return np.asarray(data.contents.model.predict_proba(frame)).reshape(*X.shape, -1)


def _draw_tiles(plot: Plot, x: Array, y: Array, p: Array) -> list[Markup]:
    """Draw tiles of one class and level as one shape, runs of them as one box."""
    best, C = p.argmax(axis=2), p.shape[2]
    sure = (p.max(axis=2) - 1.0 / C) / (1.0 - 1.0 / C) if C > 1 else np.ones(best.shape)
    level = np.clip(np.ceil(_N_LEVELS * sure), 1, _N_LEVELS).astype(np.intp)
    code = best * (_N_LEVELS + 1) + level
    shapes = []
    for value in np.unique(code):
        rows, starts, ends = _find_runs(code == value)
        name = f"c{value // (_N_LEVELS + 1)} tile level{value % (_N_LEVELS + 1)}"
        shapes.append(plot.boxes(x[starts], x[ends], y[rows], y[rows + 1], name))
    return shapes


def _find_runs(inside: NDArray[np.bool_]) -> tuple[NDArray[np.intp], ...]:
    """Return row, first column and end column of each run of true cells."""
    edge = np.zeros((len(inside), 1), dtype=np.int8)
    steps = np.diff(np.hstack([edge, inside.astype(np.int8), edge]), axis=1)
    rows, starts = np.nonzero(steps == 1)
    return rows, starts, np.nonzero(steps == -1)[1]


def _draw_map_rows(
    plot: Plot, seen: list[Array], known: NDArray[np.bool_], classes: NDArray[np.intp], C: int
) -> list[Markup]:
    at = (known & (classes == c) for c in range(C))
    return [plot.dots(seen[0][k], seen[1][k], f"c{c} edged") for c, k in enumerate(at) if k.any()]
