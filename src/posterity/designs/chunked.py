"""A design whose rows are read in blocks for each operation."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from posterity.arrays import Array
from posterity.designs import base
from posterity.designs.chunks import Chunks


@dataclass(frozen=True, eq=False)
class Chunked(base.Design):
    """The inputs of chunks as a design: each operation is one pass over the rows.

    Parameters
    ----------
    chunks : Chunks
        Rows that can be read more than once; ``chunks.map(features)`` makes features of them.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import designs
    >>> chunks = designs.Chunks.from_arrays(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), rows=2)
    >>> Z = designs.Chunked(chunks)
    >>> Z.gram()
    array([[35., 44.],
           [44., 56.]])
    >>> Z.rows(1, 3)
    array([[3., 4.],
           [5., 6.]])
    """

    chunks: Chunks

    def __post_init__(self) -> None:
        self.chunks.require_rereadable("a design")

    @cached_property
    def n_rows(self) -> int:
        """Number of rows N, counted by a pass if the source does not know it."""
        known = self.chunks.n_rows
        return sum(len(block) for block in self.chunks) if known is None else known

    @property
    def n_columns(self) -> int:
        """Number of columns M."""
        return self.chunks.n_features

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield the blocks of one pass."""
        stop = 0
        for block in self.chunks:
            stop = block.first_row + len(block)
            self._check_count(stop <= self.n_rows)
            yield slice(block.first_row, stop), block.X
        self._check_count(stop == self.n_rows)

    def rows(self, start: int, stop: int) -> Array:
        """Return a copy of rows start, ..., stop - 1."""
        self._check_range(start, stop)
        found = np.empty((stop - start, self.n_columns))
        for block in self.chunks.read_rows(start, stop):
            first = block.first_row - start
            found[first : first + len(block)] = block.X
        return found

    def _check_count(self, good: bool) -> None:
        """Raise if the number of rows changed between passes."""
        if not good:
            raise ValueError(
                f"the source had {self.n_rows} rows before and now has a different number; every "
                "pass must return the same rows."
            )
