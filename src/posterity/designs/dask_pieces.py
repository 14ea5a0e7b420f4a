"""Dask collections cut into pieces of the same rows, each a list of delayed parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from posterity import arrays
from posterity.arrays import Array
from posterity.designs import blocks
from posterity.designs.blocks import Form

Tally: TypeAlias = tuple[NDArray[Any], Array]
"""Distinct targets in increasing order, and how often each counts."""

CLASS, COUNT = "class", "count"
NAMES = ("X", "y", "sample_weight")


@dataclass(frozen=True)
class Aligned:
    """Pieces whose parts hold the same rows, and what is known of them before any is read."""

    pieces: tuple[list[Any], ...]
    form: Form
    lengths: tuple[int, ...] | None


def aligned(X: Any, y: Any, sample_weight: Any) -> Aligned:
    """One piece a partition of X; arrays are cut at the rows where X is."""
    _check_kinds((X, y, sample_weight))
    rows = _whole_rows(X)
    form = Form.of(_like(rows, y, sample_weight), _columns(X), _columns(y))
    delayed = _delayed([rows, _cut_as(y, rows, "y"), _cut_as(sample_weight, rows, NAMES[2])])
    _check_counts(delayed)
    pieces = (
        [None if parts is None else parts[i] for parts in delayed]
        for i in range(len(delayed[0] or ()))
    )
    return Aligned(tuple(pieces), form, _lengths(rows))


def tally(raw: Sequence[Any], number: int, *, kind: str = CLASS) -> Tally:
    """How often each target of a partition counts; a row that has none of this kind is named."""
    where = f"partition {number}"
    X, targets, weight = raw
    _, y, sample_weight = blocks.parts(X, targets, weight, where)
    if y is None or y.ndim != 1:
        raise ValueError(f"y of {where} must hold one {kind} a row.")
    _check_labels(y, where, kind)
    weights = np.ones(len(y)) if sample_weight is None else sample_weight
    counting = weights > 0.0
    return _tallied(y[counting], weights[counting])


def added_tallies(a: Tally, b: Tally) -> Tally:
    """Of both."""
    return _tallied(np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1]]))


def _tallied(values: NDArray[Any], counts: Array) -> Tally:
    distinct, places = np.unique(values, return_inverse=True)
    return distinct, np.bincount(places, counts, minlength=len(distinct)).astype(np.float64)


def check_names(X: Any, expected: tuple[str, ...], where: str) -> None:
    """A partition of a data frame must have the columns that the whole says it has."""
    found = [str(name) for name in X.columns]
    if found == list(expected):
        return
    lacking = [name for name in expected if name not in found]
    odd = [name for name in found if name not in expected]
    told = f"lacks {lacking}" if lacking else f"has {odd} besides" if odd else "has another order"
    raise ValueError(
        f"{where} does not have the columns of the data frame, {list(expected)}: it {told}. "
        "Mend it where it is read, or tell Dask the right meta."
    )


def _check_labels(y: NDArray[Any], where: str, kind: str) -> None:
    """Every row has a class or a count, which is no number on a scale."""
    missing = arrays.is_missing(y)
    if missing.any():
        row = int(np.argmax(missing))
        raise ValueError(
            f"y of {where}, row {row} has no {kind}; drop such rows ({int(missing.sum())} there)."
        )
    if y.dtype.kind == "f" and np.any(y != np.round(y)):
        row = int(np.argmax(y != np.round(y)))
        cure = "use a regressor" if kind == CLASS else "use designs.Chunks, or a sample in memory"
        raise ValueError(
            f"Unknown label type: y of {where}, row {row} is {y[row]:g}, which is no {kind} but a "
            f"number on a scale; {cure}."
        )


def _check_kinds(given: Sequence[Any]) -> None:
    """All of them lie on the workers, or none."""
    for name, part in zip(NAMES, given, strict=True):
        if part is not None and not arrays.is_collection(part):
            raise TypeError(
                f"X is a Dask collection but {name} is a {type(part).__name__}, which is in "
                f"memory here: pass dask.array.from_array({name}, chunks=X.chunks[0]), or a "
                "column of the same Dask data frame."
            )


def _whole_rows(X: Any) -> Any:
    """Arrays may be cut along the columns, too; rows are needed whole."""
    if _is_frame(X) or X.ndim != 2 or X.numblocks[1] == 1:
        return X
    return X.rechunk({1: -1})


def _cut_as(part: Any, X: Any, name: str) -> Any:
    """An array, cut at the rows where X is; what is not known before it is read is checked then."""
    if part is None or _lengths(part) is None or _lengths(X) is None:
        return part
    if part.shape[0] != X.shape[0]:
        raise ValueError(f"{name} has {part.shape[0]} rows, but X has {X.shape[0]}.")
    return part.rechunk({0: X.chunks[0], **({1: -1} if part.ndim == 2 else {})})


def _delayed(parts: Sequence[Any]) -> list[list[Any] | None]:
    """The partitions of each part; arrays together, so that what all are made of is made once."""
    import dask

    optimised = iter(dask.optimize(*(p for p in parts if p is not None and not _is_frame(p))))
    found: list[list[Any] | None] = []
    for part in parts:
        if part is None:
            found.append(None)
        elif _is_frame(part):
            found.append(list(part.to_delayed()))
        else:
            found.append(list(next(optimised).to_delayed(optimize_graph=False).ravel()))
    return found


def _check_counts(delayed: Sequence[list[Any] | None]) -> None:
    counts = {name: len(d) for name, d in zip(NAMES, delayed, strict=True) if d is not None}
    if len(set(counts.values())) > 1:
        words = ", ".join(f"{name} {n}" for name, n in counts.items())
        raise ValueError(
            f"X, y and weights must be cut into the same partitions, but there are: {words}. "
            "Take them from one data frame, or repartition them alike."
        )


def _lengths(X: Any) -> tuple[int, ...] | None:
    """Rows of each partition, where they are known without reading."""
    if _is_frame(X) or any(np.isnan(n) for n in X.chunks[0]):
        return None
    return tuple(int(n) for n in X.chunks[0])


def _is_frame(collection: Any) -> bool:
    """A data frame or a series; all other collections of rows are arrays."""
    import dask.array as da

    return not isinstance(collection, da.Array)


def _columns(collection: Any) -> tuple[str, ...] | None:
    """Names, where a collection has them and they are words."""
    if collection is None or not _is_frame(collection):
        return None
    meta = collection._meta
    names = list(meta.columns) if meta.ndim == 2 else [meta.name]
    return tuple(names) if all(isinstance(name, str) for name in names) else None


def _like(X: Any, y: Any, sample_weight: Any) -> blocks.Parts:
    """Parts of the same form without rows."""
    X_like, y_like, weight_like = (_empty(part) for part in (X, y, sample_weight))
    if X_like is None or X_like.ndim != 2:
        raise ValueError("X must be a Dask array of rows and columns, or a data frame.")
    return X_like, y_like, weight_like


def _empty(part: Any) -> NDArray[Any] | None:
    if part is None:
        return None
    meta = arrays.to_numpy(part._meta)
    width = meta.shape[1:] if _is_frame(part) else tuple(int(n) for n in part.shape[1:])
    return np.empty((0, *width), dtype=meta.dtype)
