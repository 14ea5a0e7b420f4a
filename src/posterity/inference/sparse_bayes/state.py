"""What the compiled steps of a sparse model work on: one column, and all of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array

KNOWN, LEARNED, CURVED = 0, 1, 2
"""The noise is known, or learned; CURVED: known, and B depends on the mode that a column moves."""


class Column(NamedTuple):
    """One column beside the others, whose u_k are at hand: (K,); (1,), sum q_k^2, in known noise.

    Arrays are not part of it: numba counts references to an array in a tuple at every call.
    """

    kind: int
    K: int
    n: float
    s: float
    largest: float  # t: a precision is no smaller than what rounding leaves of the column


class State(NamedTuple):
    """Columns, and the posterior of the weights of those that are in; changed in place."""

    kind: int
    n: float
    nu: float
    among: int  # columns that were to choose from; 0: a choice costs nothing
    A: Array  # (w, w)
    fixed: NDArray[np.bool_]  # (w,) not moved
    n_offsets: int
    floor: Array  # (K,) of E
    h: Array  # (w,)
    order: NDArray[np.intp]  # (room,) which columns are in, m of them
    Sigma: Array  # (room, room), in that order
    Mu: Array  # (room, K)
    S: Array  # (w,)
    Q: Array  # (w, K)
    E: Array  # (K,)
