"""Which cut of which test tells most about the numbers of a node.

Each output of a leaf is normal. Rows of weight n that are SS away from their mean, summed and
squared, have the log-likelihood -(n log v + SS / v) / 2. The variance v is that of the root where
it is held in common, so that a split gains what it takes from the sum of squares; or a leaf has its
own, (SS + s v_root) / (n + s), which s rows of the root keep from zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.trees.growth import normal_levels, normal_nodes
from posterity.trees.growth.partition import LevelSplit, NodeSplits


@dataclass(frozen=True)
class NormalCriterion:
    """Splits by the log-likelihood of normal leaves.

    Parameters
    ----------
    own_variance : bool
        Whether each leaf has a variance of its own, so that splits also part rows that spread
        little from rows that spread much. Where all rows spread alike this costs a little.
    prior_weight : float
        Rows of the variance of the root that each such leaf has beside its own; more than zero.

    Examples
    --------
    >>> import numpy as np
    >>> target, weights = np.array([[1.0], [1.5], [8.0]]), np.ones(3)
    >>> codes = np.array([[1, 2, 5]], dtype=np.uint8)
    >>> search = NormalCriterion().start_search(target, weights)
    >>> search.split_nodes(codes, target, weights, np.array([0, 3]), 1.0).code
    array([2], dtype=int32)
    """

    own_variance: bool = True
    prior_weight: float = 1.0

    def start_search(self, target: Array, weights: Array) -> NormalSearch:
        """The search for splits of a tree or fern of these rows."""
        mean = np.average(target, axis=0, weights=weights)
        variance = np.average((target - mean) ** 2, axis=0, weights=weights)
        is_constant = np.ptp(target, axis=0) == 0.0  # what is left of its squares is rounding
        prior = self.prior_weight if self.own_variance else np.inf
        return NormalSearch(np.where(is_constant, np.inf, variance), prior)


@dataclass(frozen=True, eq=False)
class NormalSearch:
    """Finds splits in one tree or fern."""

    variance: Array  # (K,), of the root; infinite for an output that is constant
    prior_weight: float  # infinite where all leaves have this variance

    def split_nodes(
        self,
        codes: NDArray[np.uint8],
        target: Array,
        weights: Array,
        start: NDArray[np.int64],
        min_samples_leaf: float,
    ) -> NodeSplits:
        """The best split of each of A nodes by itself; the first of those that are equally good."""
        return NodeSplits(
            *normal_nodes.split_nodes(
                codes, target, weights, start, self.variance, self.prior_weight, min_samples_leaf
            )
        )

    def split_level(
        self,
        codes: NDArray[np.uint8],
        target: Array,
        weights: Array,
        start: NDArray[np.int64],
        min_samples_leaf: float,
    ) -> LevelSplit:
        """The one split of all A nodes that gains most in all."""
        return LevelSplit(
            *normal_levels.split_level(
                codes, target, weights, start, self.variance, self.prior_weight, min_samples_leaf
            )
        )
