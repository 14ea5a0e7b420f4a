"""Mean and scatter of rows, in a form that can be merged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posterity.arrays import Array
from posterity.designs.centred import Centred
from posterity.linalg import products

_SAMPLE_ROWS = 1024
_FAR = 0.25  # of the squares about the origin may be the origin's own error: less than half a bit


@dataclass(frozen=True)
class RowMoments:
    """Total weight, mean and scatter matrix of rows.

    The scatter squares the condition number of the rows, unlike :class:`Statistics`; it is much
    cheaper and accurate for eigenvalues that are not tiny relative to the largest.

    Parameters
    ----------
    count : float
        N, the sum of the weights.
    origin, offset : array of shape (D,)
        A point near the mean, and the mean relative to it: together they have more digits than one
        number, which differences of means need.
    scatter : array of shape (D, D)
        The weighted sum of (x - mean) (x - mean)^T.
    n_rows : int
        Number of rows, regardless of weights: the rank of the scatter is at most one less.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.designs.moments import RowMoments
    >>> X = np.array([[1.0, 0.0], [2.0, 1.0], [6.0, 5.0]])
    >>> halves = RowMoments.from_rows(X[:1]).merge(RowMoments.from_rows(X[1:]))
    >>> halves.count, halves.mean
    (3.0, array([3., 2.]))
    >>> np.allclose(halves.scatter, 2.0 * np.cov(X.T))
    True
    """

    count: float
    origin: Array
    offset: Array
    scatter: Array
    n_rows: int

    @property
    def mean(self) -> Array:
        """The weighted mean, (D,)."""
        return self.origin + self.offset

    @classmethod
    def from_rows(cls, X: Array, sample_weight: Array | None = None) -> RowMoments:
        """Compute the moments of rows in memory in one pass.

        The origin is the mean of a sample of the rows. If it is far from the mean, a second pass
        avoids cancellation.
        """
        root = None if sample_weight is None else np.sqrt(sample_weight)
        total = float(len(X)) if sample_weight is None else float(sample_weight.sum())
        origin = _compute_sample_mean(X)
        with np.errstate(over="ignore", invalid="ignore"):  # whoever decomposes it will say so
            offset, squares = _compute_about(X, origin, root, total)
            if np.any(total * offset**2 > _FAR * np.diagonal(squares)):
                origin = origin + offset
                offset, squares = _compute_about(X, origin, root, total)
            squares -= np.multiply.outer(total * offset, offset)
        return cls(total, origin, offset, squares, len(X))

    def merge(self, other: RowMoments) -> RowMoments:
        """Return the moments of both sets of rows together."""
        if len(self.origin) != len(other.origin):
            raise ValueError(
                f"Cannot merge moments of {len(self.origin)} columns with {len(other.origin)}: "
                "both sets of rows must have the same columns."
            )
        count = self.count + other.count
        share = other.count / count
        difference = (other.origin - self.origin) + (other.offset - self.offset)
        scatter = self.scatter + other.scatter
        scatter += np.multiply.outer(self.count * share * difference, difference)
        offset = self.offset + share * difference
        return RowMoments(count, self.origin, offset, scatter, self.n_rows + other.n_rows)


def _compute_about(
    X: Array, origin: Array, root: Array | None, total: float
) -> tuple[Array, Array]:
    """Return the mean relative to the origin, and the scatter."""
    blocks = Centred(X, origin, root).weighted_blocks()
    sums, squares = products.sums_and_gram(blocks, X.shape[1])
    return sums / total, squares


def _compute_sample_mean(X: Array) -> Array:
    """Return the mean of evenly spaced rows; exact for constant columns."""
    step = -(-len(X) // _SAMPLE_ROWS)
    return X[0] + np.mean(X[::step] - X[0], axis=0)
