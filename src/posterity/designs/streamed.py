"""Rows that are not all in memory, behind two operations, and the design of their columns.

A pass over rows is ``reduce``: a function of each block, and the merged results. Rows by number
are ``take_rows``. What is done to inputs before they are used is a function of a block, added by
``map``. Nothing else differs between blocks that are read here and partitions on workers.
"""

from __future__ import annotations

import abc
import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.designs import base
from posterity.designs.base import Dense
from posterity.designs.blocks import RowBlock, RowForm, T


@dataclass(frozen=True, eq=False)
class Rows(abc.ABC):
    """Rows with optional targets and weights, in blocks: :class:`Chunks` or :class:`Partitions`.

    Parameters
    ----------
    form : RowForm
        Columns and parts of the rows.
    """

    form: RowForm

    @property
    @abc.abstractmethod
    def n_rows(self) -> int | None:
        """The number of rows, or None if it is unknown before a pass."""

    @property
    def n_features(self) -> int:
        """The number of columns of X."""
        return self.form.n_features

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the columns of X, if any."""
        return self.form.feature_names

    @property
    def weights(self) -> base.RowValues | None:
        """Weights of the rows, read from their blocks; None if no weights were given."""
        return base.RowValues(RowBlock.make_weights) if self.form.weighted else None

    @property
    def rereadable(self) -> bool:
        """Whether the rows can be read more than once."""
        return True

    @property
    def width(self) -> int:
        """Number of columns of blocks."""
        return self.n_features

    @property
    def known_width(self) -> int | None:
        """Number of columns of blocks, or None if unknown before reading one."""
        return self.n_features

    @abc.abstractmethod
    def map(self, transform: Callable[[Array], Array]) -> Self:
        """Return the rows with ``transform(X)`` instead of X."""

    def reduce(
        self,
        function: Callable[[RowBlock], T | None],
        merge: Callable[[T, T], T],
        *,
        description: str = "Reading rows",
    ) -> T:
        """Apply ``function`` to each block and merge the results in order, in one pass.

        Parameters
        ----------
        function : callable
            Function of a :class:`RowBlock` of at least one row; an answer None is left out. On Dask
            it is sent to the workers, so its data should be small.
        merge : callable
            Function that merges two results, that of earlier rows first.
        description : str
            Label of the progress bar.

        Examples
        --------
        >>> import operator
        >>> import numpy as np
        >>> from posterity import designs
        >>> chunks = designs.Chunks.from_arrays(np.arange(10.0).reshape(-1, 1), rows=4)
        >>> float(chunks.reduce(lambda block: block.X.sum(), operator.add))
        45.0
        """
        total = self._merge_blocks(function, merge, description)
        if total is None:
            raise ValueError(
                f"the {type(self).__name__.lower()} hold no rows of positive weight: they are "
                "empty, or sample_weight is zero in every row; pass at least one row that counts."
            )
        return total

    @abc.abstractmethod
    def _merge_blocks(
        self,
        function: Callable[[RowBlock], T | None],
        merge: Callable[[T, T], T],
        description: str,
    ) -> T | None:
        """Return the merged answers of blocks; None if no block has one."""

    @abc.abstractmethod
    def take_rows(self, places: NDArray[np.intp]) -> RowBlock:
        """Load rows by number, in increasing order, into memory."""

    @abc.abstractmethod
    def sample(self, n: int, rng: np.random.Generator) -> RowBlock:
        """Draw a uniform sample of n rows, or return all if there are fewer."""

    def with_row_numbers(self) -> Self:
        """Return rows whose blocks know their first row number."""
        return self

    def require_rereadable(self, purpose: str) -> None:
        """Raise if the rows can be read only once; ``purpose`` is named in the error."""
        if not self.rereadable:
            raise ValueError(
                f"{purpose} needs another pass over the rows, but a generator can be read only "
                "once; pass a function that returns a new iterator to Chunks.from_iterable."
            )


@dataclass(frozen=True, eq=False)
class Streamed(base.Design):
    """The inputs of rows that are not in memory as a design: each operation is one pass.

    On Dask a pass runs on the workers, and only results of the size of the answer are returned.
    Values along the rows may be functions of a block, :class:`RowValues`, which stay there. A
    pickled design has the same columns but no rows.

    Parameters
    ----------
    source : Chunks or Partitions
        Rows that can be read more than once; ``source.map(features)`` makes features of them.
    selected : int, optional
        Number of columns, if it is known although ``source`` does not know it before a pass.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import designs
    >>> chunks = designs.Chunks.from_arrays(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), rows=2)
    >>> Z = designs.Streamed(chunks)
    >>> Z.gram()
    array([[35., 44.],
           [44., 56.]])
    >>> Z.rows(1, 3)
    array([[3., 4.],
           [5., 6.]])
    """

    source: Rows
    selected: int | None = None

    def __post_init__(self) -> None:
        self.source.require_rereadable("a design")

    @cached_property
    def n_rows(self) -> int:
        """Number of rows N, counted by a pass if the source does not know it."""
        known = self.source.n_rows
        return self.source.reduce(len, operator.add) if known is None else known

    @property
    def n_columns(self) -> int:
        """Number of columns M."""
        return self.source.width if self.selected is None else self.selected

    def rows(self, start: int, stop: int) -> Array:
        """Return a copy of rows start, ..., stop - 1."""
        self._check_range(start, stop)
        if start == stop:
            return np.empty((0, self.n_columns))
        return self.source.take_rows(np.arange(start, stop)).X

    def take_rows(
        self, places: NDArray[np.intp], *along: base.Values
    ) -> tuple[Dense, list[NDArray[Any] | None]]:
        """Return selected rows and their values, in this process."""
        block = self.source.take_rows(places)
        return Dense(block.X), _select_values(block, places, along)

    def select_columns(self, places: NDArray[np.intp]) -> Streamed:
        """Return selected columns; each block is reduced to them where it is."""
        take = functools.partial(np.take, indices=places, axis=1)
        return Streamed(self.source.map(take), len(places))

    def sum_over_parts(self, function: base.PartFunction, *along: base.Values) -> list[Any]:
        """Sum by block, and within a block over parts that fit in a cache."""
        _ = self.n_columns  # known before the function is pickled, which may contain the design
        held = any(isinstance(values, np.ndarray) for values in along)
        source = self.source.with_row_numbers() if held else self.source
        n, *terms = source.reduce(_BlockTerms(function, along), base.add_terms)
        self._check_count(n)
        return terms

    def matvec(self, w: Array) -> Array:
        """Return Z w, in this process."""
        base.check_length(w, self.n_columns, "w", "columns")
        product = np.concatenate(self.source.reduce(_BlockProduct(w), operator.add))
        self._check_count(len(product))
        return product

    def _check_count(self, n: int) -> None:
        """Raise if the number of rows changed between passes; the first pass may tell it."""
        _require_equal_counts(self.__dict__.setdefault("n_rows", n), n)

    def __reduce__(self) -> tuple[type[Dense], tuple[Array]]:
        # Starting a pass while a graph is being pickled would deadlock.
        known = self.source.known_width if self.selected is None else self.selected
        return Dense, (np.empty((0, known or 0)),)


@dataclass(frozen=True)
class _BlockTerms:
    """Task: the number of rows of a block, and the terms summed over its parts."""

    function: base.PartFunction
    along: Sequence[base.Values]

    def __call__(self, block: RowBlock) -> list[Any]:
        n, values = len(block), _select_values(block, block.span, self.along)
        for own in values:
            _require_equal_counts(n if own is None else len(own), n)
        return [n, *Dense(block.X).sum_over_parts(self.function, *values)]


@dataclass(frozen=True)
class _BlockProduct:
    """Task: compute Z w of one block."""

    w: Array

    def __call__(self, block: RowBlock) -> list[Array]:
        return [block.X @ self.w]


def _select_values(
    block: RowBlock, rows: slice | NDArray[np.intp], along: Sequence[base.Values]
) -> list[NDArray[Any] | None]:
    """Return the values of the rows of a block: computed from it, or selected by number."""
    return [
        given.of(block)
        if isinstance(given, base.RowValues)
        else base.select_values(rows, [given])[0]
        for given in along
    ]


def _require_equal_counts(before: int, now: int) -> None:
    """Raise if rows were added or lost between passes."""
    if before != now:
        raise ValueError(
            f"the source had {before} rows before and now has a different number, {now}; every "
            "pass must return the same rows."
        )
