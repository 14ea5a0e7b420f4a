"""A design in memory."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import linalg
from posterity.arrays import Array
from posterity.designs import base

# Elements of a block: 8 MB, so that a weighted copy of it stays small and near the processor.
_BLOCK_ELEMENTS = 2**20
# Elements of a part: 2 MB, so that several questions find it in a cache.
_PART_ELEMENTS = 2**18
# Columns from which a product, which reads several rows at a time, waits for memory.
_LONG_ROW = 32


@dataclass(frozen=True, eq=False)
class Dense(base.Design):
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

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield views of a few megabytes each, with at least as many rows as columns."""
        M = max(1, self.n_columns)
        size = max(M, _BLOCK_ELEMENTS // M)
        for start in range(0, self.n_rows, size):
            rows = slice(start, min(start + size, self.n_rows))
            yield rows, self.Z[rows]

    @property
    def in_memory(self) -> bool:
        """Always True: a pass over the rows is cheap."""
        return True

    def take_rows(
        self, places: NDArray[np.intp], *along: base.Values
    ) -> tuple[Dense, list[NDArray[Any] | None]]:
        """Return a copy of selected rows."""
        return Dense(self.Z[places]), base.select_values(places, along)

    def parts(self) -> Iterator[tuple[slice, Dense]]:
        """Yield cache-sized views with at least twice as many rows as columns.

        With fewer, Gram matrices would take longer to add up than to compute.
        """
        M = max(1, self.n_columns)
        size = max(2 * M, _PART_ELEMENTS // M)
        for start in range(0, self.n_rows, size):
            rows = slice(start, min(start + size, self.n_rows))
            yield rows, Dense(self.Z[rows])

    def sum_over_parts(self, function: base.PartFunction, *along: base.Values) -> list[Any]:
        """Sum over all parts in order, with threads if there are many."""
        parts = list(self.parts())

        def answer(rows: slice, part: Dense) -> Any:
            return function(part, *base.select_values(rows, along))

        workers = min(linalg.threads.available_threads(), len(parts))
        with linalg.limit_threads(0 if len(parts) > 1 else self.n_rows):
            if workers < 2:
                return base.sum_terms(answer(*part) for part in parts)
            with ThreadPoolExecutor(workers) as pool:
                return base.sum_terms(pool.map(lambda part: answer(*part), parts))

    def rows(self, start: int, stop: int) -> Array:
        """Return a view of rows start, ..., stop - 1."""
        self._check_range(start, stop)
        return self.Z[start:stop]

    def matvec(self, w: Array) -> Array:
        """Return Z w."""
        base.check_length(w, self.n_columns, "w", "columns")
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
        base.check_length(r, self.n_rows, "r", "rows")
        return (r.T @ self.Z).T if r.size > self.n_rows else self.Z.T @ r

    def gram(self, weights: Array | None = None) -> Array:
        """Return Z^T diag(weights) Z, computed in blocks without a copy of Z."""
        return self.Z.T @ self.Z if weights is None else super().gram(weights)
