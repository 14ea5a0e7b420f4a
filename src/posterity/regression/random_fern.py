"""Normal leaves x one test a level: RandomFernRegressor."""

from __future__ import annotations

from typing import Any

from posterity import trees
from posterity.regression.forest_model import ForestRegressor
from posterity.regression.random_forest import most_columns
from posterity.trees import forests, growth


class RandomFernRegressor(ForestRegressor):
    """Random ferns whose cells are normal: trees whose nodes of one level all ask the same.

    Parameters
    ----------
    n_ferns : int, default=100
        How many.
    max_depth : int, default=12
        Levels: a fern has two to this power of cells.
    tests : Family, optional
        What a level may ask: one of :mod:`posterity.trees`, or your own. None: single columns.
    n_tests : int, optional
        Tests that are drawn for a level. None: for columns two thirds of their number, else what
        the family finds good.
    min_leaf : float, default=5
        Rows, counted by weight, that each side of a test has at least, over all cells.
    bootstrap, max_samples, concentration, sharpness, n_jobs, random_state
        As in :class:`RandomForestRegressor`.

    Attributes
    ----------
    forest_, concentration_, sharpness_, oob_log_score_, oob_rmse_, oob_log_prob_, column_gain_
        As in :class:`RandomForestRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import RandomFernRegressor
    >>> X = np.linspace(0.0, 1.0, 200)[:, None]
    >>> model = RandomFernRegressor(30, random_state=0).fit(X, X[:, 0] ** 2)
    >>> model.predict([[0.5]]).round(1)
    array([0.2])
    """

    def __init__(
        self,
        n_ferns: int = 100,
        max_depth: int = 12,
        *,
        tests: trees.Family | None = None,
        n_tests: int | None = None,
        min_leaf: float = 5.0,
        bootstrap: bool = True,
        max_samples: float | None = None,
        concentration: float | None = None,
        sharpness: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_ferns = n_ferns
        self.max_depth = max_depth
        self.tests = tests
        self.n_tests = n_tests
        self.min_leaf = min_leaf
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.concentration = concentration
        self.sharpness = sharpness
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _plan(self, family: trees.Family) -> forests.Plan:
        return self._bagged("n_ferns", family, most_columns(family), grow=growth.grow_fern)
