"""Random ferns: trees with one test for each level, of classes and of numbers."""

from __future__ import annotations

from posterity import trees
from posterity.constructors import declare_parameters, field
from posterity.models import Member, ModelCard
from posterity.trees import forests, growth
from posterity.trees.estimators.forest_model import BaggedModel, ForestClassifier, ForestRegressor
from posterity.trees.estimators.random_forest import two_thirds_of_columns


@declare_parameters
class RandomFernClassifier(BaggedModel, ForestClassifier):
    """Random ferns: trees in which all nodes of a level use the same test.  [P9 Sec 9.10]

    A fern asks every row the same ``max_depth`` tests, and the answers are the number of a cell.
    Each level uses the test, of some drawn at random, and the threshold with the largest gain in
    the log-likelihood of the classes over all cells. A cell predicts with its class counts and a
    Dirichlet prior over class frequencies, and the ferns are averaged.

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
        None: half of what suits trees; more make ferns too similar.
    min_samples_leaf : float, default=1
        Minimum number of rows, counted by weight and over all cells, on each side of a test.
    bootstrap, max_samples, concentration, sharpness, n_jobs, random_state
        As in :class:`RandomForestClassifier`.

    Attributes
    ----------
    classes_, forest_, concentration_, sharpness_, oob_score_, oob_log_score_, oob_log_prob_, \
column_gain_, feature_importances_
        As in :class:`RandomForestClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import RandomFernClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0.0, "alike", "unlike")
    >>> model = RandomFernClassifier(30, max_depth=6, random_state=0).fit(X, y)
    >>> model.predict_proba([[1.0, 1.0], [0.0, 1.0]]).round(2)
    array([[1.  , 0.  ],
           [0.12, 0.88]])
    """

    max_depth: int = field(default=12, kw_only=False)

    card = ModelCard(
        likelihood="categorical",
        prior="Dirichlet",
        feature_space="one random split per level",
        inference="greedy, averaged",
        advice="predictions must be very fast",
        page="trees",
        candidates=(Member("ferns", 100, "N a fern", {"n_estimators": 50}, on_dask=True),),
    )

    def _plan_trees(self, family: trees.Family) -> forests.ForestPlan:
        return self._plan_bagged_trees(
            family, -(-family.default_tests() // 2), grow=growth.grow_fern
        )


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
