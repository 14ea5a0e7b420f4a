"""Blocks of rows, and the form shared by all blocks of a source.

Blocks are converted to finite float64 arrays of one form. Errors name the row and column of the
whole source. Rows are counted from 0.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from posterity import arrays
from posterity.arrays import Array

T = TypeVar("T")

Parts: TypeAlias = tuple[NDArray[Any], NDArray[Any] | None, NDArray[Any] | None]
"""Inputs, targets and weights of equal length and any type."""


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Consecutive rows of a source; its length is the number of rows.

    Parameters
    ----------
    X : array of shape (n, D)
        Inputs.
    y : array of shape (n,) or (n, K), or None
        Targets, if the source has them.
    sample_weight : array of shape (n,), or None
        Weights, if the source has them.
    first_row : int
        Number of the first row in the source.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import designs
    >>> chunks = designs.Chunks.from_arrays(np.eye(5), np.arange(5), rows=2)
    >>> [(block.first_row, len(block)) for block in chunks]
    [(0, 2), (2, 2), (4, 1)]
    """

    X: Array
    y: Array | None
    sample_weight: Array | None
    first_row: int

    def __len__(self) -> int:
        return len(self.X)

    @property
    def parts(self) -> Parts:
        """Inputs, targets and weights."""
        return self.X, self.y, self.sample_weight

    @property
    def span(self) -> slice:
        """Numbers of the rows in the source."""
        return slice(self.first_row, self.first_row + len(self))

    def make_weights(self) -> Array:
        """Return how often each row counts: once where no weights were given."""
        return np.ones(len(self)) if self.sample_weight is None else self.sample_weight

    def select_rows(self, places: NDArray[np.intp]) -> RowBlock:
        """Return a copy of rows by their position in this block."""
        return RowBlock(*map_parts(self.parts, lambda part: part[places]), first_row=0)


def merge_answers(merge: Callable[[T, T], T], answers: Iterable[T | None]) -> T | None:
    """Merge answers in order, without those that are None; None if all are."""
    present = (answer for answer in answers if answer is not None)
    first = next(present, None)
    return None if first is None else functools.reduce(merge, present, first)


def transform_inputs(
    block: RowBlock, transforms: Sequence[Callable[[Array], Array]], where: str
) -> Parts:
    """Return the parts of a block with transformed inputs."""
    X = block.X
    for transform in transforms:
        X = transform(X)
    if len(X) != len(block):
        raise ValueError(
            f"{where} has {len(X)} rows but had {len(block)}; the transform must not change "
            "the number of rows."
        )
    return X, block.y, block.sample_weight


def join_blocks(found: Sequence[RowBlock]) -> RowBlock:
    """Return all rows of several blocks as one."""
    X, y, weight = (
        None if part[0] is None else np.concatenate(part)
        for part in zip(*(block.parts for block in found), strict=True)
    )
    assert X is not None
    return RowBlock(X, y, weight, first_row=0)


def convert_parts(X: Any, y: Any, sample_weight: Any, where: str) -> Parts:
    """Convert the parts to arrays of one length; ``where`` names them in errors."""
    X_part = arrays.to_numpy(X)
    if X_part.ndim != 2:
        raise ValueError(
            f"X of {where} has shape {X_part.shape}; pass a dense array of rows and columns."
        )
    y_part = (
        None if y is None else _require_length(arrays.to_numpy(y), len(X_part), "y", (1, 2), where)
    )
    if sample_weight is None:
        return X_part, y_part, None
    weight = arrays.to_numpy(sample_weight)
    return X_part, y_part, _require_length(weight, len(X_part), "sample_weight", (1,), where)


