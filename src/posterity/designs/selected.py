"""Some of the columns of a design, wherever its rows are."""

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
    """The columns of these numbers, in this order; of each block a copy, one at a time.

    Parameters
    ----------
    design : Design
        Z, of M columns.
    places : array of int, of shape (m,)
        Which of them.

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
        """N."""
        return self.design.n_rows

    @property
    def n_columns(self) -> int:
        """m."""
        return len(self.places)

    @property
    def in_memory(self) -> bool:
        """Whether the columns that are selected are."""
        return self.design.in_memory

    def chosen(
        self, places: NDArray[np.intp], *along: base.Values
    ) -> tuple[Selected, list[NDArray[Any] | None]]:
        """These columns of these rows."""
        rows, values = self.design.chosen(places, *along)
        return Selected(rows, self.places), values

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Copies, one at a time."""
        for rows, Z in self.design.blocks():
            yield rows, Z[:, self.places]

    def total(self, function: base.PartFunction, *along: base.Values) -> list[Any]:
        def selected(part: base.Design, *values: Any) -> Sequence[Array | float | base.Least]:
            return function(Dense(part.rows(0, part.n_rows)[:, self.places]), *values)

        return self.design.total(selected, *along)

    def rows(self, start: int, stop: int) -> Array:
        """Rows start, ..., stop - 1 of these columns."""
        return self.design.rows(start, stop)[:, self.places]
