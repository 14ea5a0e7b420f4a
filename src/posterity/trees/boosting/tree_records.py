"""Rules by which trees of boosted sums grow, and the trees that have grown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array

GROWTHS = ("oblivious", "level", "leaf")
_DEEPEST = 12  # levels, where every one of them doubles the leaves


@dataclass(frozen=True)
class TreeRules:
    """Rules by which a tree grows.

    Parameters
    ----------
    growth : {"oblivious", "level", "leaf"}, default="oblivious"
        One test for all nodes of a level; or one for each node, level by level or where it gains
        most first.
    max_depth : int, default=6
        Levels of tests.
    max_leaf_nodes : int, optional
        The most leaves of a tree that is not oblivious; None: as many as its depth allows.
    min_samples_leaf : float, default=1
        The least weight of rows on either side of a split; of an oblivious tree on either side of
        the test of a level, over all nodes, by the weights of the grower.
    prior_precision : float, default=1
        Precision > 0 of the normal prior of a leaf's value: added to the curvature of its rows.
    random_strength : float, default=0
        Standard deviation of a normal number that is added to the score of every cut before the
        best is taken. The score is the root of G^2 / H summed over the children of a level, or of
        a node. Where slopes have the variance that their curvatures say, the best score varies by
        about one from one sample of rows to another.
    monotonic : array (J,), optional
        By test: 1 or -1 where the output may only grow or only fall with the answer, else 0.
    """

    growth: str = "oblivious"
    max_depth: int = 6
    max_leaf_nodes: int | None = None
    min_samples_leaf: float = 1.0
    prior_precision: float = 1.0
    random_strength: float = 0.0
    monotonic: NDArray[np.int8] | None = None

    def __post_init__(self) -> None:
        """Refuse what would not end, or not fit."""
        if self.growth not in GROWTHS:
            raise ValueError(f"growth={self.growth!r} must be one of {', '.join(GROWTHS)}.")
        if self.max_depth > _DEEPEST and (self.growth == "oblivious" or not self.max_leaf_nodes):
            raise ValueError(
                f"max_depth={self.max_depth} gives up to 2^{self.max_depth} leaves; use at most "
                f"{_DEEPEST}, or trees by node with max_leaf_nodes."
            )
        if self.prior_precision <= 0.0:
            raise ValueError(f"prior_precision={self.prior_precision} must be > 0.")


@dataclass(frozen=True, eq=False)
class GrownTree:
    """A tree in terms of codes, and the leaf of every row, whether or not it had weight."""

    tests: NDArray[np.int64]  # (n_nodes,); of an oblivious tree one a level
    codes: NDArray[np.int64]  # (n_nodes,), the last on the left
    children: NDArray[np.int32] | None  # (n_nodes, 2), ~l for leaf l; None: oblivious
    gains: Array  # (n_nodes,), nats of log posterior by one Newton step
    leaves: NDArray[np.int32]  # (N,)
    n_leaves: int
    signs: NDArray[np.int8] | None = None  # (n_nodes,), of an oblivious tree: monotone tests
    bounds: Array | None = None  # (n_leaves, 2), of other trees: where values may lie

    def solve_leaves(
        self,
        leaves: NDArray[np.int32],
        slopes: Array,
        curvatures: Array,
        weights: Array,
        prior: float,
        rate: float,
    ) -> tuple[Array, Array]:
        """Values (n_leaves, L) of one Newton step, of which a fraction is added, and precisions.

        Parameters
        ----------
        leaves : array (N,)
            The leaf of each row.
        slopes, curvatures : array (N, L)
            Of each row's log-probability.
        weights : array (N,)
            How often rows count.
        prior : float
            Precision of the normal prior of a value.
        rate : float
            The fraction.
        """
        G, H = (sum_by_leaf(leaves, x, weights, self.n_leaves) for x in (slopes, curvatures))
        return rate * (G / (H + prior)), (H + prior) / rate**2

    def bound_values(self, values: Array) -> Array:
        """Values (n_leaves, L) that rise or fall with monotone tests, as near as these may be."""
        if self.bounds is not None:
            return np.clip(values, self.bounds[:, :1], self.bounds[:, 1:])
        if self.signs is None or not self.signs.any():
            return values
        return _order_values(values, self.signs)


def _order_values(values: Array, signs: NDArray[np.int8]) -> Array:
    """Pool neighbours that are in the wrong order, and then lift those that still are."""
    shape = (2,) * len(signs) + values.shape[1:]
    cube = values.reshape(shape).copy()  # bit d of a leaf is axis len(signs) - 1 - d
    pairs = [
        (np.moveaxis(cube, len(signs) - 1 - d, 0), int(sign))
        for d, sign in enumerate(signs)
        if sign != 0
    ]
    for _ in range(len(signs)):
        for pair, sign in pairs:
            wrong = sign * (pair[1] - pair[0]) < 0.0
            mean = 0.5 * (pair[0] + pair[1])
            pair[0][wrong] = mean[wrong]
            pair[1][wrong] = mean[wrong]
    for pair, sign in pairs:
        low, high = (0, 1) if sign > 0 else (1, 0)
        np.maximum(pair[high], pair[low], out=pair[high])
    return cube.reshape(values.shape)


def sum_by_leaf(leaves: NDArray[np.int32], values: Array, weights: Array, n_leaves: int) -> Array:
    """Weighted sums of the rows of each leaf, (n_leaves, L).

    Examples
    --------
    >>> import numpy as np
    >>> leaves, values = np.array([0, 1, 1], dtype=np.int32), np.array([[1.0], [2.0], [3.0]])
    >>> sum_by_leaf(leaves, values, np.array([1.0, 1.0, 2.0]), 2).ravel()
    array([1., 8.])
    """
    sums = np.zeros((n_leaves, values.shape[1]))
    _add_by_leaf(leaves, values, weights, sums)
    return sums


@compilation.compile_at_first_call
def _add_by_leaf(leaves: NDArray[np.int32], values: Array, weights: Array, sums: Array) -> None:
    for i in range(len(leaves)):
        for l in range(values.shape[1]):
            sums[leaves[i], l] += weights[i] * values[i, l]
