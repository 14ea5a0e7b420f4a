"""Outputs in normal noise, in units of their own, as a choice of columns sees them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posterity.arrays import Array
from posterity.sparse.sequential import LEARNED


@dataclass(frozen=True)
class NormalTargets:
    """K outputs, centred where the model has an offset, in units of their own."""

    WY: Array  # (N, K), times the weights
    weights: Array | None  # (N,); None: one each
    E: Array  # (K,): Y^T W Y
    n: float  # sum of the weights, less one for an offset
    unit: Array  # (K,), of the raw outputs

    @classmethod
    def from_outputs(
        cls, Y: Array, weights: Array | None, *, centred: bool, noise_variance: Array | None
    ) -> NormalTargets:
        """In units of the known noise, or of their own root mean square where it is learned.

        In learned noise an output that does not vary says nothing of any column, and is left out;
        so are all of them where the rows count as one or less, and an offset takes that one.
        """
        w = np.ones(len(Y)) if weights is None else weights
        center = w @ Y / np.sum(w) if centred else np.zeros(Y.shape[1])
        residual = Y - center
        n = float(np.sum(w)) - float(centred)
        square = w @ (residual * residual)
        unit = np.sqrt(square / max(n, 1.0)) if noise_variance is None else np.sqrt(noise_variance)
        smallest = 8.0 * np.sqrt(len(Y)) * np.finfo(np.float64).eps * np.abs(center)
        told = (unit > smallest) & (n > 0.0)
        kept = told if noise_variance is None else np.ones(len(unit), dtype=np.bool_)
        Y_kept = residual[:, kept] / unit[kept]
        return cls(w[:, None] * Y_kept, weights, square[kept] / unit[kept] ** 2, n, unit[kept])

    def log_alone(self, kind: int) -> float:
        """What the outputs and their units add to the evidence of the sequential steps."""
        constant = -self.n * float(np.sum(np.log(self.unit)))
        if kind == LEARNED:
            return constant
        squares = float(np.sum(self.E))
        return constant - 0.5 * (squares + self.n * len(self.E) * np.log(2.0 * np.pi))

    def row_weights(self) -> Array:
        """(N,)."""
        return np.ones(len(self.WY)) if self.weights is None else self.weights

    def weight_columns(self, Zt: Array) -> Array:
        """W Z, (N, k), of columns Z given as rows."""
        return Zt.T if self.weights is None else (Zt * self.weights).T
