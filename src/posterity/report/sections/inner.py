"""Table of the fitted parameters of the inputs: length scales or gains."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from posterity import kernels, tables
from posterity.arrays import Array
from posterity.report import numbers
from posterity.report.material import ReportData
from posterity.report.sections.blocks import Row, Table

_MOST = 20


def model_table(material: ReportData) -> Table | None:
    """Return the fitted parameters, one row per encoded column; None if there are none."""
    model = material.story.model
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
    order = np.argsort(shortest, kind="stable")[:_MOST]
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
    order = np.argsort(-share, kind="stable")[:_MOST]
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
    return f" Showing the first {_MOST} of {n_columns}." if n_columns > _MOST else ""
