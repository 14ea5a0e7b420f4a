"""How many rows, their mean and their scatter: what a covariance needs, in a form that merges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posterity.arrays import Array
from posterity.designs.centred import Centred
from posterity.linalg import products

_SAMPLE_ROWS = 1024
_FAR = 0.25  # of the squares about the origin may be the origin's own error: less than half a bit


@dataclass(frozen=True)
class Moments:
    """The total weight of rows, their mean, and the sum of squares and products about it.

    The scatter squares the condition of the rows, which :class:`Statistics` does not; it costs a
    fraction of a factorisation, and is enough for eigenvalues that are not tiny beside the largest.

    Parameters
    ----------
    count : float
        N, the sum of the weights.
    origin, offset : array of shape (D,)
        A point near the mean, and the mean from there: far from zero it has more digits than one
        number holds, and differences of means need them.
    scatter : array of shape (D, D)
        The weighted sum of (x - mean) (x - mean)^T.
    n_rows : int
        How many rows, however they are weighted: the scatter has a rank of at most one less.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.designs.moments import Moments
    >>> X = np.array([[1.0, 0.0], [2.0, 1.0], [6.0, 5.0]])
    >>> halves = Moments.of(X[:1]).merge(Moments.of(X[1:]))
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
    def of(cls, X: Array, sample_weight: Array | None = None) -> Moments:
        """The moments of rows in memory, by one pass, of blocks that stay in cache.

        The origin is the mean of a sample of the rows. Where that is far from the mean of all, so
        that moving it would cancel, there is a second pass about the right one.
        """
        root = None if sample_weight is None else np.sqrt(sample_weight)
        total = float(len(X)) if sample_weight is None else float(sample_weight.sum())
        origin = _sample_mean(X)
        with np.errstate(over="ignore", invalid="ignore"):  # whoever decomposes it will say so
            offset, squares = _about(X, origin, root, total)
            if np.any(total * offset**2 > _FAR * np.diagonal(squares)):
                origin = origin + offset
                offset, squares = _about(X, origin, root, total)
            squares -= np.multiply.outer(total * offset, offset)
        return cls(total, origin, offset, squares, len(X))

    def merge(self, other: Moments) -> Moments:
        """The moments of both sets of rows together."""
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
        return Moments(count, self.origin, offset, scatter, self.n_rows + other.n_rows)


def _about(X: Array, origin: Array, root: Array | None, total: float) -> tuple[Array, Array]:
    """The mean of the rows from the origin, and their squares and products about it."""
    blocks = Centred(X, origin, root).weighted_blocks()
    sums, squares = products.sums_and_gram(blocks, X.shape[1])
    return sums / total, squares


def _sample_mean(X: Array) -> Array:
    """The mean of rows taken evenly; exactly the value of a column that is constant."""
    step = -(-len(X) // _SAMPLE_ROWS)
    return X[0] + np.mean(X[::step] - X[0], axis=0)