def map_parts(raw: Parts, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Parts:
    """Apply a function to the parts that are not None."""
    X, y, sample_weight = raw
    return (
        change(X),
        None if y is None else change(y),
        None if sample_weight is None else change(sample_weight),
    )


def _require_length(
    x: NDArray[Any], n: int, name: str, dimensions: tuple[int, ...], where: str
) -> NDArray[Any]:
    """Return the array; raise unless it has n rows."""
    if x.ndim not in dimensions or len(x) != n:
        shapes = " or ".join(["", f"({n},)", f"({n}, targets)"][d] for d in dimensions)
        raise ValueError(
            f"{name} of {where} has shape {x.shape}, but X has {n} rows; pass shape {shapes}."
        )
    return x


@dataclass(frozen=True)
class RowForm:
    """Columns and parts that all blocks of a source must have."""

    n_features: int
    target_shape: tuple[int, ...] | None  # () or (K,); None where there are no targets
    weighted: bool
    feature_names: tuple[str, ...] | None
    target_names: tuple[str, ...] | None

    @classmethod
    def from_rows(
        cls,
        raw: Parts,
        feature_names: tuple[str, ...] | None = None,
        target_names: tuple[str, ...] | None = None,
    ) -> RowForm:
        """Return the form of example rows."""
        X, y, sample_weight = raw
        n_features = X.shape[1]
        if feature_names is not None and len(feature_names) != n_features:
            raise ValueError(
                f"{len(feature_names)} feature names were given for {n_features} columns; "
                "pass one name for each column."
            )
        target_shape = None if y is None else y.shape[1:]
        return cls(n_features, target_shape, sample_weight is not None, feature_names, target_names)

    def convert_block(self, raw: Parts, first_row: int, *, piece: str | None = None) -> RowBlock:
        """Convert rows to a block of finite float64 arrays of this form.

        Errors count rows from ``first_row``, or within the named ``piece``.
        """
        where = piece or f"the block that begins at row {first_row}"
        at = _RowNames(where, 0 if piece else first_row, f" of {piece}" if piece else "")
        X, y, sample_weight = raw
        _require_equal(X.shape[1:], (self.n_features,), "X", where)
        _require_equal(None if y is None else y.shape[1:], self.target_shape, "y", where)
        _require_equal(sample_weight is not None, self.weighted, "sample_weight", where)
        X_block = _require_finite(X, "column", self.feature_names, at)
        y_block = None if y is None else _require_finite(y, "target", self.target_names, at)
        if sample_weight is None:
            return RowBlock(X_block, y_block, None, first_row)
        weight = _require_finite(sample_weight, "sample_weight", None, at)
        _check_not_negative(weight, at)
        return RowBlock(X_block, y_block, weight, first_row)


def _require_equal(found: object, expected: object, name: str, where: str) -> None:
    """Raise if a block does not have the parts or columns of the first block."""
    if found == expected:
        return
    if isinstance(found, tuple) and isinstance(expected, tuple):
        columns = [str(shape[0]) if shape else "no" for shape in (found, expected)]
        difference = f"has {columns[0]} columns but {columns[1]}"
    else:
        given = found is not None and found is not False
        difference = "is given but not" if given else "is missing but given"
    raise ValueError(
        f"{name} of {where} {difference} in the first block; all blocks must have the same form."
    )


@dataclass(frozen=True)
class _RowNames:
    """Names of rows in error messages."""

    where: str
    first_row: int
    of: str  # text after the row number

    def row(self, i: int) -> str:
        """Return the name of a row for messages."""
        return f"row {self.first_row + i}{self.of}"


def _require_finite(
    x: NDArray[Any], kind: str, names: tuple[str, ...] | None, at: _RowNames
) -> Array:
    """Convert to float64 without a copy if possible; raise for non-finite values."""
    values = _convert_floats(x, kind, at.where)
    finite = np.isfinite(values)
    if finite.all():
        return values
    row, *column = np.argwhere(~finite)[0]
    value = values[(row, *column)]
    problem, cure = ("NaN", "fill in") if np.isnan(value) else ("infinite", "clip")
    raise ValueError(
        f"{_name_column(kind, names, column)}, {at.row(row)} is {problem}; "
        f"{cure} such values or drop their rows first."
    )


def _convert_floats(x: NDArray[Any], kind: str, where: str) -> Array:
    """Convert to float64; raise for text, dates and complex numbers."""
    try:
        if x.dtype.kind not in "biufO":
            raise TypeError(f"the type is {x.dtype}")
        return x.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"a {kind} of {where} does not hold real numbers ({error}); encode text, categories "
            "and dates as numbers first."
        ) from error


def _name_column(kind: str, names: tuple[str, ...] | None, column: list[Any]) -> str:
    """Return the name of a column for messages: its name, number or kind."""
    j = int(column[0]) if column else 0
    if names is not None:
        return f"{kind} {names[j]!r}"
    return f"{kind} {j}" if column else kind


def _check_not_negative(weight: Array, at: _RowNames) -> None:
    """Raise an error that names the first row with negative weight."""
    if weight.size and weight.min() < 0.0:
        row = int(np.argmax(weight < 0.0))
        raise ValueError(
            f"sample_weight, {at.row(row)} is {weight[row]:g}; weights must not be "
            "negative. Give the weight 0 to rows that should not count."
        )


def sample_rows(passing: Iterable[RowBlock], n: int, rng: np.random.Generator) -> RowBlock:
    """Draw a uniform sample of n rows, or return all if there are fewer.

    The first n rows fill the reservoir. Row t, counted from 0, then takes a place drawn from
    0, ..., t: it is kept if that place is one of the n, and turns out the row that was there.
    """
    kept: Parts | None = None
    n_seen = 0
    for block in passing:
        kept = kept or map_parts(block.parts, lambda part: np.empty((n, *part.shape[1:])))
        places = _draw_places(np.arange(n_seen, n_seen + len(block)), n, rng)
        chosen = places < n
        for space, part in zip(kept, block.parts, strict=True):
            if space is not None and part is not None:
                # If a place is drawn twice, the later row stays, as in sequential sampling.
                space[places[chosen]] = part[chosen]
        n_seen += len(block)
    if kept is None:
        raise ValueError("there are no rows to sample.")
    return RowBlock(*map_parts(kept, lambda part: part[: min(n, n_seen)]), first_row=0)


def _draw_places(t: NDArray[np.int64], n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the place of each row t: t for the first n rows, then random in 0, ..., t."""
    late = t >= n
    places = t.copy()
    places[late] = rng.integers(0, t[late] + 1)
    return places
