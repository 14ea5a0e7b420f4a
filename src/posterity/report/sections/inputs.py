"""Section on the importance of inputs: by permutation, and by fitted parameters."""

import numpy as np

from posterity.report import numbers, scales
from posterity.report.material import ReportData
from posterity.report.sections import inner
from posterity.report.sections.blocks import Block, Figure, Figures, Section
from posterity.report.svg import Plot, label_margin

_MOST = 25
_STEP = 22.0


def section(material: ReportData) -> Section | None:
    """Show permutation importance and the fitted parameters of the inputs."""
    blocks: list[Block] = []
    if material.importance:
        blocks.append(Figures((_draw_importance(material),)))
    table = inner.model_table(material)
    if table is not None:
        blocks.append(table)
    if not blocks:
        return None
    lead = "How much the predictions depend on each input."
    return Section("inputs", "Importance of inputs", lead, tuple(blocks))


def _draw_importance(material: ReportData) -> Figure:
    shown = material.importance[: material.leading(5, _MOST)]
    drop = np.array([one.drop for one in shown])
    error = 2.0 * np.nan_to_num([one.error for one in shown])
    y = np.arange(len(shown) - 1, -1, -1, dtype=np.float64)
    axis = scales.linear_scale(
        np.concatenate([drop - error, drop + error, [0.0]]), "decrease of log score"
    )
    names = scales.category_scale([one.name for one in reversed(shown)], length=22)
    height = _STEP * len(shown) + 54.0
    plot = Plot(axis, names, height=height, left=label_margin(names))
    low, high = np.minimum(drop, 0.0), np.maximum(drop, 0.0)
    layers = [
        plot.boxes(low, high, y - 0.32, y + 0.32, "accent soft"),
        plot.bars(drop - error, drop + error, y, "ink"),
        plot.line([0.0, 0.0], [-0.5, len(shown) - 0.5], "rule"),
    ]
    rest = len(material.importance) - len(shown)
    title = "Permutation importance"
    caption = (
        "Decrease of the mean log score when the values of an input are shuffled between rows, on "
        f"{material.story.rows_description}; lines are two standard errors. If two inputs "
        "contain the same "
        "information, each may appear unimportant."
        + (f" Not shown: {numbers.format_plural(rest, 'less important input')}." if rest else "")
    )
    told = f"The most important input is {shown[0].name}."
    picture = plot.picture(*layers, title=title, description=told)
    return Figure(picture, title, caption, wide=True)
