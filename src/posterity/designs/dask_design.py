"""The design whose rows lie in the partitions of Dask collections, on whatever workers."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.designs import base
from posterity.designs.blocks import Block
from posterity.designs.dense import Dense
from posterity.designs.partitions import Partitions


@dataclass(frozen=True, eq=False)
class DaskDesign(base.Design):
    """The inputs of partitions as a design: a question is one pass, made by the workers.

    Only what the size of the answer demands comes back, whatever the number of rows. Values that go
    along with the rows are functions of a block, :class:`Along`, and never leave the workers
    either. What travels, into a task or a file, is a design of the same columns without its rows.

    Parameters
    ----------
    partitions : Partitions
        ``partitions.map(features)`` makes features of them.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from posterity import designs
    >>> X = da.from_array(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), chunks=(2, 2))
    >>> Z = designs.DaskDesign(designs.Partitions.of(X))
    >>> Z.gram()
    array([[35., 44.],
           [44., 56.]])
    >>> Z.rows(1, 3)
    array([[3., 4.],
           [5., 6.]])
    """

    partitions: Partitions

    @property
    def n_rows(self) -> int:
        """N, by a pass over the rows where the collection does not know it."""
        return self.partitions.n_rows

    @property
    def n_columns(self) -> int:
        """M."""
        return self.partitions.width

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """One partition after the other, brought here; for looking, not for learning."""
        stops = np.cumsum([0, *self.partitions.lengths])
        for start, stop in zip(stops[:-1].tolist(), stops[1:].tolist(), strict=True):
            if start < stop:
                yield slice(start, stop), self.rows(start, stop)

    def rows(self, start: int, stop: int) -> Array:
        """Rows start, ..., stop - 1, brought here."""
        self._check_range(start, stop)
        if start == stop:
            return np.empty((0, self.n_columns))
        return self.partitions.chosen(np.arange(start, stop)).X

    def chosen(
        self, places: NDArray[np.intp], *along: base.Values
    ) -> tuple[Dense, list[NDArray[Any] | None]]:
        """These rows and their values, brought here."""
        block = self.partitions.chosen(places)
        return Dense(block.X), [_found(given, block, places) for given in along]

    def total(self, function: base.PartFunction, *along: base.Values) -> list[Any]:
        """Summed on the workers, partition by partition and then in a tree."""
        self.partitions.find_width()  # before the function travels, which may hold the design
        held = any(isinstance(values, np.ndarray) for values in along)
        rows = self.partitions.counted() if held else self.partitions
        return rows.reduce(_Terms(function, along), base.joined)

    def matvec(self, w: Array) -> Array:
        """Z w, brought here: N numbers for each column of w."""
        base.check_length(w, self.n_columns, "w", "columns")
        return np.concatenate(self.partitions.reduce(_Product(w), operator.add))

    def rmatvec(self, r: base.Values) -> Array:
        """Z^T r, for a value a row that workers find; one that is in memory here is sent there."""
        self._check_values(r, "r")
        (product,) = self.total(_rmatvec, r)
        return np.asarray(product)

    def gram(self, weights: base.Values = None) -> Array:
        """Z^T diag(weights) Z, exactly symmetric."""
        self._check_values(weights, "weights")
        (G,) = self.total(_gram, weights)
        return np.asarray(G)

    def _check_values(self, values: base.Values, name: str) -> None:
        if values is not None and not isinstance(values, base.Along):
            base.check_length(values, self.n_rows, name, "rows")

    def __reduce__(self) -> tuple[type[Dense], tuple[Array]]:
        # A pass that begins while a graph is being packed would wait for it, and it for the pass.
        known = self.partitions.known_width
        return Dense, (np.empty((0, 0 if known is None else known)),)


@dataclass(frozen=True)
class _Terms:
    """The terms of one partition, summed over parts that stay in the cache of a core."""

    function: base.PartFunction
    along: Sequence[base.Values]

    def __call__(self, block: Block) -> list[Any]:
        rows = slice(block.first_row, block.first_row + len(block))
        values = [_found(given, block, rows) for given in self.along]
        return Dense(block.X).total(self.function, *values)


def _found(given: base.Values, block: Block, rows: slice | NDArray[np.intp]) -> NDArray[Any] | None:
    """The values of these rows."""
    return given.of(block) if isinstance(given, base.Along) else base.at(rows, [given])[0]


@dataclass(frozen=True)
class _Product:
    """Z w of one partition."""

    w: Array

    def __call__(self, block: Block) -> list[Array]:
        return [block.X @ self.w]


def _rmatvec(part: base.Design, r: Array) -> list[Array]:
    return [part.rmatvec(r)]


def _gram(part: base.Design, weights: Array | None) -> list[Array]:
    return [part.gram(weights)]
