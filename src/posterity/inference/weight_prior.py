"""The normal prior of weights W (M, J), as a precision that is added to a Hessian."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posterity import linalg
from posterity.arrays import Array


@dataclass(frozen=True)
class WeightPrior:
    """Independent weights, J alike in each column; the offset, if any, is the last column.

    A precision of zero leaves a weight free.
    """

    precision: float  # of every weight but the offset's
    n_columns: int  # M, the offset's included
    offset_precision: Array | None  # (J, J); None: there is no offset

    @property
    def n_weights(self) -> int:
        """Columns that are not the offset's."""
        return self.n_columns - (self.offset_precision is not None)

    @property
    def is_flat(self) -> bool:
        """Whether the weights are free."""
        return self.precision == 0.0

    def times(self, W: Array) -> Array:
        """Precision times W, (M, J)."""
        product = self.precision * W
        if self.offset_precision is not None:
            product[-1] = self.offset_precision @ W[-1]
        return product

    def add_to(self, H: Array) -> Array:
        """H (M J, M J) with the precision added, in place."""
        J = H.shape[0] // self.n_columns
        n, i = self.n_weights * J, np.arange(self.n_weights * J)
        H[i, i] += self.precision
        if self.offset_precision is not None:
            H[n:, n:] += self.offset_precision
        return H

    def log_determinant(self, n_outputs: int) -> float:
        """Of the precision; weights that are free count nothing."""
        J = n_outputs
        value = 0.0 if self.is_flat else self.n_weights * J * float(np.log(self.precision))
        if self.offset_precision is None or not self.offset_precision.any():
            return value
        return value + linalg.log_determinant(linalg.cholesky(self.offset_precision))
