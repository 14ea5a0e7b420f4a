"""Rows of Dask collections, validated and processed on the workers.

Partitions are never sent to the client. Functions of a :class:`RowBlock` are sent to the workers,
their results are merged there, and one result is returned.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.designs import blocks, dask_graph, dask_pieces
from posterity.designs.blocks import Parts, RowBlock, RowForm, T
from posterity.designs.streamed import Rows


@dataclass(frozen=True)
class BlockRecipe:
    """The conversion, on a worker, of the raw parts of a partition to a block."""

    form: RowForm
    encode: Callable[[NDArray[Any]], Array] | None = None  # encoder of targets that are not numbers
    transforms: tuple[Callable[[Array], Array], ...] = ()

    def convert_parts(self, raw: Sequence[Any], number: int) -> Parts:
        """Convert raw parts to arrays of one length with the common columns."""
        if self.form.feature_names is not None:
            dask_pieces.check_names(raw[0], self.form.feature_names, _name_partition(number))
        X, y, sample_weight = raw
        return blocks.convert_parts(X, y, sample_weight, _name_partition(number))

    def make_block(self, parts: Parts, number: int, first_row: int = 0) -> RowBlock:
        """Return the validated block; errors name the partition and the row in it."""
        X, y, sample_weight = parts
        if y is not None and self.encode is not None:
            y = self.encode(y)
        block = self.form.convert_block((X, y, sample_weight), 0, piece=_name_partition(number))
        Z = block.X
        for transform in self.transforms:
            Z = transform(Z)
        return replace(block, X=Z, first_row=first_row)


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
        found = dask_pieces.align_pieces(X, y, sample_weight)
        return cls(found.form, found.pieces, found.lengths)

    @property
    def recipe(self) -> BlockRecipe:
        """What a worker does to a partition."""
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

    def count_targets(self, *, kind: str = dask_pieces.CLASS) -> tuple[NDArray[Any], Array]:
        """Count the distinct targets, classes or counts, in one pass."""
        work = functools.partial(dask_pieces.count_targets, kind=kind)
        found: dask_pieces.Tally = self._map_and_merge(
            work, dask_pieces.add_counts, "Reading targets"
        )
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
