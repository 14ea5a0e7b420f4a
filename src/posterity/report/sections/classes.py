"""Section on predicted class probabilities and observed classes."""

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.comparison.results import HeldOut
from posterity.report import numbers, scales
from posterity.report.material import ReportData
from posterity.report.sections import class_map
from posterity.report.sections.blocks import Figure, Figures, Section
from posterity.report.sections.download import offer_predictions
from posterity.report.svg import Plot

_MOST_CLASSES = 12  # in a readable confusion matrix
_N_BINS = 20


def section(material: ReportData) -> Section | None:
    """Compare predicted probabilities with observed classes; None for regression."""
    held = material.story.held_out
    p = held.probabilities
    if p is None:
        return None
    figures = [
        _draw_observed_probability(held, p),
        *_draw_confusions(held, p),
        *class_map.draw_map(material),
    ]
    lead = (
        f"Class probabilities predicted by {material.story.model_name} for "
        f"{material.story.rows_description}, "
        "and the observed classes."
    )
    blocks = (Figures(tuple(figures)), *offer_predictions(material))
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
