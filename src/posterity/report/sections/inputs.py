"""Section on the importance of inputs: by permutation, and by fitted parameters."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from posterity import comparison, kernels, tables
from posterity.arrays import Array
from posterity.report import numbers, scales
from posterity.report.contents import ReportData
from posterity.report.sections.blocks import Block, Figure, Figures, Row, Section, Table
from posterity.report.svg import BROAD, Plot, label_margin

_MOST = 25
_STEP = 22.0


def section(data: ReportData) -> Section | None:
    """Show permutation importance and the fitted parameters of the inputs."""
    blocks: list[Block] = []
    if data.importance:
        blocks += [Figures((_draw_importance(data),)), _list_importance(data)]
    table = model_table(data)
    if table is not None:
        blocks.append(table)
    if not blocks:
        return None
    told = comparison.describe_importance(data.importance)
    unclear = [sentence for sentence in told if sentence.startswith("These rows")]
    lead = " ".join(["Loss of the log score without the information of each input.", *unclear])
    return Section("inputs", "Importance of inputs", lead, tuple(blocks))


def _list_importance(data: ReportData) -> Table:
    rows = tuple(_row(one) for one in data.importance[:_MOST])
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


def _draw_importance(data: ReportData) -> Figure:
    shown = data.importance[: data.count_leading(5, _MOST)]
    rest = len(data.importance) - len(shown)
    title = "Permutation importance"
    caption = (
        "Decrease of the mean log score when the values of an input are shuffled between rows, on "
        f"{data.contents.rows_description}; lines are 95 % intervals. If two inputs contain the "
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


_MOST_COLUMNS = 20


def model_table(data: ReportData) -> Table | None:
    """Return the fitted parameters, one row per encoded column; None if there are none."""
    model = data.contents.model
    names = [str(name) for name in model.encoder_.get_feature_names_out()]
    estimator = tables.strip_exposure(model.estimator_)
    return _length_scales(estimator, names) or _gains(estimator, names)


def length_scales(kernel: Any, n_columns: int) -> list[Array]:
    """Return the length scales of every part of a kernel that has one per column."""
    found = [
        np.asarray(k.length_scale) for k in _iterate_kernels(kernel) if isinstance(k, _WITH_LENGTHS)
    ]
    return [lengths for lengths in found if lengths.shape == (n_columns,)]


_WITH_LENGTHS = (kernels.RBF, kernels.Matern, kernels.RationalQuadratic)


def _iterate_kernels(kernel: Any) -> Iterator[kernels.Kernel]:
    if not isinstance(kernel, kernels.Kernel):
        return
    yield kernel
    for field in dataclasses.fields(kernel):
        value = getattr(kernel, field.name)
        for inside in value if isinstance(value, tuple) else (value,):
            yield from _iterate_kernels(inside)


def _length_scales(estimator: Any, names: Sequence[str]) -> Table | None:
    found = length_scales(getattr(estimator, "kernel_", None), len(names))
    if not found:
        return None
    shortest = np.min(found, axis=0)
    order = np.argsort(shortest, kind="stable")[:_MOST_COLUMNS]
    caption = (
        "Distance along a column, in its standard deviations, over which the function changes; "
        "columns with short length scales matter most." + _mention_hidden_rows(len(names))
    )
    rows = [
        Row((names[d], numbers.format_short(float(shortest[d]))), values=(None, float(shortest[d])))
        for d in order
    ]
    return Table(caption, ("Column", "Length scale"), tuple(rows))


def _gains(estimator: Any, names: Sequence[str]) -> Table | None:
    gain = getattr(estimator, "column_gain_", None)
    if gain is None or np.shape(gain) != (len(names),) or not np.max(gain) > 0.0:
        return None
    gained = np.maximum(np.asarray(gain, dtype=np.float64), 0.0)  # a useless column may cost some
    share = gained / np.sum(gained)
    order = np.argsort(-share, kind="stable")[:_MOST_COLUMNS]
    caption = (
        "Share of the total gain of all splits that is due to each column."
        + _mention_hidden_rows(len(names))
    )
    rows = [
        Row((names[d], numbers.format_percent(float(share[d]), 1)), values=(None, float(share[d])))
        for d in order
    ]
    return Table(caption, ("Column", "Share of gain"), tuple(rows))


def _mention_hidden_rows(n_columns: int) -> str:
    return (
        f" Showing the first {_MOST_COLUMNS} of {n_columns}." if n_columns > _MOST_COLUMNS else ""
    )
