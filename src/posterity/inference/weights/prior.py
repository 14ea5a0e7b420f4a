"""The normal prior of weights W (M, J), and where its variance is looked for.

Weights of variance tau2 give latent values of rows z the variance tau2 |z|^2, about which the
targets know something: its typical size, divided by the mean squared length of the rows, is the
scale of tau2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import linalg
from posterity.arrays import Array


@dataclass(frozen=True)
class WeightPrior:
    """Independent weights; the offset, if any, is the last column.

    A precision of zero, of all weights at once, leaves them free. A weight of infinite precision is
    zero: no Hessian and no vector of weights has a place for it.
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

    @property
    def mask(self) -> NDArray[np.bool_] | None:
        """Mask of the weights (M, J) that may differ from zero; None: all."""
        if np.ndim(self.precision) < 2 or np.all(np.isfinite(self.precision)):
            return None
        mask = np.isfinite(self.precision)
        offsets = np.ones((self.n_columns - len(mask), mask.shape[1]), dtype=np.bool_)
        return np.vstack([mask, offsets])

    def pack(self, W: Array) -> Array:
        """The weights (M, J) as one vector (P,), row by row, without those that are masked."""
        mask = self.mask
        return W.reshape(-1) if mask is None else W[mask]

    def unpack(self, x: Array, shape: tuple[int, int]) -> Array:
        """The weights (M, J) of a vector (P,), zero where they are masked."""
        mask = self.mask
        if mask is None:
            return x.reshape(shape)
        W = np.zeros(shape)
        W[mask] = x
        return W

    def precision_per_weight(self, n_outputs: int) -> Array:
        """The precision of each weight but the offsets, (n, J); zero where a weight is masked."""
        p = np.asarray(self.precision, dtype=np.float64)
        finite = np.where(np.isfinite(p), p, 0.0)
        return np.broadcast_to(
            finite[:, None] if p.ndim == 1 else finite, (self.n_weights, n_outputs)
        )

    def multiply_precision(self, W: Array) -> Array:
        """Precision times W, (M, J)."""
        product = np.empty_like(W)
        n = self.n_weights
        product[:n] = self.precision_per_weight(W.shape[1]) * W[:n]
        if self.offset_precision is not None:
            product[-1] = self.offset_precision @ W[-1]
        return product

    def add_precision(self, H: Array) -> Array:
        """H (P, P) with the precision added, in place."""
        own = self._packed_precision(len(H))
        n, i = len(own), np.arange(len(own))
        H[i, i] += own
        if self.offset_precision is not None:
            H[n:, n:] += self.offset_precision
        return H

    def trace_with(self, covariance: Array) -> float:
        """The trace of precision times covariance (P, P)."""
        own = self._packed_precision(len(covariance))
        n = len(own)
        value = float(np.sum(own * np.diagonal(covariance)[:n]))
        if self.offset_precision is None:
            return value
        return value + float(np.sum(self.offset_precision * covariance[n:, n:]))

    def _packed_precision(self, n_packed: int) -> Array:
        """Select the weights among P packed ones, without the offsets."""
        mask = self.mask
        if mask is None:
            return self.precision_per_weight(n_packed // self.n_columns).reshape(-1)
        assert isinstance(self.precision, np.ndarray)
        return self.precision[mask[: self.n_weights]]

    def log_determinant(self, n_outputs: int) -> float:
        """Log determinant of the precision; free weights do not count."""
        J = n_outputs
        own = self.precision_per_weight(J)
        value = 0.0 if self.is_flat else float(np.sum(np.log(own[own > 0.0])))
        if self.offset_precision is None or not self.offset_precision.any():
            return value
        return value + linalg.log_determinant(linalg.cholesky(self.offset_precision))


_DECADES = np.log(10.0) * np.arange(2.0, -4.5, -1.0)
_LOWEST, _HIGHEST = np.log(1e-12), np.log(1e8)
_SHORTEST = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class PriorRange:
    """Log prior variances to begin with, and between which to search.

    Examples
    --------
    >>> short, long = (PriorRange.from_scales(4.0, length2) for length2 in (2e-8, 2e8))
    >>> np.exp([short.start, long.start])
    array([2.e+08, 2.e-08])
    """

    start: float

    @classmethod
    def from_scales(cls, typical_variance: float, square_length: float) -> PriorRange:
        """Centre the range by the typical latent variance and the mean squared length of rows.

        Where all rows are zero, no prior variance matters, and one is as good as another.
        """
        length2 = square_length if square_length > _SHORTEST else 1.0
        return cls(float(np.log(typical_variance) - np.log(length2)))

    @property
    def scan(self) -> Array:
        """One log variance a decade, among which to begin."""
        return self.start + _DECADES

    @property
    def limits(self) -> tuple[float, float]:
        """Beyond them weights explain nothing, or the prior does not matter."""
        return self.start + _LOWEST, self.start + _HIGHEST
