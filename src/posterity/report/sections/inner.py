"""Table of the fitted parameters of the inputs: length scales, weights or gains."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from posterity import kernels
from posterity.arrays import Array
from posterity.report import numbers
from posterity.report.material import ReportData
from posterity.report.sections.blocks import Row, Table

_MOST = 20
_N_DRAWS = 1000  # gives standard deviations to two digits


@runtime_checkable
class WeightSampler(Protocol):
    """A model whose weights can be drawn from their posterior."""

    def sample_weights(self, n_samples: int = 1, random_state: Any = None) -> tuple[Array, Array]:
        """Draw weights and offset."""


def model_table(material: ReportData) -> Table | None:
    """Return the fitted parameters, one row per encoded column; None if there are none."""
    model = material.story.model
    names = [str(name) for name in model.encoder_.get_feature_names_out()]
    classes = material.story.held_out.classes
    return (
        _length_scales(model.estimator_, names)
        or _weights(model.estimator_, names, classes)
        or _gains(model.estimator_, names)
    )


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
    rows = [Row((names[d], numbers.format_short(float(shortest[d])))) for d in order]
    return Table(caption, ("Column", "Length scale"), tuple(rows))


def _weights(estimator: Any, names: Sequence[str], classes: Sequence[str]) -> Table | None:
    coef = getattr(estimator, "coef_", None)
    if coef is None or np.ndim(coef) > 2 or np.shape(coef)[-1] != len(names):
        return None
    W = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    error = _deviations(estimator, W.shape) if isinstance(estimator, WeightSampler) else None
    kept = np.flatnonzero(np.any(W != 0.0, axis=0))
    order = kept[np.argsort(-np.abs(W[:, kept]).max(axis=0), kind="stable")]
    several = len(W) > 1 and len(W) == len(classes)
    head = ("Column", *(classes if several else ("Weight",)))
    caption = (
        "Weight of each column; numeric columns are in units of their standard deviation"
        + ("" if error is None else f", {numbers.PLUS_MINUS} its standard deviation")
        + f". {_mention_zero_weights(len(kept), len(names))}"
        + _mention_hidden_rows(len(order))
    )
    rows = [Row((names[d], *_cells(W, error, d))) for d in order[:_MOST]]
    return Table(caption, head, tuple(rows)) if rows else None


def _deviations(estimator: WeightSampler, shape: tuple[int, ...]) -> Array:
    draws, _ = estimator.sample_weights(_N_DRAWS, random_state=0)
    return np.reshape(np.std(draws, axis=0), shape)


def _cells(W: Array, error: Array | None, d: int) -> list[str]:
    if error is None:
        return [numbers.format_short(float(w)) for w in W[:, d]]
    pairs = (
        numbers.format_with_error(float(w), float(e))
        for w, e in zip(W[:, d], error[:, d], strict=True)
    )
    return [f" {numbers.PLUS_MINUS} ".join(pair) for pair in pairs]


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
    rows = [Row((names[d], numbers.format_percent(float(share[d]), 1))) for d in order]
    return Table(caption, ("Column", "Share of gain"), tuple(rows))


def _mention_zero_weights(kept: int, n_columns: int) -> str:
    return "" if kept == n_columns else f"{kept} of {n_columns} weights are not zero."


def _mention_hidden_rows(n_columns: int) -> str:
    return f" Showing the first {_MOST} of {n_columns}." if n_columns > _MOST else ""
