"""Weight, mean and squared deviations of the rows of each leaf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import compilation, validation
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


_ENOUGH = 5.0  # rows, to tell a spread from


def widen_small_leaves(leaves: NormalLeaves, children: NDArray[np.int32]) -> NormalLeaves:
    """Statistics of the smallest node with at least five rows that contains each leaf.

    Parameters
    ----------
    leaves : NormalLeaves
        Those of all trees.
    children : array (I, 2)
        As in :class:`posterity.trees.structure.Trees`: a child comes after its parent.

    Examples
    --------
    >>> leaf, y = np.array([0, 0, 0, 0, 1, 2]), np.arange(6.0)[:, None]
    >>> leaves = NormalLeaves.from_rows(leaf, y, np.ones(6), n_leaves=3)
    >>> children = np.array([[1, ~2], [~0, ~1]], dtype=np.int32)
    >>> wider = widen_small_leaves(leaves, children)
    >>> wider.count, wider.mean.ravel()
    (array([5., 5., 6.]), array([2. , 2. , 2.5]))
    """
    nodes = _sum_up_nodes(children, leaves.count, leaves.mean, leaves.square)
    found = leaves.count.copy(), leaves.mean.copy(), leaves.square.copy()
    _take_from_parents(children, *nodes, *found, _ENOUGH)
    return NormalLeaves(*found)


@compilation.compile_at_first_call
def _sum_up_nodes(
    children: NDArray[np.int32], n_leaf: Array, mean_leaf: Array, square_leaf: Array
) -> tuple[Array, Array, Array]:
    """Weight, mean and sum of squares of each inner node, from the leaves up."""
    I, K = len(children), mean_leaf.shape[1]
    n, mean, square = np.zeros(I), np.zeros((I, K)), np.zeros((I, K))
    for i in range(I - 1, -1, -1):
        for child in children[i]:
            if child >= 0:
                m, center, q = n[child], mean[child], square[child]
            else:
                m, center, q = n_leaf[~child], mean_leaf[~child], square_leaf[~child]
            if m == 0.0:
                continue
            share = m / (n[i] + m)
            for k in range(K):
                apart = center[k] - mean[i, k]
                square[i, k] += q[k] + n[i] * share * apart**2  # [Chan et al. 1983, 2.1]
                mean[i, k] += share * apart
            n[i] += m
    return n, mean, square


@compilation.compile_at_first_call
def _take_from_parents(
    children: NDArray[np.int32],
    n: Array,
    mean: Array,
    square: Array,
    n_leaf: Array,
    mean_leaf: Array,
    square_leaf: Array,
    enough: float,
) -> None:
    """Nodes and leaves of too few rows become what their parents are, from the roots down."""
    for i in range(len(children)):
        for child in children[i]:
            if child >= 0:
                if n[child] < enough:
                    n[child], mean[child], square[child] = n[i], mean[i], square[i]
            elif n_leaf[~child] < enough:
                l = ~child
                n_leaf[l], mean_leaf[l], square_leaf[l] = n[i], mean[i], square[i]
