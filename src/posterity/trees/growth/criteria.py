"""Which cut of which test tells most about the classes or numbers of a node.

A split gains the log-likelihood that the two sides have together over what the node has.
[P9 9.63, 9.64] The textbook takes the class probabilities of each side where they make its rows
most likely, which pays for cutting off a few rows that happen to agree. With a prior, integrated
out, it is the log evidence that a split gains, and small sides pay for their probabilities.

Of numbers, each output of a leaf is normal. Rows of weight n that are SS away from their mean,
summed and squared, have the log-likelihood -(n log v + SS / v) / 2. The variance v is that of the
root where it is held in common, so that a split gains what it takes from the sum of squares; or a
leaf has its own, (SS + s v_root) / (n + s), which s rows of the root keep from zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.trees.growth import class_terms, normal_terms
from posterity.trees.growth.partition import LevelSplit, NodeSplits


@dataclass(frozen=True, eq=False)
class SplitSearch:
    """Finds the splits of one tree or fern, by a criterion that has seen its rows."""

    nodes: Callable[..., tuple[Any, ...]]
    level: Callable[..., tuple[Any, ...]]
    parameters: tuple[Any, ...]  # of both, beside the rows

    def split_nodes(
        self,
        codes: NDArray[np.uint8],
        target: NDArray[Any],
        weights: Array,
        start: NDArray[np.int64],
        min_samples_leaf: float,
    ) -> NodeSplits:
        """The best of K tests for each of A nodes, with rows start[a] to start[a + 1] - 1.

        Codes are (K, m). Of splits that are equally good it is the first test, and the lowest code.
        """
        rows = codes, target.reshape(len(target), -1), weights, start
        return NodeSplits(*self.nodes(*rows, self.parameters, min_samples_leaf))

    def split_level(
        self,
        codes: NDArray[np.uint8],
        target: NDArray[Any],
        weights: Array,
        start: NDArray[np.int64],
        min_samples_leaf: float,
    ) -> LevelSplit:
        """The same for one test and one cut that all of these nodes have in common."""
        rows = codes, target.reshape(len(target), -1), weights, start
        return LevelSplit(*self.level(*rows, self.parameters, min_samples_leaf))


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

    def start_search(self, target: NDArray[Any], weights: Array) -> SplitSearch:
        """The search for splits of a tree or fern of these rows."""
        del target
        table = class_terms.term_table(weights, self.n_classes, self.prior_weight)
        kernels = class_terms.split_nodes, class_terms.split_level
        return SplitSearch(*kernels, (self.n_classes, table))


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

    def start_search(self, target: NDArray[Any], weights: Array) -> SplitSearch:
        """The search for splits of a tree or fern of these rows."""
        mean = np.average(target, axis=0, weights=weights)
        variance = np.average((target - mean) ** 2, axis=0, weights=weights)
        is_constant = np.ptp(target, axis=0) == 0.0  # what is left of its squares is rounding
        prior = self.prior_weight if self.own_variance else np.inf
        kernels = normal_terms.split_nodes, normal_terms.split_level
        # Infinite for an output that is constant, and for the prior where all leaves have the same.
        return SplitSearch(*kernels, (np.where(is_constant, np.inf, variance), prior))
