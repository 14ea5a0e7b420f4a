"""Categorical leaves x Dirichlet prior x random tests: RandomTreeClassifier."""

from __future__ import annotations

from typing import Any

from posterity import trees, validation
from posterity.classification.forest_model import ForestClassifier
from posterity.trees import forests


class RandomTreeClassifier(ForestClassifier):
    """One random classification tree.  [P9 Sec 9.10]

    At each node some tests are drawn at random, and the one, with its threshold, that raises the
    log-likelihood of the classes most is taken. A leaf predicts by its counts and a Dirichlet prior
    about the class frequencies. A tree is fast, and can be looked at; a forest of many predicts
    better.

    Parameters
    ----------
    tests : Family, optional
        What a node may ask: one of :mod:`posterity.trees`, or your own. None: single columns.
    n_tests : int, optional
        Tests that are drawn for a node. None: what the family finds good, for columns the square
        root of their number.
    max_depth : int, optional
        Splits from the root to a leaf. None: as many as it takes.
    min_leaf : float, default=5
        Rows, counted by weight, that each side of a split has at least.
    concentration : float, default=1.0
        How many rows the prior of a leaf is worth.
    random_state : int, Generator, RandomState or None, default=None
        Draws tests.

    Attributes
    ----------
    classes_, forest_, column_gain_
        As in :class:`RandomForestClassifier`, of one tree.

    See Also
    --------
    RandomForestClassifier

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import RandomTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> model = RandomTreeClassifier(n_tests=2, random_state=0).fit(X, y)
    >>> model.predict([[1.0, 0.0], [0.0, 0.0]])
    array(['high', 'low'], dtype='<U4')
    >>> model.forest_.trees.n_leaves
    2
    """

    def __init__(
        self,
        *,
        tests: trees.Family | None = None,
        n_tests: int | None = None,
        max_depth: int | None = None,
        min_leaf: float = 5.0,
        concentration: float = 1.0,
        random_state: Any = None,
    ) -> None:
        self.tests = tests
        self.n_tests = n_tests
        self.max_depth = max_depth
        self.min_leaf = min_leaf
        self.concentration = concentration
        self.random_state = random_state

    def _plan(self, family: trees.Family) -> forests.Plan:
        return forests.Plan(
            n_trees=1,
            rules=self._rules(family),
            bootstrap=False,
            concentration=validation.check_positive(self.concentration, "concentration"),
            sharpness=1.0,
        )
