"""The interface of designs: the feature matrix Z (N, M) through four operations.

``Z @ w``, ``Z.rmatvec(r)`` = Z^T r, ``Z.gram(weights)`` = Z^T diag(weights) Z and ``Z.rows(i, j)``.
Inference in weight space uses nothing else, so data in memory and data read in blocks share the
same code. ``total`` sums a function over parts of the rows, so that several operations cost one
pass. A design that yields its blocks of rows gets the first three operations.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.designs.blocks import RowBlock

PartFunction: TypeAlias = Callable[..., Sequence["Array | float | Minimum"]]
"""Function from a part of the rows and its values to terms of a sum."""


@dataclass(frozen=True)
class Minimum:
    """A term whose minimum over the parts is returned instead of the sum."""

    value: float


@dataclass(frozen=True)
class RowValues:
    """One value a row that is computed from a block where the block is.

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

    A subclass defines the number of rows and columns, its blocks, and access to rows.

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

    @abc.abstractmethod
    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield pairs (row slice, rows of Z) in order, covering every row once."""

    @abc.abstractmethod
    def rows(self, start: int, stop: int) -> Array:
        """Return rows start, ..., stop - 1 of Z, shape (stop - start, M)."""

    def matvec(self, w: Array) -> Array:
        """Return Z w, shape (N,) for w of shape (M,), and (N, K) for w of shape (M, K)."""
        check_length(w, self.n_columns, "w", "columns")
        product = np.empty((self.n_rows, *w.shape[1:]))
        for rows, Z in self.blocks():
            product[rows] = Z @ w
        return product

    def __matmul__(self, w: Array) -> Array:
        return self.matvec(w)

    def rmatvec(self, r: Array) -> Array:
        """Return Z^T r, shape (M,) for r of shape (N,), and (M, K) for r of shape (N, K)."""
        check_length(r, self.n_rows, "r", "rows")
        product = np.zeros((self.n_columns, *r.shape[1:]))
        for rows, Z in self.blocks():
            product += Z.T @ r[rows]
        return product

    def gram(self, weights: Array | None = None) -> Array:
        """Return Z^T diag(weights) Z, (M, M), exactly symmetric; weights may be negative."""
        if weights is not None:
            check_length(weights, self.n_rows, "weights", "rows")
        G = np.zeros((self.n_columns, self.n_columns))
        for rows, Z in self.blocks():
            G += _weighted_gram(Z, None if weights is None else weights[rows])
        return G

    @property
    def in_memory(self) -> bool:
        """Whether a pass over the rows is cheap."""
        return False

    def take_rows(
        self, places: NDArray[np.intp], *along: Values
    ) -> tuple[Design, list[NDArray[Any] | None]]:
        """Return selected rows, in increasing order, as a design in memory, with their values."""
        # Imported here to avoid a cycle: it is a design itself.
        from posterity.designs.dense import Dense

        found = [
            Z[places[_find_places_within(places, rows)] - rows.start] for rows, Z in self.blocks()
        ]
        return Dense(np.concatenate(found)), select_values(places, along)

    def parts(self) -> Iterator[tuple[slice, Design]]:
        """Yield pairs (row slice, rows as a design in memory), in the order of ``blocks``."""
        # Imported here to avoid a cycle: it is a design itself.
        from posterity.designs.dense import Dense

        for rows, Z in self.blocks():
            yield rows, Dense(Z)

    def sum_over_parts(self, function: PartFunction, *along: Values) -> list[Any]:
        """Sum the results of ``function(part, *values)`` over all parts, in one pass.

        Dependent operations, such as Z^T r with r computed from Z w, run on each part while it is
        in memory.

        Parameters
        ----------
        function : callable
            Function from a part of the rows as a design, and the values of these rows, to terms; of
            :class:`Minimum` terms the smallest is kept. It may run in another thread or process and
            must not have side effects.
        along : array of shape (N, ...), RowValues or None
            Values of all rows; each part gets its own, or None.
        """
        return sum_terms(function(part, *select_values(rows, along)) for rows, part in self.parts())

    def _check_range(self, start: int, stop: int) -> None:
        """Raise unless start, ..., stop - 1 are valid row numbers."""
        if not 0 <= start <= stop <= self.n_rows:
            raise IndexError(
                f"rows {start} to {stop} were requested from a design of {self.n_rows} rows; use "
                f"0 <= start <= stop <= {self.n_rows}."
            )


def _find_places_within(places: NDArray[np.intp], rows: slice) -> slice:
    """Return which of the sorted places lie within a row slice."""
    first, last = np.searchsorted(places, [rows.start, rows.stop])
    return slice(int(first), int(last))


def select_values(
    rows: slice | NDArray[np.intp], along: Sequence[Values]
) -> list[NDArray[Any] | None]:
    """Return the values of a row slice."""
    return [None if values is None else _require_in_memory(values)[rows] for values in along]


def _require_in_memory(values: NDArray[Any] | RowValues) -> NDArray[Any]:
    """Return values that are in memory; raise for those computed from blocks."""
    assert not isinstance(values, RowValues)
    return values


def sum_terms(terms: Iterable[Sequence[Array | float | Minimum]]) -> list[Any]:
    """Add up sequences of terms; of :class:`Minimum` terms keep the smallest."""
    kept: list[Any] = []
    for some in terms:
        if not kept:
            kept = [_copy_term(term) for term in some]
            continue
        for i, term in enumerate(some):
            if isinstance(term, Minimum):
                kept[i] = _keep_smaller(kept[i], term)
            else:
                kept[i] += term
    return kept


def add_totals(a: list[Any], b: list[Any]) -> list[Any]:
    """Add two totals without changing them, because tasks may run again."""
    return [
        _keep_smaller(x, y) if isinstance(y, Minimum) else x + y for x, y in zip(a, b, strict=True)
    ]


def _keep_smaller(a: Minimum, b: Minimum) -> Minimum:
    return a if a.value <= b.value else b


def _copy_term(term: Array | float | Minimum) -> Array | Minimum:
    return term if isinstance(term, Minimum) else np.array(term, dtype=np.float64)


def _weighted_gram(Z: Array, weights: Array | None) -> Array:
    """Return Z^T diag(weights) Z of one block."""
    if weights is None:
        return Z.T @ Z
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
