"""The prior of a mean function as a kernel to be added: it weighs as much as one row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from posterity import arrays
from posterity.arrays import Array, DeviceArray
from posterity.kernels.algebra import Constant
from posterity.kernels.kernel import Kernel
from posterity.page_forms import Form

MEANS = ("zero", "constant", "linear")


@dataclass(frozen=True, repr=False)
class Slopes(Kernel):
    """sum_d v_d (x_d - c_d) (z_d - c_d): independent slopes about the centre of the rows."""

    centre: tuple[float, ...] = ()
    variances: tuple[float, ...] = ()

    def _block(self, X: DeviceArray, Z: DeviceArray) -> DeviceArray:
        c, v = (arrays.like(X, np.asarray(a)) for a in (self.centre, self.variances))
        return ((X - c) * v) @ (Z - c).T

    def page_form(self, D: int) -> Form:
        centre, variances = np.asarray(self.centre), np.asarray(self.variances)
        return {"kind": "linear", "centre": centre.tolist(), "variances": variances.tolist()}


def make_mean_prior(
    mean: str, X: Any, variance: float, weights: Array | None = None
) -> Kernel | None:
    """The kernel of an intercept of this variance, the targets', and of slopes to match.

    A slope of one standard deviation of the function over one of x is worth as much as the offset,
    one row. Centre and spread of x count each row by its weight.
    """
    if mean not in MEANS:
        raise ValueError(f"mean={mean!r} must be one of {', '.join(map(repr, MEANS))}.")
    if mean == "zero":
        return None
    offset = Constant(variance).fixed()
    if mean == "constant":
        return offset
    centre, spread2 = _weighted_moments(X, weights)
    return offset + Slopes(tuple(centre), tuple(variance / spread2))


def _weighted_moments(X: Any, weights: Array | None) -> tuple[Array, Array]:
    """Means and variances of the columns; a constant column has variance one."""
    if isinstance(X, list):
        raise ValueError("mean='linear' needs rows that are vectors; use 'constant' or 'zero'.")
    w = np.ones(X.shape[0]) if weights is None else weights
    share = arrays.like(X, w / np.sum(w))
    centre = share @ X
    spread2 = arrays.to_numpy(share @ (X - centre) ** 2)
    return arrays.to_numpy(centre), np.where(spread2 > 0.0, spread2, 1.0)
