"""Normal leaves x random tests: RandomTreeRegressor."""

from __future__ import annotations

from typing import Any

from posterity import trees, validation
from posterity.regression.forest_model import ForestRegressor
from posterity.regression.random_forest import most_columns
from posterity.trees import forests


class RandomTreeRegressor(ForestRegressor):
    """One random tree whose leaves are normal.

    At each node some tests are drawn at random, and the one, with its threshold, that raises the
    log-likelihood of the targets most is taken. :class:`RandomForestRegressor` mixes many trees and
    predicts better.

    Parameters
    ----------
    tests : Family, optional
        What a node may ask: one of :mod:`posterity.trees`, or your own. None: single columns.
    n_tests : int, optional
        Tests that are drawn for a node. None: for columns two thirds of their number, else what
        the family finds good.
    max_depth : int, optional
        Splits from the root to a leaf. None: as many as it takes.
    min_leaf : float, default=10
        Rows, counted by weight, that each side of a split has at least.
    concentration : float, default=1.0
        How many rows the variance within all leaves is worth in each of them.
    random_state : int, Generator, RandomState or None, default=None
        Draws tests.

    Attributes
    ----------
    forest_, column_gain_
        As in :class:`RandomForestRegressor`, of one tree.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import RandomTreeRegressor
    >>> X = np.linspace(0.0, 1.0, 100)[:, None]
    >>> model = RandomTreeRegressor(random_state=0).fit(X, np.where(X[:, 0] > 0.5, 3.0, 1.0))
    >>> model.predict([[0.2], [0.8]])
    array([1., 3.])
    """

    def __init__(
        self,
        *,
        tests: trees.Family | None = None,
        n_tests: int | None = None,
        max_depth: int | None = None,
        min_leaf: float = 10.0,
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
            rules=self._rules(family, most_columns(family)),
            bootstrap=False,
            concentration=validation.check_positive(self.concentration, "concentration"),
            sharpness=1.0,
        )
