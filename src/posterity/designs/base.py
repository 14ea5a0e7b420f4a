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
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array

PartFunction: TypeAlias = Callable[[slice, "Design"], Sequence[Array | float]]
"""From which rows, and these rows as a design, to terms of sums."""


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

    def chosen(self, places: NDArray[np.intp]) -> Design:
        """The rows of these numbers, in increasing order, as a design in memory."""
        # Imported here: it is a design itself.
        from posterity.designs.dense import Dense

        found = [Z[places[_within(places, rows)] - rows.start] for rows, Z in self.blocks()]
        return Dense(np.concatenate(found))

    def parts(self) -> Iterator[tuple[slice, Design]]:
        """Pairs (which rows, these rows as a design in memory), in the order of ``blocks``."""
        # Imported here: it is a design itself.
        from posterity.designs.dense import Dense

        for rows, Z in self.blocks():
            yield rows, Dense(Z)

    def total(self, function: PartFunction) -> list[Array]:
        """The sums, over all parts, of what ``function(rows, part)`` returns: one pass.

        What asks several questions whose answers depend on each other, such as Z^T r with r made of
        Z w, asks them of each part while it is at hand.
        """
        return added(function(rows, part) for rows, part in self.parts())

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


def added(terms: Iterable[Sequence[Array | float]]) -> list[Array]:
    """The sums of several sequences of terms, entry by entry."""
    sums: list[Array] = []
    for some in terms:
        if not sums:
            sums = [np.array(term, dtype=np.float64) for term in some]
            continue
        for kept, term in zip(sums, some, strict=True):
            kept += term
    return sums


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
