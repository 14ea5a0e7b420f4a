"""The interface of designs, the feature matrix Z (N, M), and the design in memory.

A pass is ``Z.sum_over_parts(function)``: the function gets parts of the rows in memory, of which it
asks ``Z @ w``, ``Z.rmatvec(r)`` = Z^T r, ``Z.gram(weights)`` = Z^T diag(weights) Z and
``Z.rows(i, j)``. Inference in weight space uses nothing else, so data in memory and data read in
blocks share the same code.
"""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from posterity import linalg
from posterity.arrays import Array
from posterity.designs.blocks import RowBlock

# Elements of a block: 8 MB, so that a weighted copy of it stays small and near the processor.
_BLOCK_ELEMENTS = 2**20
# Elements of a part: 2 MB, so that several questions find it in a cache.
_PART_ELEMENTS = 2**18
# Columns from which a product, which reads several rows at a time, waits for memory.
_LONG_ROW = 32

PartFunction: TypeAlias = Callable[..., Sequence[Any]]
"""Function from a part of the rows and its values to terms, anything that can be added."""


@dataclass(frozen=True)
class Minimum:
    """A term whose sum with another is the smaller of both.

    Examples
    --------
    >>> from posterity import designs
    >>> designs.Minimum(3.0) + designs.Minimum(-1.0)
    Minimum(value=-1.0)
    """

    value: float

    def __add__(self, other: Minimum) -> Minimum:
        return self if self.value <= other.value else other


@dataclass(frozen=True)
class RowValues:
    """Values along the rows, one per row, that are computed from a block where the block is.

    Parameters
    ----------
    of : callable
        Function from a block to one value for each of its rows.
    """

    of: Callable[[RowBlock], NDArray[Any]]


Values: TypeAlias = NDArray[Any] | RowValues | None
"""Values along the rows of a design, such as targets, or None."""


