"""Rows of Dask collections, one delayed piece a partition, and answers put together lazily."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike

from posterity import arrays


@dataclass(frozen=True)
class DelayedPartitions:
    """The delayed partitions of a collection, none of which is read, or answers of them."""

    pieces: tuple[Any, ...]  # delayed
    lengths: tuple[float, ...]  # rows of each, NaN where only reading would tell

    @classmethod
    def from_collection(cls, rows: Any, name: str = "X") -> DelayedPartitions:
        """Take the partitions of an array, a data frame, a series or a bag."""
        from dask.delayed import Delayed

        if isinstance(rows, Delayed):
            raise TypeError(
                f"{name} is a Delayed object without partitions: make it a Dask array or frame, "
                "for instance with dask.array.from_delayed."
            )
        if _is_array(rows):
            cut = max(rows.numblocks[1:], default=1) > 1
            whole = rows.rechunk(dict.fromkeys(range(1, rows.ndim), -1)) if cut else rows
            # Not optimised here: the graph that is computed in the end is, as a whole.
            pieces = whole.to_delayed(optimize_graph=False).ravel()
            return cls(tuple(pieces), tuple(float(n) for n in whole.chunks[0]))
        # Optimised alone, X and y would be read from files that Dask joins differently for each.
        found = tuple(rows.to_delayed(optimize_graph=False))
        return cls(found, (math.nan,) * len(found))

    @property
    def n_rows(self) -> float:
        """The number of rows; NaN where it is not known before the data are read."""
        return sum(self.lengths)

    def call(self, function: Callable[..., Any], given: Mapping[str, Any], empty: Any) -> Self:
        """Delay ``function(piece, **given)`` of each partition, with its own values per row.

        Parameters
        ----------
        function : callable
            It is sent to the workers.
        given : mapping
            Arguments: one value for all rows, or a collection with one per row.
        empty : array, tuple of arrays or None
            Answer for a partition without rows; others become arrays like it, unless it is None.
        """
        columns = {
            name: self.match_partitions(value, name)
            for name, value in given.items()
            if _is_per_row(value)
        }
        constants = {name: value for name, value in given.items() if name not in columns}
        call = _PartitionCall(function, constants, tuple(columns), empty)
        return replace(self, pieces=map_partitions(call, self.pieces, *columns.values()))

    def stack(
        self,
        shape: tuple[int, ...] = (),
        dtype: DTypeLike = np.float64,
        before: tuple[int, ...] = (),
    ) -> Any:
        """Return one Dask array of pieces of shape (*before, length, *shape), along their rows."""
        import dask.array

        # Not by concatenate, which would leave out partitions without rows: those of X are all
        # there.
        name = f"rows-{uuid.uuid4().hex}"
        first, last = (0,) * len(before), (0,) * len(shape)
        keys = [(name, *first, i, *last) for i in range(len(self.pieces))]
        layer = {
            key: make_task(key, _return_piece, piece)
            for key, piece in zip(keys, self.pieces, strict=True)
        }
        rows = tuple(n if math.isnan(n) else int(n) for n in self.lengths)
        chunks = (*((n,) for n in before), rows, *((n,) for n in shape))
        meta = np.empty((0,) * len(chunks), dtype=dtype)
        return dask.array.Array(add_layer(name, layer, self.pieces), name, chunks, meta=meta)

    def match_partitions(self, values: Any, name: str) -> tuple[Any, ...]:
        """Split values per row at the same rows as the partitions, or raise."""
        if not arrays.is_collection(values):
            raise TypeError(
                f"{name} is an array in memory, but the rows are partitioned: pass a Dask array "
                f"with the same partitions, such as dask.array.from_array({name}, chunks=...), "
                "or one number for all rows."
            )
        if _is_array(values) and not values.ndim:
            return (values.to_delayed().item(),) * len(self.pieces)
        if _is_array(values):
            self._check_rows(values, name)
            known = not math.isnan(self.n_rows + sum(values.chunks[0]))
            values = values.rechunk({0: tuple(map(int, self.lengths))}) if known else values
        pieces = DelayedPartitions.from_collection(values, name).pieces
        if len(pieces) != len(self.pieces):
            raise ValueError(
                f"{name} has {len(pieces)} partitions, but the rows have {len(self.pieces)}: take "
                "both from one data frame, or repartition them in the same way."
            )
        return pieces

    def _check_rows(self, values: Any, name: str) -> None:
        """Refuse another number of rows, where both are known."""
        n = values.shape[0]
        if not (math.isnan(n) or math.isnan(self.n_rows) or n == self.n_rows):
            raise ValueError(f"{name} has {n} rows, but X has {self.n_rows:.0f}.")


def _is_per_row(value: Any) -> bool:
    """Whether an argument has one value per row, not one for all rows."""
    return arrays.is_collection(value) or (not isinstance(value, str) and np.ndim(value) > 0)


@dataclass(frozen=True)
class _PartitionCall:
    """Task: call a function of a partition; errors name the partition."""

    function: Callable[..., Any]
    constants: dict[str, Any]
    by_row: tuple[str, ...]
    empty: Any

    def __call__(self, number: int, piece: Any, *values: Any) -> Any:
        if piece is None or len(piece) == 0:
            return self.empty
        own = {
            name: _check_rows(value, len(piece), number)
            for name, value in zip(self.by_row, values, strict=True)
        }
        try:
            answer = self.function(piece, **self.constants, **own)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"In partition {number} of X: {error}") from error
        return _convert_like(self.empty, answer)


def _check_rows(value: Any, n: int, number: int) -> Any:
    """Check that there is one value for all rows, or one per row, before they are broadcast."""
    own = arrays.to_numpy(value)
    if own.ndim and len(own) != n:
        raise ValueError(
            f"Partition {number} has {n} rows, but {len(own)} values were given: both must be "
            "partitioned at the same rows."
        )
    return own


def _convert_like(empty: Any, answer: Any) -> Any:
    """Convert an answer, in whatever form, to arrays in memory of the type of the empty one."""
    if empty is None:
        return answer
    if isinstance(empty, tuple):
        return tuple(map(_convert_like, empty, answer))
    return np.asarray(arrays.to_numpy(answer), dtype=empty.dtype)


def map_partitions(function: Callable[..., Any], *columns: Sequence[Any]) -> tuple[Any, ...]:
    """``function(number, *pieces)`` of each partition, delayed.

    The function, and what it refers to, stands in the graph once, and all partitions are one layer
    of it: thousands of layers would take longer to go through than most predictions.
    """
    import dask
    from dask.delayed import Delayed

    shared = dask.delayed(function, pure=False, traverse=False)
    name = f"{type(function).__name__.lower()}-{uuid.uuid4().hex}"
    rows = list(enumerate(zip(*columns, strict=True)))
    layer = {
        (name, i): make_task((name, i), _call_function, shared, i, *pieces) for i, pieces in rows
    }
    graph = add_layer(name, layer, (shared,), *columns)
    return tuple(Delayed((name, i), graph, layer=name) for i, _ in rows)


def make_task(key: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    """A task of a graph, in which delayed arguments are references to their keys.

    A key that stood there as a plain tuple would be taken for one where the graph has a task of
    that name, and partitions that were persisted have none.
    """
    from dask._task_spec import Task

    return Task(key, function, *(_reference_argument(argument) for argument in arguments))


def _reference_argument(argument: Any) -> Any:
    import dask
    from dask._task_spec import List, TaskRef

    if isinstance(argument, list):
        return List(*(_reference_argument(part) for part in argument))
    return TaskRef(argument.key) if dask.is_dask_collection(argument) else argument


def add_layer(name: str, layer: dict[Any, Any], *columns: Sequence[Any]) -> Any:
    """A graph of this layer on top of the graphs of the delayed pieces, each included once."""
    from dask.highlevelgraph import HighLevelGraph

    below = {piece.__dask_layers__(): piece for column in columns for piece in column}
    return HighLevelGraph.from_collections(name, layer, dependencies=list(below.values()))


def _call_function(function: Callable[..., Any], number: int, *pieces: Any) -> Any:
    return function(number, *pieces)


def _return_piece(piece: Any) -> Any:
    return piece


def _is_array(collection: Any) -> bool:
    import dask.array

    return isinstance(collection, dask.array.Array)
