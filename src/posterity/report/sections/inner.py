"""What a fitted model itself says of its inputs: length scales, weights, gains."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from posterity import kernels
from posterity.arrays import Array
from posterity.report import numbers
from posterity.report.material import Material
from posterity.report.sections.blocks import Row, Table

_MOST = 20
_N_DRAWS = 1000  # standard deviations to two digits


@runtime_checkable
class Sampled(Protocol):
    """A model whose weights can be drawn from their posterior."""

    def sample_weights(self, n_samples: int = 1, random_state: Any = None) -> tuple[Array, Array]:
        """Draws of weights and offset."""


def table(material: Material) -> Table | None:
    """The model's own numbers, one line a column it reads; None where it has none."""
    model = material.story.model
    names = [str(name) for name in model.encoder_.get_feature_names_out()]
    classes = material.story.held_out.classes
    return (
        _length_scales(model.estimator_, names)
        or _weights(model.estimator_, names, classes)
        or _gains(model.estimator_, names)
    )


def length_scales(kernel: Any, n_columns: int) -> list[Array]:
    """Those of every part of a kernel that has one for each column."""
    found = [np.asarray(k.length_scale) for k in _parts(kernel) if isinstance(k, _WITH_LENGTHS)]
    return [lengths for lengths in found if lengths.shape == (n_columns,)]


_WITH_LENGTHS = (kernels.RBF, kernels.Matern, kernels.RationalQuadratic)


def _parts(kernel: Any) -> Iterator[kernels.Kernel]:
    if not isinstance(kernel, kernels.Kernel):
        return
    yield kernel
    for field in dataclasses.fields(kernel):
        value = getattr(kernel, field.name)
        for inside in value if isinstance(value, tuple) else (value,):
            yield from _parts(inside)


def _length_scales(estimator: Any, names: Sequence[str]) -> Table | None:
    found = length_scales(vars(estimator).get("kernel_"), len(names))
    if not found:
        return None
    shortest = np.min(found, axis=0)
    order = np.argsort(shortest, kind="stable")[:_MOST]
    caption = (
        "How far one must move along a column, in standard deviations of it, before the function "
        "changes: short scales matter, long ones hardly." + _cut(len(names))
    )
    rows = [Row((names[d], numbers.short(float(shortest[d])))) for d in order]
    return Table(caption, ("Column", "Length scale"), tuple(rows))


def _weights(estimator: Any, names: Sequence[str], classes: Sequence[str]) -> Table | None:
    coef = vars(estimator).get("coef_")
    if coef is None or np.ndim(coef) > 2 or np.shape(coef)[-1] != len(names):
        return None
    W = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    error = _deviations(estimator, W.shape) if isinstance(estimator, Sampled) else None
    kept = np.flatnonzero(np.any(W != 0.0, axis=0))
    order = kept[np.argsort(-np.abs(W[:, kept]).max(axis=0), kind="stable")]
    several = len(W) > 1 and len(W) == len(classes)
    head = ("Column", *(classes if several else ("Weight",)))
    caption = (
        "The weight of each column, numbers in units of their standard deviation"
        + ("" if error is None else f", {numbers.PLUS_MINUS} its standard deviation")
        + f". {_kept(len(kept), len(names))}"
        + _cut(len(order))
    )
    rows = [Row((names[d], *_cells(W, error, d))) for d in order[:_MOST]]
    return Table(caption, head, tuple(rows)) if rows else None


def _deviations(estimator: Sampled, shape: tuple[int, ...]) -> Array:
    draws, _ = estimator.sample_weights(_N_DRAWS, random_state=0)
    return np.reshape(np.std(draws, axis=0), shape)


def _cells(W: Array, error: Array | None, d: int) -> list[str]:
    if error is None:
        return [numbers.short(float(w)) for w in W[:, d]]
    pairs = (
        numbers.with_error(float(w), float(e)) for w, e in zip(W[:, d], error[:, d], strict=True)
    )
    return [f" {numbers.PLUS_MINUS} ".join(pair) for pair in pairs]


def _gains(estimator: Any, names: Sequence[str]) -> Table | None:
    gain = vars(estimator).get("column_gain_")
    if gain is None or np.shape(gain) != (len(names),) or not np.max(gain) > 0.0:
        return None
    gained = np.maximum(np.asarray(gain, dtype=np.float64), 0.0)  # a useless column may cost some
    share = gained / np.sum(gained)
    order = np.argsort(-share, kind="stable")[:_MOST]
    caption = "The share of what all splits gained that is due to each column." + _cut(len(names))
    rows = [Row((names[d], numbers.percent(float(share[d]), 1))) for d in order]
    return Table(caption, ("Column", "Share of gain"), tuple(rows))


def _kept(kept: int, n_columns: int) -> str:
    return (
        "" if kept == n_columns else f"{kept} of {n_columns} columns have one; the rest are zero."
    )


def _cut(n_columns: int) -> str:
    return f" The first {_MOST} of {n_columns} are shown." if n_columns > _MOST else ""
