"""The spread of targets around each leaf: of the smallest node about it that some rows came to.

The fewer rows a leaf has, the better the mean of many trees is, and the less it knows of a spread.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array
from posterity.trees.forests.normal_leaves import NormalLeaves

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
