"""How many rows came to each leaf, their mean, and how far they lie from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import validation
from posterity.arrays import Array

_FREE = 0.1  # of the rows, for their leaves to be large enough
_TELLING = 1e-6  # of the variance of all rows; leaves of single rows and their copies have none
_EPS, _TINY = np.finfo(np.float64).eps, np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False)
class NormalLeaves:
    """Weight, mean and sum of squared deviations of the targets in each leaf.

    Examples
    --------
    >>> leaf, y = np.array([0, 1, 0]), np.array([[1.0], [5.0], [3.0]])
    >>> leaves = NormalLeaves.from_rows(leaf, y, np.ones(3), n_leaves=2)
    >>> leaves.count, leaves.mean.ravel(), leaves.square.ravel()
    (array([2., 1.]), array([2., 5.]), array([2., 0.]))
    """

    count: Array  # (L,)
    mean: Array  # (L, K), zero where nothing came, until it is filled
    square: Array  # (L, K)

    @classmethod
    def from_rows(
        cls, leaf: NDArray[np.int32], target: Array, weights: Array, n_leaves: int
    ) -> NormalLeaves:
        """From the leaf, the targets (m, K) and the weight of each row."""

        def sums(values: Array) -> Array:
            total = np.bincount(leaf, weights=weights * values, minlength=n_leaves)
            return total.astype(np.float64, copy=False)

        count = sums(np.ones(len(leaf)))
        at_least = np.where(count > 0.0, count, 1.0)
        mean = np.stack([sums(y) / at_least for y in target.T], axis=1)
        deviations = (target - mean[leaf]) ** 2
        return cls(count, mean, np.stack([sums(d) for d in deviations.T], axis=1))

    @classmethod
    def join(cls, parts: Sequence[NormalLeaves]) -> NormalLeaves:
        """The leaves of several trees, numbered through."""
        return cls(
            np.concatenate([part.count for part in parts]),
            np.concatenate([part.mean for part in parts]),
            np.concatenate([part.square for part in parts]),
        )

    @property
    def n_leaves(self) -> int:
        """Number of leaves, L."""
        return len(self.count)

    def check_consistency(self) -> None:
        """Raise ValueError unless there are as many means and squares as leaves."""
        validation.require_array(self.mean, "mean", np.float64, (None, None))
        validation.require_array(self.square, "square", np.float64, self.mean.shape)
        validation.require_array(self.count, "count", np.float64, (len(self.mean),))

    def add(self, other: NormalLeaves) -> NormalLeaves:
        """Add the statistics of the same leaves."""
        count = self.count + other.count
        share = (other.count / np.where(count > 0.0, count, 1.0))[:, None]
        apart = other.mean - self.mean
        between = self.count[:, None] * share * apart**2  # [Chan et al. 1983, 2.1]
        return NormalLeaves(count, self.mean + share * apart, self.square + other.square + between)

    def fill_empty(self, mean: Array) -> NormalLeaves:
        """The same, with these means (L, K) where nothing came."""
        is_empty = (self.count == 0.0)[:, None]
        return NormalLeaves(self.count, np.where(is_empty, mean, self.mean), self.square)

    def remove_rows(self, target: Array, weights: Array) -> NormalLeaves:
        """Each leaf without one row of its own, of these targets (L, K) and weights (L,)."""
        count = np.maximum(self.count - weights, 0.0)
        ratio = (weights / np.where(count > 0.0, count, 1.0))[:, None]
        apart = target - self.mean
        square = self.square - ratio * self.count[:, None] * apart**2
        return NormalLeaves(count, self.mean - ratio * apart, np.maximum(square, 0.0))

    def take(self, places: NDArray[np.int32]) -> NormalLeaves:
        """Some of the leaves."""
        return NormalLeaves(self.count[places], self.mean[places], self.square[places])

    def pooled_variance(self, overall: Array) -> Array:
        """The variance within leaves, (K,); the overall one where leaves are too small to tell.

        It is never less than rounding makes of a target that does not vary.
        """
        freedom = self.count.sum() - np.count_nonzero(self.count)
        pooled = self.square.sum(axis=0) / max(freedom, 1.0)
        is_known = (freedom > _FREE * self.count.sum()) & (pooled > _TELLING * overall)
        rounding = (_EPS * np.max(np.abs(self.mean), axis=0)) ** 2
        return np.maximum(np.where(is_known, pooled, overall), np.maximum(rounding, _TINY))
