"""A design whose rows are partitions of Dask collections."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.designs import base
from posterity.designs.blocks import RowBlock
from posterity.designs.dense import Dense
from posterity.designs.partitions import Partitions


@dataclass(frozen=True, eq=False)
class DaskDesign(base.Design):
    """The inputs of partitions as a design: each operation is one pass on the workers.

    Only results of the size of the answer are returned to the client. Values along the rows are
    functions of a block, :class:`RowValues`, and stay on the workers. A pickled design has the same
    columns but no rows.

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
    >>> Z = designs.DaskDesign(designs.Partitions.from_collections(X))
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
        """Number of rows N, counted by a pass if unknown."""
        return self.partitions.n_rows

    @property
    def n_columns(self) -> int:
        """Number of columns M."""
        return self.partitions.width

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield the partitions, transferred to this process."""
        stops = np.cumsum([0, *self.partitions.lengths])
        for start, stop in zip(stops[:-1].tolist(), stops[1:].tolist(), strict=True):
            if start < stop:
                yield slice(start, stop), self.rows(start, stop)

    def rows(self, start: int, stop: int) -> Array:
        """Return rows start, ..., stop - 1, transferred to this process."""
        self._check_range(start, stop)
        if start == stop:
            return np.empty((0, self.n_columns))
        return self.partitions.take_rows(np.arange(start, stop)).X

    def take_rows(
        self, places: NDArray[np.intp], *along: base.Values
    ) -> tuple[Dense, list[NDArray[Any] | None]]:
        """Return selected rows and their values, transferred to this process."""
        block = self.partitions.take_rows(places)
        return Dense(block.X), [_select_values(given, block, places) for given in along]

    def sum_over_parts(self, function: base.PartFunction, *along: base.Values) -> list[Any]:
        """Sum on the workers, by partition and then in a tree."""
        self.partitions.find_width()  # before the function is pickled, which may contain the design
        held = any(isinstance(values, np.ndarray) for values in along)
        rows = self.partitions.with_row_numbers() if held else self.partitions
        return rows.reduce(_PartitionTerms(function, along), base.add_totals)

    def matvec(self, w: Array) -> Array:
        """Return Z w, transferred to this process."""
        base.check_length(w, self.n_columns, "w", "columns")
        return np.concatenate(self.partitions.reduce(_PartitionProduct(w), operator.add))

    def rmatvec(self, r: base.Values) -> Array:
        """Return Z^T r, for values computed on the workers or sent to them."""
        self._check_values(r, "r")
        (product,) = self.sum_over_parts(_rmatvec, r)
        return np.asarray(product)

    def gram(self, weights: base.Values = None) -> Array:
        """Return Z^T diag(weights) Z, exactly symmetric."""
        self._check_values(weights, "weights")
        (G,) = self.sum_over_parts(_gram, weights)
        return np.asarray(G)

    def _check_values(self, values: base.Values, name: str) -> None:
        if values is not None and not isinstance(values, base.RowValues):
            base.check_length(values, self.n_rows, name, "rows")

    def __reduce__(self) -> tuple[type[Dense], tuple[Array]]:
        # Starting a pass while a graph is being pickled would deadlock.
        known = self.partitions.known_width
        return Dense, (np.empty((0, 0 if known is None else known)),)


@dataclass(frozen=True)
class _PartitionTerms:
    """Task: sum the terms of one partition over cache-sized parts."""

    function: base.PartFunction
    along: Sequence[base.Values]

    def __call__(self, block: RowBlock) -> list[Any]:
        rows = slice(block.first_row, block.first_row + len(block))
        values = [_select_values(given, block, rows) for given in self.along]
        return Dense(block.X).sum_over_parts(self.function, *values)


def _select_values(
    given: base.Values, block: RowBlock, rows: slice | NDArray[np.intp]
) -> NDArray[Any] | None:
    """Return the values of a row slice."""
    return (
        given.of(block)
        if isinstance(given, base.RowValues)
        else base.select_values(rows, [given])[0]
    )


@dataclass(frozen=True)
class _PartitionProduct:
    """Task: compute Z w of one partition."""

    w: Array

    def __call__(self, block: RowBlock) -> list[Array]:
        return [block.X @ self.w]


def _rmatvec(part: base.Design, r: Array) -> list[Array]:
    return [part.rmatvec(r)]


def _gram(part: base.Design, weights: Array | None) -> list[Array]:
    return [part.gram(weights)]
