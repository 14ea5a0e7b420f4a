"""Selected columns of a design."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.designs import base
from posterity.designs.dense import Dense


@dataclass(frozen=True, eq=False)
class Selected(base.Design):
    """Selected columns of a design, copied block by block.

    Parameters
    ----------
    design : Design
        Z, of M columns.
    places : array of int, of shape (m,)
        Numbers of the selected columns.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import designs
    >>> Z = designs.Dense(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    >>> designs.Selected(Z, np.array([2, 0])).rows(0, 2)
    array([[3., 1.],
           [6., 4.]])
    """

    design: base.Design
    places: NDArray[np.intp]

    @property
    def n_rows(self) -> int:
        """Number of rows N."""
        return self.design.n_rows

    @property
    def n_columns(self) -> int:
        """Number of selected columns m."""
        return len(self.places)

    @property
    def in_memory(self) -> bool:
        """Whether the underlying design is in memory."""
        return self.design.in_memory

    def take_rows(
        self, places: NDArray[np.intp], *along: base.Values
    ) -> tuple[Selected, list[NDArray[Any] | None]]:
        """Return the selected columns of selected rows."""
        rows, values = self.design.take_rows(places, *along)
        return Selected(rows, self.places), values

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield copies of the selected columns, block by block."""
        for rows, Z in self.design.blocks():
            yield rows, Z[:, self.places]

    def sum_over_parts(self, function: base.PartFunction, *along: base.Values) -> list[Any]:
        def apply_to_columns(
            part: base.Design, *values: Any
        ) -> Sequence[Array | float | base.Minimum]:
            return function(Dense(part.rows(0, part.n_rows)[:, self.places]), *values)

        return self.design.sum_over_parts(apply_to_columns, *along)

    def rows(self, start: int, stop: int) -> Array:
        """Return rows start, ..., stop - 1 of the selected columns."""
        return self.design.rows(start, stop)[:, self.places]
