"""A design is the feature matrix Z (N, M), seen only through four questions.

``Z @ w``, ``Z.rmatvec(r)`` = Z^T r, ``Z.gram(weights)`` = Z^T diag(weights) Z and ``Z.rows(i, j)``.
Inference in weight space asks nothing else, so that what fits in memory and what is read from disk
block by block share every line of it; it may ask them of one part of the rows after the other
(``total``), so that several questions cost one pass. A design that can hand out its blocks of rows
in order already answers the first three.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.designs.blocks import Block

PartFunction: TypeAlias = Callable[..., Sequence["Array | float | Least"]]
"""From some rows as a design, and the values that go along with them, to terms of a total."""


@dataclass(frozen=True)
class Least:
    """A term of which not the sum over the parts is asked for, but the smallest."""

    value: float


@dataclass(frozen=True)
class Along:
    """One value a row that nobody holds for all rows: it is found from a block where that is.

    Parameters
    ----------
    of : callable
        From a :class:`Block` to one value for each of its rows.
    """

    of: Callable[[Block], NDArray[Any]]


Values: TypeAlias = NDArray[Any] | Along | None
"""What goes along with the rows of a design, such as targets; None where there is nothing."""


class Design(abc.ABC):
    """The feature matrix Z of N rows and M columns.

    A new design says how many rows and columns it has, hands out its blocks and finds its rows.

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
        """N."""

    @property
    @abc.abstractmethod
    def n_columns(self) -> int:
        """M."""

    @abc.abstractmethod
    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Pairs (which rows, those rows of Z), in order, together covering every row once."""

    @abc.abstractmethod
    def rows(self, start: int, stop: int) -> Array:
        """Rows start, ..., stop - 1 of Z, shape (stop - start, M)."""

    def matvec(self, w: Array) -> Array:
        """Z w, shape (N,) for w of shape (M,), and (N, K) for w of shape (M, K)."""
        check_length(w, self.n_columns, "w", "columns")
        product = np.empty((self.n_rows, *w.shape[1:]))
        for rows, Z in self.blocks():
            product[rows] = Z @ w
        return product

    def __matmul__(self, w: Array) -> Array:
        return self.matvec(w)

    def rmatvec(self, r: Array) -> Array:
        """Z^T r, shape (M,) for r of shape (N,), and (M, K) for r of shape (N, K)."""
        check_length(r, self.n_rows, "r", "rows")
        product = np.zeros((self.n_columns, *r.shape[1:]))
        for rows, Z in self.blocks():
            product += Z.T @ r[rows]
        return product

    def gram(self, weights: Array | None = None) -> Array:
        """Z^T diag(weights) Z, shape (M, M), exactly symmetric; weights (N,) of either sign."""
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

    def chosen(
        self, places: NDArray[np.intp], *along: Values
    ) -> tuple[Design, list[NDArray[Any] | None]]:
        """The rows of these numbers, in increasing order, as a design in memory; their values."""
        # Imported here: it is a design itself.
        from posterity.designs.dense import Dense

        found = [Z[places[_within(places, rows)] - rows.start] for rows, Z in self.blocks()]
        return Dense(np.concatenate(found)), at(places, along)

    def parts(self) -> Iterator[tuple[slice, Design]]:
        """Pairs (which rows, these rows as a design in memory), in the order of ``blocks``."""
        # Imported here: it is a design itself.
        from posterity.designs.dense import Dense

        for rows, Z in self.blocks():
            yield rows, Dense(Z)

    def total(self, function: PartFunction, *along: Values) -> list[Any]:
        """The sums, over all parts, of what ``function(part, *values)`` returns: one pass.

        What asks several questions whose answers depend on each other, such as Z^T r with r made of
        Z w, asks them of each part while it is at hand.

        Parameters
        ----------
        function : callable
            From a part of the rows as a design, and the values of these rows, to terms; of those
            that are :class:`Least` the smallest is kept. It may run in another thread, or process,
            and must leave nothing behind but what it returns.
        along : array of shape (N, ...), Along or None
            Values of all rows; each part is given its own, or None.
        """
        return totalled(function(part, *at(rows, along)) for rows, part in self.parts())

    def _check_range(self, start: int, stop: int) -> None:
        """Raise unless start, ..., stop - 1 are rows."""
        if not 0 <= start <= stop <= self.n_rows:
            raise IndexError(
                f"rows {start} to {stop} were asked of a design of {self.n_rows} rows; "
                f"ask for 0 <= start <= stop <= {self.n_rows}."
            )


def _within(places: NDArray[np.intp], rows: slice) -> slice:
    """Which of the places, in increasing order, lie among these rows."""
    first, last = np.searchsorted(places, [rows.start, rows.stop])
    return slice(int(first), int(last))


def at(rows: slice | NDArray[np.intp], along: Sequence[Values]) -> list[NDArray[Any] | None]:
    """The values of these rows."""
    return [None if values is None else _held(values)[rows] for values in along]


def _held(values: NDArray[Any] | Along) -> NDArray[Any]:
    """Values in memory: others can be found only where blocks are made."""
    assert not isinstance(values, Along)
    return values


def totalled(terms: Iterable[Sequence[Array | float | Least]]) -> list[Any]:
    """The sums, and the smallest of what is :class:`Least`, of several sequences of terms."""
    kept: list[Any] = []
    for some in terms:
        if not kept:
            kept = [_own(term) for term in some]
            continue
        for i, term in enumerate(some):
            if isinstance(term, Least):
                kept[i] = _least(kept[i], term)
            else:
                kept[i] += term
    return kept


def joined(a: list[Any], b: list[Any]) -> list[Any]:
    """The total of two totals, which stay as they are: a task that is run again finds them so."""
    return [_least(x, y) if isinstance(y, Least) else x + y for x, y in zip(a, b, strict=True)]


def _least(a: Least, b: Least) -> Least:
    return a if a.value <= b.value else b


def _own(term: Array | float | Least) -> Array | Least:
    return term if isinstance(term, Least) else np.array(term, dtype=np.float64)


def _weighted_gram(Z: Array, weights: Array | None) -> Array:
    """Z^T diag(weights) Z of one block."""
    if weights is None:
        return Z.T @ Z
    if np.all(weights >= 0.0):
        # NumPy sees a product of a matrix with its own transpose and does half the work.
        A = np.sqrt(weights)[:, None] * Z
        return A.T @ A
    G = Z.T @ (weights[:, None] * Z)
    return 0.5 * (G + G.T)


def check_length(x: Array, n: int, name: str, kind: str) -> None:
    """Raise unless x has one entry, or one row, for each row or column of the design."""
    if np.ndim(x) == 0 or len(x) != n:
        raise ValueError(
            f"{name} has shape {np.shape(x)} but the design has {n} {kind}; "
            f"pass an array whose first dimension is {n}."
        )
