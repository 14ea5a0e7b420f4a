"""Normal leaves x one test a level: RandomFernRegressor."""

from __future__ import annotations

from posterity import trees
from posterity.constructors import declare_parameters, field
from posterity.models import Member, ModelCard
from posterity.trees import forests, growth
from posterity.trees.estimators.forest_regressor import ForestRegressor
from posterity.trees.estimators.random_forest_regressor import two_thirds_of_columns
from posterity.trees.estimators.split_model import BaggedModel


@declare_parameters
class RandomFernRegressor(BaggedModel, ForestRegressor):
    """Random ferns with normal cells: all nodes of a level use the same test.

    A fern asks every row the same ``max_depth`` tests, and the answers are the number of a cell,
    which predicts with the mean of its targets; a prediction is the mixture over ferns.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of ferns.
    max_depth : int, default=12
        Number of levels. A fern has ``2**max_depth`` cells.
    splits : Family, optional
        Which tests a level may use: a family of :mod:`posterity.trees`, or your own. None: values
        of single columns.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of tests drawn as candidates at each level; a float is a fraction of the columns.
        None: two thirds of the columns, or what suits another family.
    min_samples_leaf : float, default=5
        Minimum number of rows, counted by weight and over all cells, on each side of a test.
    bootstrap, max_samples, concentration, sharpness, n_jobs, random_state
        As in :class:`RandomForestRegressor`.

    Attributes
    ----------
    forest_, concentration_, sharpness_, oob_log_score_, oob_rmse_, oob_log_prob_, column_gain_, \
feature_importances_
        As in :class:`RandomForestRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import RandomFernRegressor
    >>> X = np.linspace(0.0, 1.0, 200)[:, None]
    >>> model = RandomFernRegressor(30, random_state=0).fit(X, X[:, 0] ** 2)
    >>> mean, std = model.predict([[0.5]], return_std=True)
    >>> print(f"{mean[0]:.2f} +- {std[0]:.2f}")
    0.24 +- 0.01
    """

    max_depth: int = field(default=12, kw_only=False)
    min_samples_leaf: float = 5.0

    card = ModelCard(
        likelihood="normal leaves",
        prior="pooled variance",
        feature_space="one random split per level",
        inference="greedy, averaged",
        advice="predictions must be very fast",
        page="trees",
        candidates=(Member("ferns", 200, "N a fern", {"n_estimators": 50}, on_dask=True),),
    )

    def _plan_trees(self, family: trees.Family) -> forests.ForestPlan:
        return self._plan_bagged_trees(family, two_thirds_of_columns(family), grow=growth.grow_fern)
