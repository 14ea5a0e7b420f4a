"""A design with centred and scaled columns, and a column of ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.designs import base
from posterity.designs.base import Dense

# Centres this many scales from zero cost six digits of a Gram matrix when they are subtracted from
# it instead of from the columns; a Hessian has them to spare.
_FARTHEST = 1e3


@dataclass(frozen=True, eq=False)
class Standardized(base.Design):
    """The columns (Z - center) / scale, and a column of ones if there is an intercept.

    Z is not copied: the centre is subtracted from results, or from the blocks if it is so far from
    zero that digits would be lost.

    Parameters
    ----------
    design : Design
        Z, of M columns.
    center, scale : array of shape (M,)
        Centre and scale of each column.
    offset : bool
        Whether to append a column of ones.
    exact : bool, default=False
        Always subtract the centre from the blocks, so that constant columns become exactly zero.
    square_length : float
        Weighted mean of the squared length of the rows, without the column of ones.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import designs
    >>> Z = designs.Dense(np.array([[1.0], [3.0]]))
    >>> designs.Standardized(Z, np.array([2.0]), np.array([1.0]), offset=True).rows(0, 2)
    array([[-1.,  1.],
           [ 1.,  1.]])
    """

    design: base.Design
    center: Array
    scale: Array
    offset: bool
    exact: bool = False
    square_length: float = field(default=np.nan, metadata={"transient": True})

    @classmethod
    def from_design(
        cls, design: base.Design, weights: base.Values = None, *, offset: bool, scaled: bool = True
    ) -> Standardized:
        """Standardise a design: centred if there is an intercept, scaled to unit mean square.

        Constant columns keep their scale.
        """
        center, spread, varies = _compute_moments(design, weights, centred=offset)
        exact = not np.all(varies | (center == 0.0))
        scale = spread if scaled else np.ones_like(spread)
        length2 = float(np.sum((spread / scale)[varies] ** 2))
        return cls(design, center, scale, offset, exact, length2)

    @property
    def n_rows(self) -> int:
        """Number of rows N."""
        return self.design.n_rows

    @property
    def n_columns(self) -> int:
        """Number of columns, including the column of ones."""
        return len(self.center) + self.offset

    @property
    def ones(self) -> NDArray[np.intp]:
        """Number of the column of ones, if there is one."""
        return np.arange(len(self.center), self.n_columns)

    @cached_property
    def _is_near(self) -> bool:
        return not self.exact and bool(np.all(np.abs(self.center) <= _FARTHEST * self.scale))

    @property
    def in_memory(self) -> bool:
        """Whether the underlying design is in memory."""
        return self.design.in_memory

    def take_rows(
        self, places: NDArray[np.intp], *along: base.Values
    ) -> tuple[Standardized, list[NDArray[Any] | None]]:
        """Return selected rows, standardised by the same centre and scale."""
        rows, values = self.design.take_rows(places, *along)
        return self._standardise_design(rows), values

    def select_columns(self, places: NDArray[np.intp]) -> Standardized:
        """Return selected columns; that of ones, if it is selected, is the last."""
        inner = places[places < len(self.center)]
        offset = len(inner) < len(places)
        assert not offset or np.array_equal(places[len(inner) :], self.ones)
        design = self.design.select_columns(inner)
        return Standardized(design, self.center[inner], self.scale[inner], offset, self.exact)

    def sum_over_parts(self, function: base.PartFunction, *along: base.Values) -> list[Any]:
        def apply_standardised(part: base.Design, *values: Any) -> Sequence[Any]:
            return function(self._standardise_block(part.rows(0, part.n_rows)), *values)

        return self.design.sum_over_parts(apply_standardised, *along)

    def rows(self, start: int, stop: int) -> Array:
        """Return rows start, ..., stop - 1, standardised."""
        return self._standardise_columns(self.design.rows(start, stop))

    def matvec(self, w: Array) -> Array:
        base.check_length(w, self.n_columns, "w", "columns")
        if not self._is_near:
            return np.concatenate([Z @ w for _, Z in self.blocks()])
        M = len(self.center)
        u = (w[:M].T / self.scale).T
        product = self.design @ u
        product += (w[M] if self.offset else 0.0) - self.center @ u
        return product

    def rmatvec(self, r: Array) -> Array:
        if not self._is_near:
            return super().rmatvec(r)
        total = np.sum(r, axis=0)
        about = self.design.rmatvec(r) - np.multiply.outer(self.center, total)
        scaled = (about.T / self.scale).T
        return np.concatenate([scaled, total[None]]) if self.offset else scaled

    def gram(self, weights: Array | None = None) -> Array:
        if not self._is_near:
            return super().gram(weights)
        h = np.ones(self.n_rows) if weights is None else weights
        base.check_length(h, self.n_rows, "weights", "rows")
        b, n = self.design.rmatvec(h), float(np.sum(h))
        shifted = np.outer(self.center, b - 0.5 * n * self.center)
        G = self.design.gram(weights)
        G -= shifted + shifted.T
        G /= np.outer(self.scale, self.scale)
        if not self.offset:
            return G
        edge = (b - n * self.center) / self.scale
        return np.block([[G, edge[:, None]], [edge[None, :], np.full((1, 1), n)]])

    def _standardise_block(self, Z: Array) -> base.Design:
        return (
            self._standardise_design(Dense(Z))
            if self._is_near
            else Dense(self._standardise_columns(Z))
        )

    def _standardise_design(self, design: base.Design) -> Standardized:
        """Standardise another design by the same centre and scale."""
        other = Standardized(design, self.center, self.scale, self.offset)
        other.__dict__["_is_near"] = self._is_near  # asked of every part
        return other

    def _standardise_columns(self, Z: Array) -> Array:
        columns = np.empty((len(Z), self.n_columns))
        M = len(self.center)
        np.subtract(Z, self.center, out=columns[:, :M])
        columns[:, :M] /= self.scale
        columns[:, M:] = 1.0
        return columns


def _compute_moments(
    design: base.Design, weights: base.Values, *, centred: bool
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Return mean (or zero), root mean square, and whether each column varies."""
    first = design.rows(0, min(design.n_rows, 1000)).mean(axis=0)

    def sums(part: base.Design, weight: Array | None) -> list[Array | float]:
        D = part.rows(0, part.n_rows) - first
        w = np.ones(len(D)) if weight is None else weight
        sum_of_rows = w @ D
        np.square(D, out=D)
        return [sum_of_rows, w @ D, float(np.sum(w))]

    s1, s2, total = design.sum_over_parts(sums, weights)
    drift, square = s1 / total, s2 / total
    mean = first + drift
    about = square - drift**2 if centred else square + 2.0 * first * drift + first**2
    eps = float(np.finfo(np.float64).eps)
    varies = about > (4.0 * eps * np.abs(mean)) ** 2 if centred else about > 0.0
    scale = np.sqrt(np.where(varies, np.maximum(about, 0.0), 1.0))
    return (mean if centred else np.zeros_like(mean)), scale, varies
