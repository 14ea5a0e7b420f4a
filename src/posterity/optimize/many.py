"""Where each of many minimisations ended, which are carried out at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array

Functions: TypeAlias = Callable[[Array, NDArray[np.intp]], tuple[Array, Array]]
"""Values (m,) and gradients (m, Q) at points (m, Q) of the problems with these numbers (m,)."""


@dataclass(frozen=True)
class ManyOptima:
    """Where each of n minimisations ended.

    Examples
    --------
    >>> from posterity import optimize
    >>> bowls = lambda X, which: (np.sum(X * X, axis=1), 2.0 * X)
    >>> best = optimize.minimise_many_bfgs(bowls, np.array([[1.0, 2.0], [0.0, 0.0]]))
    >>> best.x.round(6) + 0.0, best.n_iter > 0
    (array([[0., 0.], [0., 0.]]), array([ True, False]))
    """

    x: Array  # (n, Q)
    value: Array  # (n,)
    converged: NDArray[np.bool_]  # (n,)
    n_iter: NDArray[np.intp]  # (n,)

    @classmethod
    def concatenated(cls, parts: Sequence[ManyOptima]) -> ManyOptima:
        """Those of one part after the other."""
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def evaluated(
    value_and_gradient: Functions, X: Array, which: NDArray[np.intp]
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Values and gradients, zero outside the domain, and what is inside.

    A slope whose square is not a number is as good as infinite.
    """
    f, g = value_and_gradient(X, which)
    inside = np.isfinite(f) & np.isfinite(np.einsum("ni,ni->n", g, g))
    return np.where(inside, f, 0.0), np.where(inside[:, None], g, 0.0), inside
