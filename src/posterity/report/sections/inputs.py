"""Section on the importance of inputs: by permutation, and by fitted parameters."""

import numpy as np
from markupsafe import Markup

from posterity import comparison
from posterity.report import numbers, scales
from posterity.report.material import ReportData
from posterity.report.sections import inner
from posterity.report.sections.blocks import Block, Figure, Figures, Row, Section, Table
from posterity.report.svg import BROAD, Plot, label_margin

_MOST = 25
_STEP = 22.0


def section(material: ReportData) -> Section | None:
    """Show permutation importance and the fitted parameters of the inputs."""
    blocks: list[Block] = []
    if material.importance:
        blocks += [Figures((_draw_importance(material),)), _list_importance(material)]
    table = inner.model_table(material)
    if table is not None:
        blocks.append(table)
    if not blocks:
        return None
    told = comparison.describe_importance(material.importance)
    unclear = [sentence for sentence in told if sentence.startswith("These rows")]
    lead = " ".join(["Loss of the log score without the information of each input.", *unclear])
    return Section("inputs", "Importance of inputs", lead, tuple(blocks))


def _list_importance(material: ReportData) -> Table:
    rows = tuple(_row(one) for one in material.importance[:_MOST])
    caption = (
        "Decrease of the mean log score, with its 95 % interval. An input helps if the whole "
        "interval lies above zero."
    )
    head = ("Input", "Decrease", "95 % interval", "Helps")
    return Table(caption, head, rows, words=(0, 3))


def _row(one: comparison.Importance) -> Row:
    ends = [numbers.format_with_error(end, one.error)[0] for end in (one.low, one.high)]
    cells = (
        one.name,
        numbers.join_with_error(one.drop, one.error),
        " to ".join(ends),
        "yes" if one.helps else "not certain",
    )
    return Row(cells, values=(None, one.drop, one.drop))


def _draw_importance(material: ReportData) -> Figure:
    shown = material.importance[: material.leading(5, _MOST)]
    rest = len(material.importance) - len(shown)
    title = "Permutation importance"
    caption = (
        "Decrease of the mean log score when the values of an input are shuffled between rows, on "
        f"{material.story.rows_description}; lines are 95 % intervals. If two inputs contain the "
        "same information, each may appear unimportant."
        + (f" Not shown: {numbers.format_plural(rest, 'less important input')}." if rest else "")
    )
    narrow, broad = (_picture(shown, title, width) for width in (Plot.width, BROAD))
    return Figure(narrow, title, caption, broad=broad)


def _picture(shown: tuple[comparison.Importance, ...], title: str, width: float) -> Markup:
    drop, low, high = np.array([(one.drop, one.low, one.high) for one in shown]).T
    y = np.arange(len(shown) - 1, -1, -1, dtype=np.float64)
    axis = scales.linear_scale(np.concatenate([low, high, [0.0]]), "decrease of log score")
    names = scales.category_scale(
        [one.name for one in reversed(shown)], length=22 if width < BROAD else 36
    )
    height = _STEP * len(shown) + 54.0
    plot = Plot(axis, names, width=width, height=height, left=label_margin(names))
    layers = [
        plot.boxes(np.minimum(drop, 0.0), np.maximum(drop, 0.0), y - 0.32, y + 0.32, "accent soft"),
        plot.bars(low, high, y, "ink"),
        plot.line([0.0, 0.0], [-0.5, len(shown) - 0.5], "rule"),
    ]
    told = f"The most important input is {shown[0].name}."
    return plot.picture(*layers, title=title, description=told)
