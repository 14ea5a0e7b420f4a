"""Rows of Dask collections, validated and processed on the workers.

Partitions are never sent to the client. Functions of a :class:`RowBlock` are sent to the workers,
their results are merged there, and one result is returned.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from posterity import arrays
from posterity.arrays import Array
from posterity.designs import blocks, dask_graph
from posterity.designs.blocks import Parts, RowBlock, RowForm, T
from posterity.designs.streamed import Rows
from posterity.distributions import dask_rows

Tally: TypeAlias = tuple[NDArray[Any], Array]
"""Distinct targets in increasing order, and their weighted counts."""

CLASS, COUNT = "class", "count"


@dataclass(frozen=True)
class BlockRecipe:
    """The conversion, on a worker, of the raw parts of a partition to a block."""

    form: RowForm
    encode: Callable[[NDArray[Any]], Array] | None = None  # encoder of targets that are not numbers
    transforms: tuple[Callable[[Array], Array], ...] = ()

    def convert_parts(self, raw: Sequence[Any], number: int) -> Parts:
        """Convert raw parts to arrays of one length with the common columns."""
        if self.form.feature_names is not None:
            _check_names(raw[0], self.form.feature_names, _name_partition(number))
        X, y, sample_weight = raw
        return blocks.convert_parts(X, y, sample_weight, _name_partition(number))

    def make_block(self, parts: Parts, number: int, first_row: int = 0) -> RowBlock:
        """Return the validated block; errors name the partition and the row in it."""
        X, y, sample_weight = parts
        if y is not None and self.encode is not None:
            y = self.encode(y)
        where = _name_partition(number)
        block = self.form.convert_block((X, y, sample_weight), 0, piece=where)
        return RowBlock(*blocks.transform_inputs(block, self.transforms, where), first_row)


@dataclass(frozen=True, eq=False)
class Partitions(Rows):
    """The rows of Dask arrays or data frames, with optional targets and weights.

    Created by :meth:`from_collections` without reading data. Iteration is not supported on purpose:
    rows stay on the workers, and :meth:`reduce` returns merged results.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from posterity import designs
    >>> X = da.from_array(np.arange(10.0).reshape(5, 2), chunks=(2, 2))
    >>> rows = designs.Partitions.from_collections(X, X[:, 0])
    >>> rows.n_features, rows.n_rows
    (2, 5)
    >>> rows.reduce(lambda block: block.y.sum(), lambda a, b: a + b)
    np.float64(20.0)
    """

    pieces: tuple[list[Any], ...]  # of each partition X, y, sample_weight, delayed or None
    known_lengths: tuple[int, ...] | None  # None: a pass would tell
    encode: Callable[[NDArray[Any]], Array] | None = None  # of targets that are not numbers
    transforms: tuple[Callable[[Array], Array], ...] = ()

    @classmethod
    def from_collections(cls, X: Any, y: Any = None, sample_weight: Any = None) -> Partitions:
        """Create partitions from Dask collections, without reading them.

        Parameters
        ----------
        X : dask array or data frame of shape (N, D)
            Inputs.
        y : dask array, series or data frame, of shape (N,) or (N, K), optional
            Targets.
        sample_weight : dask array or series of shape (N,), optional
            Weights.
        """
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
        lengths = None if math.isnan(cut.n_rows) else tuple(int(n) for n in cut.lengths)
        return cls(form, tuple(map(list, zip(*columns, strict=True))), lengths)

    @property
    def recipe(self) -> BlockRecipe:
        """The conversion of a partition to a block, on a worker."""
        return BlockRecipe(self.form, self.encode, self.transforms)

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """Number of rows of each partition, counted by a pass if unknown."""
        if self.known_lengths is not None:
            return self.known_lengths
        return tuple(self._map_and_merge(_CountRows(self.recipe), operator.add, "Counting rows"))

    @property
    def n_rows(self) -> int:
        """Number of rows N, counted by a pass if unknown."""
        return sum(self.lengths)

    @property
    def known_width(self) -> int | None:
        """Number of columns of blocks, or None if unknown before reading one."""
        return self.__dict__.get("width") if self.transforms else self.n_features

    @cached_property
    def width(self) -> int:
        """Number of columns of blocks; reads the first block if they are transformed."""
        if not self.transforms:
            return self.n_features
        work = _ApplyToBlock(self.recipe, _count_columns, None)
        for number in range(len(self.pieces)):
            found: int | None = self._map_and_merge(work, max, "Reading rows", [number])
            if found is not None:
                return found
        raise ValueError("the partitions hold no rows; pass at least one.")

    def with_row_numbers(self) -> Partitions:
        """Return partitions whose blocks know their first row number."""
        return replace(self, known_lengths=self.lengths)

    def encode_targets(self, encode: Callable[[NDArray[Any]], Array]) -> Partitions:
        """Return partitions with ``encode(y)`` as targets, such as class indices."""
        return replace(self, encode=encode)

    def map(self, transform: Callable[[Array], Array]) -> Partitions:
        """Return partitions with ``transform(X)`` instead of X."""
        return replace(self, transforms=(*self.transforms, transform))

    def _merge_blocks(
        self,
        function: Callable[[RowBlock], T | None],
        merge: Callable[[T, T], T],
        description: str,
    ) -> T | None:
        lengths = self.known_lengths
        firsts = None if lengths is None else np.cumsum([0, *lengths[:-1]])
        return self._map_and_merge(_ApplyToBlock(self.recipe, function, firsts), merge, description)

    def count_targets(self, *, kind: str = CLASS) -> tuple[NDArray[Any], Array]:
        """Count the distinct targets, classes or counts, in one pass."""
        work = functools.partial(count_targets, kind=kind)
        found: Tally = self._map_and_merge(work, add_counts, "Reading targets")
        return found

    def take_rows(self, places: NDArray[np.intp]) -> RowBlock:
        """Load rows by number, in increasing order, into memory."""
        firsts = np.cumsum([0, *self.lengths])
        share = np.searchsorted(places, firsts)
        spans = zip(itertools.pairwise(share), firsts[:-1], strict=True)
        within = [places[a:b] - first for (a, b), first in spans]
        asked = [number for number, i in enumerate(within) if len(i)]
        work = _TakeRows(self.recipe, within)
        return blocks.join_blocks(self._map_and_merge(work, operator.add, "Sampling rows", asked))

    def sample(self, n: int, rng: np.random.Generator) -> RowBlock:
        """Draw a uniform sample of n rows, or return all if there are fewer."""
        N = self.n_rows
        places = np.arange(N) if n >= N else np.sort(rng.choice(N, n, replace=False))
        return self.take_rows(places)

    def __repr__(self) -> str:
        return f"Partitions(n_partitions={len(self.pieces)}, n_features={self.n_features})"

    def _map_and_merge(
        self, work: Any, merge: Any, description: str, only: Sequence[int] | None = None
    ) -> Any:
        return dask_graph.map_and_merge(
            self.pieces, work, merge, description=description, only=only
        )


@dataclass(frozen=True)
class _CountRows:
    """Task: count the rows of a partition."""

    recipe: BlockRecipe

    def __call__(self, raw: Sequence[Any], number: int) -> list[int]:
        return [len(self.recipe.convert_parts(raw, number)[0])]


@dataclass(frozen=True)
class _ApplyToBlock:
    """Task: apply a function to a block; None for an empty block."""

    recipe: BlockRecipe
    function: Callable[[RowBlock], Any]
    firsts: NDArray[np.intp] | None  # of each partition, where they are known

    def __call__(self, raw: Sequence[Any], number: int) -> Any:
        parts = self.recipe.convert_parts(raw, number)
        if not len(parts[0]):
            return None
        first = 0 if self.firsts is None else int(self.firsts[number])
        return self.function(self.recipe.make_block(parts, number, first))


@dataclass(frozen=True)
class _TakeRows:
    """Task: select rows of a partition."""

    recipe: BlockRecipe
    within: list[NDArray[np.intp]]

    def __call__(self, raw: Sequence[Any], number: int) -> list[RowBlock]:
        i = self.within[number]
        parts = blocks.map_parts(self.recipe.convert_parts(raw, number), lambda part: part[i])
        return [self.recipe.make_block(parts, number)]


def _count_columns(block: RowBlock) -> int:
    return block.X.shape[1]


def _name_partition(number: int) -> str:
    return f"partition {number}"


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


def _check_names(X: Any, expected: tuple[str, ...], where: str) -> None:
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
