"""One tree of a boosted sum: rows that know their slopes and curvatures, and tests that part them.

Trees are oblivious (all nodes of a level have one test, as in a fern), or ordinary ones that grow
level by level or the best leaf first. They differ in the order of splits only: see ``oblivious``
and ``nodes``; all sum the same histograms.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.trees.boosting import nodes, oblivious
from posterity.trees.boosting.grown import GrownTree, TreeRules
from posterity.trees.boosting.screens import CodedRows, Codes, GrowingTree


@dataclass(frozen=True, eq=False)
class Grower:
    """The answers of all rows to all tests, and threads that look through them.

    Examples
    --------
    >>> import numpy as np
    >>> codes = np.array([[0, 0, 1, 1], [0, 1, 0, 1]], dtype=np.uint8)
    >>> slopes, curvatures = np.array([[-1.0], [-1.0], [1.0], [1.0]]), np.ones((4, 1))
    >>> rng = np.random.default_rng(0)
    >>> with Grower.open(codes) as grower:
    ...     tree = grower.grow(slopes, curvatures, np.ones(4), TreeRules(max_depth=1), rng)
    >>> tree.tests, tree.leaves, tree.gains.round(3)
    (array([0]), array([0, 0, 1, 1], dtype=int32), array([1.333]))
    """

    coded: CodedRows

    @classmethod
    @contextmanager
    def open(
        cls, codes: Codes, n_jobs: int | None = None, weights: Array | None = None
    ) -> Iterator[Grower]:
        """A grower whose threads end with the context; small work gets none.

        Weights (N,) say how often rows count in the least number on either side of the test of a
        level; None: once each.
        """
        with CodedRows.open(codes, n_jobs, weights) as coded:
            yield cls(coded)

    def grow(
        self,
        slopes: Array,
        curvatures: Array,
        weights: Array,
        rules: TreeRules,
        rng: np.random.Generator,
        tests: NDArray[Any] | None = None,
    ) -> GrownTree:
        """A tree for slopes and curvatures of the log-likelihood, whose gains over outputs add.

        The result depends neither on the number of threads nor on the order of rows.

        Parameters
        ----------
        slopes, curvatures : array (N, L)
            Derivative of each row's log-probability in each output, and minus the second, >= 0.
        weights : array (N,)
            How often rows count; rows of weight 0 get a leaf, and nothing else.
        rules : TreeRules
            How the tree grows.
        rng : Generator
            Draws random scores.
        tests : array (K,), optional
            Which tests are tried; None: all.
        """
        growing = GrowingTree.start(self.coded, slopes, curvatures, weights, rules, rng, tests)
        grow = oblivious.grow_oblivious if rules.growth == "oblivious" else nodes.grow_nodes
        return grow(growing)
