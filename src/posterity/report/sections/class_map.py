"""Map of class probabilities over the two most important numeric inputs."""

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.report import numbers, scales
from posterity.report.material import ReportData
from posterity.report.sections.blocks import Figure
from posterity.report.svg import Plot

_GRID = 36
_N_LEVELS = 5  # of the probability of the most probable class
N_COLOURS = 8
_LOW, _HIGH = 1.0, 99.0  # per cent of the rows that the map spans
_MOST_DOTS = 250


def draw_map(material: ReportData) -> list[Figure]:
    """Draw the map, if two inputs are numbers and there are enough colours for the classes."""
    pair = material.of_kind("number")[:2]
    held = material.story.held_out
    if len(pair) < 2 or len(held.classes) > N_COLOURS:
        return []
    k = material.shown[:: max(1, len(material.shown) // _MOST_DOTS)]
    seen = [material.values(name, material.measured(k)) for name in pair]
    known = np.isfinite(seen[0]) & np.isfinite(seen[1])
    if np.count_nonzero(known) < 2:
        return []
    x, y = (tile_edges(values[known]) for values in seen)
    known &= _is_within(seen[0], x) & _is_within(seen[1], y)
    p = _probabilities(material, pair, x, y)
    plot = Plot(_scale(x, pair[0]), _scale(y, pair[1]))
    classes = held.y[k].astype(np.intp)
    layers = [
        *_draw_tiles(plot, x, y, p),
        *_draw_rows(plot, seen, known, classes, len(held.classes)),
    ]
    title = "Map of probabilities"
    others = "" if len(material.names) == 2 else " All other inputs are at typical values."
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
    return np.linspace(low, high, _GRID + 1)


def _is_within(values: Array, edges: Array) -> NDArray[np.bool_]:
    return (edges[0] <= values) & (values <= edges[-1])


def _scale(edges: Array, title: str) -> scales.AxisScale:
    return scales.scale_between(float(edges[0]), float(edges[-1]), numbers.clip_text(title, 50))


def _probabilities(material: ReportData, pair: list[str], x: Array, y: Array) -> Array:
    """Return class probabilities at the centre of each tile, (rows, columns, C)."""
    middles = [0.5 * (edges[:-1] + edges[1:]) for edges in (x, y)]
    X, Y = np.meshgrid(*middles)
    frame = material.rows_of({pair[0]: X.ravel().tolist(), pair[1]: Y.ravel().tolist()})
    return np.asarray(material.story.model.predict_proba(frame)).reshape(*X.shape, -1)


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


def _draw_rows(
    plot: Plot, seen: list[Array], known: NDArray[np.bool_], classes: NDArray[np.intp], C: int
) -> list[Markup]:
    at = (known & (classes == c) for c in range(C))
    return [plot.dots(seen[0][k], seen[1][k], f"c{c} edged") for c, k in enumerate(at) if k.any()]
