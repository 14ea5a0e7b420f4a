"""Which cut of which test tells most about the classes of a node.

A split gains the log-likelihood that the two sides have together over what the node has.
[P9 9.63, 9.64] The textbook takes the class probabilities of each side where they make its rows
most likely, which pays for cutting off a few rows that happen to agree. With a prior, integrated
out, it is the log evidence that a split gains, and small sides pay for their probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.trees.growth import class_levels, class_nodes, class_terms
from posterity.trees.growth.partition import LevelSplit, NodeSplits


@dataclass(frozen=True)
class ClassCriterion:
    """Splits by the log-likelihood of the classes 0 to C - 1.

    Parameters
    ----------
    n_classes : int
        C.
    prior_weight : float, default 0
        How many rows a symmetric Dirichlet prior of each side is worth; 0: maximum likelihood.

    Examples
    --------
    >>> import numpy as np
    >>> target, weights = np.array([0, 0, 1], dtype=np.int32), np.ones(3)
    >>> codes = np.array([[7, 7, 7], [1, 2, 5]], dtype=np.uint8)
    >>> search = ClassCriterion(2).start_search(target, weights)
    >>> splits = search.split_nodes(codes, target, weights, np.array([0, 3]), 1.0)
    >>> splits.test, splits.code, splits.gain.round(4)
    (array([1], dtype=int32), array([2], dtype=int32), array([1.9095]))
    """

    n_classes: int
    prior_weight: float = 0.0

    def start_search(self, target: NDArray[np.int32], weights: Array) -> ClassSearch:
        """The search for splits of a tree or fern of these rows."""
        del target
        return ClassSearch(
            self.n_classes, class_terms.term_table(weights, self.n_classes, self.prior_weight)
        )


@dataclass(frozen=True, eq=False)
class ClassSearch:
    """Finds splits in one tree or fern."""

    n_classes: int
    table: Array  # see class_terms

    def split_nodes(
        self,
        codes: NDArray[np.uint8],
        target: NDArray[np.int32],
        weights: Array,
        start: NDArray[np.int64],
        min_samples_leaf: float,
    ) -> NodeSplits:
        """The best split of each of A nodes by itself; the first of those that are equally good."""
        return NodeSplits(
            *class_nodes.split_nodes(
                codes, target, weights, start, self.n_classes, self.table, min_samples_leaf
            )
        )

    def split_level(
        self,
        codes: NDArray[np.uint8],
        target: NDArray[np.int32],
        weights: Array,
        start: NDArray[np.int64],
        min_samples_leaf: float,
    ) -> LevelSplit:
        """The one split of all A nodes that gains most in all."""
        return LevelSplit(
            *class_levels.split_level(
                codes, target, weights, start, self.n_classes, self.table, min_samples_leaf
            )
        )