class Design(abc.ABC):
    """The feature matrix Z of N rows and M columns.

    A subclass defines passes and access to rows.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import designs
    >>> Z = designs.Dense(np.eye(3))
    >>> isinstance(Z, designs.Design), Z.rmatvec(np.ones(3))
    (True, array([1., 1., 1.]))
    """

    @property
    @abc.abstractmethod
    def n_rows(self) -> int:
        """Number of rows N."""

    @property
    @abc.abstractmethod
    def n_columns(self) -> int:
        """Number of columns M."""

    @property
    def in_memory(self) -> bool:
        """Whether a pass over the rows is cheap."""
        return False

    @abc.abstractmethod
    def rows(self, start: int, stop: int) -> Array:
        """Return rows start, ..., stop - 1 of Z, shape (stop - start, M)."""

    @abc.abstractmethod
    def take_rows(
        self, places: NDArray[np.intp], *along: Values
    ) -> tuple[Design, list[NDArray[Any] | None]]:
        """Return selected rows, in increasing order, as a design in memory, with their values."""

    @abc.abstractmethod
    def select_columns(self, places: NDArray[np.intp]) -> Design:
        """Return columns by number, (N, m): a copy where rows are in memory."""

    @abc.abstractmethod
    def sum_over_parts(self, function: PartFunction, *along: Values) -> list[Any]:
        """Sum the results of ``function(part, *values)`` over all parts, in one pass.

        Dependent operations, such as Z^T r with r computed from Z w, run on each part while it is
        in a cache.

        Parameters
        ----------
        function : callable
            Function from a part of the rows as a design, and the values of these rows, to terms,
            which are added. It may run in another thread or process and must not have side effects.
        along : array of shape (N, ...), RowValues or None
            Values of all rows; each part gets its own, or None.
        """

    @abc.abstractmethod
    def matvec(self, w: Array) -> Array:
        """Return Z w, shape (N,) for w of shape (M,), and (N, K) for w of shape (M, K)."""

    def __matmul__(self, w: Array) -> Array:
        return self.matvec(w)

    def rmatvec(self, r: Array) -> Array:
        """Return Z^T r, shape (M,) for r of shape (N,), and (M, K) for r of shape (N, K)."""
        check_length(r, self.n_rows, "r", "rows")
        (product,) = self.sum_over_parts(_multiply_transposed, r)
        return np.asarray(product)

    def gram(self, weights: Array | None = None) -> Array:
        """Return Z^T diag(weights) Z, (M, M), exactly symmetric; weights may be negative."""
        if weights is not None:
            check_length(weights, self.n_rows, "weights", "rows")
        (G,) = self.sum_over_parts(_compute_gram, weights)
        return np.asarray(G)

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield pairs (row slice, rows of Z) of a few megabytes, at least as many as columns."""
        for rows in slice_rows(self, _BLOCK_ELEMENTS, 1):
            yield rows, self.rows(rows.start, rows.stop)

    def _check_range(self, start: int, stop: int) -> None:
        """Raise unless start, ..., stop - 1 are valid row numbers."""
        if not 0 <= start <= stop <= self.n_rows:
            raise IndexError(
                f"rows {start} to {stop} were requested from a design of {self.n_rows} rows; use "
                f"0 <= start <= stop <= {self.n_rows}."
            )


@dataclass(frozen=True, eq=False)
class Dense(Design):
    """A feature matrix in memory.

    Parameters
    ----------
    Z : array of shape (N, M)
        The feature matrix. A float64 array is not copied.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import designs
    >>> Z = designs.Dense(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    >>> Z @ np.array([1.0, -1.0])
    array([-1., -1., -1.])
    >>> Z.gram(np.array([1.0, 0.0, 1.0]))
    array([[26., 32.],
           [32., 40.]])
    """

    Z: Array

    def __post_init__(self) -> None:
        if np.ndim(self.Z) != 2:
            raise ValueError(
                f"a design is a matrix of rows and columns, but Z has shape {np.shape(self.Z)}; "
                "for one column pass Z.reshape(-1, 1)."
            )
        object.__setattr__(self, "Z", np.asarray(self.Z, dtype=np.float64))

    @property
    def n_rows(self) -> int:
        """Number of rows N."""
        return self.Z.shape[0]

    @property
    def n_columns(self) -> int:
        """Number of columns M."""
        return self.Z.shape[1]

    @property
    def in_memory(self) -> bool:
        """Always True: a pass over the rows is cheap."""
        return True

    def take_rows(
        self, places: NDArray[np.intp], *along: Values
    ) -> tuple[Dense, list[NDArray[Any] | None]]:
        """Return a copy of selected rows."""
        return Dense(self.Z[places]), select_values(places, along)

    def select_columns(self, places: NDArray[np.intp]) -> Dense:
        """Return a copy of selected columns."""
        return Dense(self.Z[:, places])

    def sum_over_parts(self, function: PartFunction, *along: Values) -> list[Any]:
        """Sum over all parts in order, with threads if there are many.

        With fewer than twice as many rows as columns, Gram matrices would take longer to add up
        than to compute.
        """

        def compute_terms(rows: slice) -> list[Any]:
            return list(function(Dense(self.Z[rows]), *select_values(rows, along)))

        slices = list(slice_rows(self, _PART_ELEMENTS, 2))
        workers = min(linalg.threads.available_threads(), len(slices))
        with linalg.limit_threads(0 if len(slices) > 1 else self.n_rows):
            if workers < 2:
                return functools.reduce(add_terms, map(compute_terms, slices))
            with ThreadPoolExecutor(workers) as pool:
                return functools.reduce(add_terms, pool.map(compute_terms, slices))

    def rows(self, start: int, stop: int) -> Array:
        """Return a view of rows start, ..., stop - 1."""
        self._check_range(start, stop)
        return self.Z[start:stop]

    def matvec(self, w: Array) -> Array:
        """Return Z w."""
        check_length(w, self.n_columns, "w", "columns")
        if w.size > self.n_columns:
            return (w.T @ self.Z.T).T  # a few long rows are multiplied faster than many short ones
        if (
            self.Z.size <= _PART_ELEMENTS
            and self.n_columns >= _LONG_ROW
            and self.Z.flags.c_contiguous
        ):
            np.vdot(self.Z, self.Z)  # reads rows in order, which fills the cache twice as fast
        return self.Z @ w

    def rmatvec(self, r: Array) -> Array:
        """Return Z^T r."""
        check_length(r, self.n_rows, "r", "rows")
        return (r.T @ self.Z).T if r.size > self.n_rows else self.Z.T @ r

    def gram(self, weights: Array | None = None) -> Array:
        """Return Z^T diag(weights) Z, computed in blocks without a copy of Z."""
        if weights is None:
            return self.Z.T @ self.Z
        check_length(weights, self.n_rows, "weights", "rows")
        G = np.zeros((self.n_columns, self.n_columns))
        for rows, Z in self.blocks():
            G += _compute_weighted_gram(Z, weights[rows])
        return G


def slice_rows(design: Design, n_elements: int, least: int) -> Iterator[slice]:
    """Yield slices of at most so many elements, but of at least ``least`` rows for each column."""
    M = max(1, design.n_columns)
    size = max(least * M, n_elements // M)
    for start in range(0, design.n_rows, size):
        yield slice(start, min(start + size, design.n_rows))


def select_values(
    rows: slice | NDArray[np.intp], along: Sequence[Values]
) -> list[NDArray[Any] | None]:
    """Return the values of some rows."""
    return [None if values is None else _require_in_memory(values)[rows] for values in along]


def _require_in_memory(values: NDArray[Any] | RowValues) -> NDArray[Any]:
    """Return values that are in memory; raise for those computed from blocks."""
    assert not isinstance(values, RowValues)
    return values


def add_terms(a: list[Any], b: list[Any]) -> list[Any]:
    """Add terms of two sets of rows without changing them, because tasks may run again."""
    return [x + y for x, y in zip(a, b, strict=True)]


def _multiply_transposed(part: Design, r: Array) -> list[Array]:
    return [part.rmatvec(r)]


def _compute_gram(part: Design, weights: Array | None) -> list[Array]:
    return [part.gram(weights)]


def _compute_weighted_gram(Z: Array, weights: Array) -> Array:
    """Return Z^T diag(weights) Z of one block."""
    if np.all(weights >= 0.0):
        # NumPy computes only half of a product of a matrix with its own transpose.
        A = np.sqrt(weights)[:, None] * Z
        return A.T @ A
    G = Z.T @ (weights[:, None] * Z)
    return 0.5 * (G + G.T)


def check_length(x: Array, n: int, name: str, kind: str) -> None:
    """Raise unless the length of x is the number of rows or columns of the design."""
    if np.ndim(x) == 0 or len(x) != n:
        raise ValueError(
            f"{name} has shape {np.shape(x)} but the design has {n} {kind}; "
            f"pass an array whose first dimension is {n}."
        )
