"""Split Dask collections into pieces of the same rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from posterity import arrays
from posterity.arrays import Array
from posterity.designs import blocks
from posterity.designs.blocks import RowForm
from posterity.distributions import dask_rows

Tally: TypeAlias = tuple[NDArray[Any], Array]
"""Distinct targets in increasing order, and their weighted counts."""

CLASS, COUNT = "class", "count"


@dataclass(frozen=True)
class AlignedPieces:
    """Pieces whose parts hold the same rows, and their metadata."""

    pieces: tuple[list[Any], ...]
    form: RowForm
    lengths: tuple[int, ...] | None


def align_pieces(X: Any, y: Any, sample_weight: Any) -> AlignedPieces:
    """Return one piece a partition of X; other arrays are rechunked like X."""
    rows, targets, weights = _optimise_parts(X, y, sample_weight)
    cut = dask_rows.DelayedPartitions.from_collection(rows)
    none = (None,) * len(cut.pieces)
    columns = (
        cut.pieces,
        none if y is None else cut.match_partitions(targets, "y"),
        none if sample_weight is None else cut.match_partitions(weights, "sample_weight"),
    )
    form = RowForm.from_rows(
        _make_empty_parts(X, y, sample_weight), _list_column_names(X), _list_column_names(y)
    )
    known = not math.isnan(cut.n_rows)
    lengths = tuple(int(n) for n in cut.lengths) if known else None
    return AlignedPieces(tuple(map(list, zip(*columns, strict=True))), form, lengths)


def _optimise_parts(*parts: Any) -> tuple[Any, ...]:
    """Optimise the parts together, so that shared inputs are computed once."""
    import dask

    together = [part for part in parts if _is_array(part)]
    # Fusing tasks would compute X again for y.
    with dask.config.set({"optimization.fuse.active": False}):
        found = iter(dask.optimize(*together))
    return tuple(next(found) if _is_array(part) else part for part in parts)


def count_targets(raw: Sequence[Any], number: int, *, kind: str = CLASS) -> Tally:
    """Count the targets of a partition; raise for invalid targets."""
    where = f"partition {number}"
    X, targets, weight = raw
    _, y, sample_weight = blocks.convert_parts(X, targets, weight, where)
    if y is None or y.ndim != 1:
        raise ValueError(f"y of {where} must hold one {kind} a row.")
    _check_labels(y, where, kind)
    weights = np.ones(len(y)) if sample_weight is None else sample_weight
    counting = weights > 0.0
    return _count_values(y[counting], weights[counting])


def add_counts(a: Tally, b: Tally) -> Tally:
    """Add the counts of two partitions."""
    return _count_values(np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1]]))


def _count_values(values: NDArray[Any], counts: Array) -> Tally:
    distinct, places = np.unique(values, return_inverse=True)
    return distinct, np.bincount(places, counts, minlength=len(distinct)).astype(np.float64)


def check_names(X: Any, expected: tuple[str, ...], where: str) -> None:
    """Raise unless a partition has the columns of the data frame."""
    found = [str(name) for name in X.columns]
    if found == list(expected):
        return
    lacking = [name for name in expected if name not in found]
    odd = [name for name in found if name not in expected]
    told = f"lacks {lacking}" if lacking else f"has also {odd}" if odd else "has a different order"
    raise ValueError(
        f"{where} does not have the columns of the data frame, {list(expected)}: it {told}. "
        "Fix the partition where it is read, or pass the right meta to Dask."
    )


def _check_labels(y: NDArray[Any], where: str, kind: str) -> None:
    """Raise for missing labels, and for continuous values instead of labels."""
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
            f"Unknown label type: y of {where}, row {row} is {y[row]:g}, a continuous number and "
            f"not a {kind}; {cure}."
        )


def _is_array(part: Any) -> bool:
    import dask.array

    return isinstance(part, dask.array.Array)


def _list_column_names(collection: Any) -> tuple[str, ...] | None:
    """Return column names if they are strings."""
    if collection is None or _is_array(collection):
        return None
    meta = collection._meta
    names = list(meta.columns) if meta.ndim == 2 else [meta.name]
    return tuple(names) if all(isinstance(name, str) for name in names) else None


def _make_empty_parts(X: Any, y: Any, sample_weight: Any) -> blocks.Parts:
    """Return empty parts of the same form."""
    X_like, y_like, weight_like = (_make_empty(part) for part in (X, y, sample_weight))
    if X_like is None or X_like.ndim != 2:
        raise ValueError("X must be a Dask array of rows and columns, or a data frame.")
    return X_like, y_like, weight_like


def _make_empty(part: Any) -> NDArray[Any] | None:
    if part is None:
        return None
    meta = arrays.to_numpy(part._meta)
    width = tuple(int(n) for n in part.shape[1:]) if _is_array(part) else meta.shape[1:]
    return np.empty((0, *width), dtype=meta.dtype)
