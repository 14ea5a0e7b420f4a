"""Which inputs matter: by what is lost without them, and by what the model itself says."""

import numpy as np

from posterity.report import numbers, scales
from posterity.report.material import Material
from posterity.report.sections import inner
from posterity.report.sections.blocks import Block, Figure, Figures, Section
from posterity.report.svg import Plot, room_for

_MOST = 25
_STEP = 22.0


def section(material: Material) -> Section | None:
    """Importance by permutation, and the model's own numbers."""
    blocks: list[Block] = []
    if material.importance:
        blocks.append(Figures((_figure(material),)))
    table = inner.table(material)
    if table is not None:
        blocks.append(table)
    if not blocks:
        return None
    lead = "What the predictions rest on."
    return Section("inputs", "Which inputs matter", lead, tuple(blocks))


def _figure(material: Material) -> Figure:
    shown = material.importance[: material.leading(5, _MOST)]
    drop = np.array([one.drop for one in shown])
    error = 2.0 * np.nan_to_num([one.error for one in shown])
    y = np.arange(len(shown) - 1, -1, -1, dtype=np.float64)
    axis = scales.linear(
        np.concatenate([drop - error, drop + error, [0.0]]), "decrease of log score"
    )
    names = scales.names([one.name for one in reversed(shown)], length=22)
    height = _STEP * len(shown) + 54.0
    plot = Plot(axis, names, height=height, left=room_for(names))
    low, high = np.minimum(drop, 0.0), np.maximum(drop, 0.0)
    layers = [
        plot.boxes(low, high, y - 0.32, y + 0.32, "accent soft"),
        plot.bars(drop - error, drop + error, y, "ink"),
        plot.line([0.0, 0.0], [-0.5, len(shown) - 0.5], "rule"),
    ]
    rest = len(material.importance) - len(shown)
    title = "What is lost when an input is shuffled"
    caption = (
        "Decrease of the mean log score when every row takes the value of another row, measured on "
        f"{material.story.seen}; lines are two standard errors. Where two inputs carry the same "
        "information, neither alone may seem to matter."
        + (f" {numbers.plural(rest, 'further input')} matter less." if rest else "")
    )
    told = f"The most important input is {shown[0].name}."
    picture = plot.picture(*layers, title=title, description=told)
    return Figure(picture, title, caption, wide=True)
