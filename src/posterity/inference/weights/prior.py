"""The normal prior of weights W (M, J), as a precision that is added to a Hessian."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posterity import linalg
from posterity.arrays import Array


@dataclass(frozen=True)
class WeightPrior:
    """Independent weights; the offset, if any, is the last column.

    A precision of zero, of all weights at once, leaves them free.
    """

    precision: float | Array  # of every weight; (n,) of each column's, (n, J) of each weight's
    n_columns: int  # M, the offset's included
    offset_precision: Array | None  # (J, J); None: there is no offset

    @property
    def n_weights(self) -> int:
        """Columns that are not the offset's."""
        return self.n_columns - (self.offset_precision is not None)

    @property
    def is_flat(self) -> bool:
        """Whether the weights are free."""
        return bool(np.ndim(self.precision) == 0 and self.precision == 0.0)

    def per_weight(self, n_outputs: int) -> Array:
        """The precision of each weight but the offsets, (n, J)."""
        p = np.asarray(self.precision, dtype=np.float64)
        return np.broadcast_to(p[:, None] if p.ndim == 1 else p, (self.n_weights, n_outputs))

    def times(self, W: Array) -> Array:
        """Precision times W, (M, J)."""
        product = np.empty_like(W)
        n = self.n_weights
        product[:n] = self.per_weight(W.shape[1]) * W[:n]
        if self.offset_precision is not None:
            product[-1] = self.offset_precision @ W[-1]
        return product

    def add_to(self, H: Array) -> Array:
        """H (M J, M J) with the precision added, in place."""
        J = H.shape[0] // self.n_columns
        n, i = self.n_weights * J, np.arange(self.n_weights * J)
        H[i, i] += self.per_weight(J).reshape(-1)
        if self.offset_precision is not None:
            H[n:, n:] += self.offset_precision
        return H

    def trace_with(self, covariance: Array) -> float:
        """The trace of precision times covariance (M, J, M, J)."""
        J, n = covariance.shape[1], self.n_weights
        variance = np.einsum("mjmj->mj", covariance)[:n]
        value = float(np.sum(self.per_weight(J) * variance))
        if self.offset_precision is None:
            return value
        return value + float(np.sum(self.offset_precision * covariance[-1, :, -1, :]))

    def log_determinant(self, n_outputs: int) -> float:
        """Of the precision; weights that are free count nothing."""
        J = n_outputs
        value = 0.0 if self.is_flat else float(np.sum(np.log(self.per_weight(J))))
        if self.offset_precision is None or not self.offset_precision.any():
            return value
        return value + linalg.log_determinant(linalg.cholesky(self.offset_precision))
