"""Single random trees, of classes and of numbers."""

from __future__ import annotations

from posterity import trees, validation
from posterity.constructors import declare_parameters
from posterity.models import Member, ModelCard
from posterity.trees import forests
from posterity.trees.estimators.forest_model import ForestClassifier, ForestRegressor
from posterity.trees.estimators.random_forest import two_thirds_of_columns


@declare_parameters
class RandomTreeClassifier(ForestClassifier):
    """A single random classification tree.  [P9 Sec 9.10]

    At each node some tests are drawn at random, and the test and threshold with the largest gain in
    the log-likelihood of the classes split the node. A leaf predicts with its class counts and a
    Dirichlet prior over class frequencies. A tree is fast and can be drawn; a forest predicts
    better.

    Parameters
    ----------
    splits : Family, optional
        Which tests a node may use: a family of :mod:`posterity.trees`, or your own. None: values of
        single columns.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of tests drawn as candidates at each node; a float is a fraction of the columns.
        None: what suits the family; for columns the square root of their number.
    max_depth : int, optional
        Maximum number of splits from the root to a leaf. None: no limit.
    min_samples_leaf : float, default=5
        Minimum number of rows, counted by weight, on each side of a split.
    concentration : float, default=1.0
        Weight of a leaf's prior, in rows.
    random_state : int, Generator, RandomState or None, default=None
        Seed for drawing tests.

    Attributes
    ----------
    classes_, forest_, column_gain_, feature_importances_
        As in :class:`RandomForestClassifier`, of one tree.

    See Also
    --------
    RandomForestClassifier : The average of many trees.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import RandomTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> model = RandomTreeClassifier(max_features=1.0, random_state=0).fit(X, y)
    >>> model.predict_proba([[1.0, 0.0], [0.0, 0.0]]).round(3)
    array([[0.987, 0.013],
           [0.002, 0.998]])
    >>> model.forest_.trees.n_leaves
    2
    """

    max_depth: int | None = None
    min_samples_leaf: float = 5.0
    concentration: float = 1.0

    card = ModelCard(
        likelihood="categorical",
        prior="Dirichlet",
        feature_space="random splits",
        inference="greedy, splits by evidence",
        advice="one tree that can be drawn",
        page="trees",
        candidates=(Member("tree", 90, "N log N", on_dask=True),),
    )

    def _plan_trees(self, family: trees.Family) -> forests.ForestPlan:
        return forests.ForestPlan(
            n_trees=1,
            rules=self._growth_rules(family),
            bootstrap=False,
            concentration=validation.check_positive(self.concentration, "concentration"),
            sharpness=1.0,
        )


@declare_parameters
class RandomTreeRegressor(ForestRegressor):
    """A single random tree with normal leaves.

    At each node some tests are drawn at random, and the test and threshold with the largest gain in
    the log-likelihood of the targets split the node. A tree is fast and can be drawn;
    :class:`RandomForestRegressor` mixes many trees and predicts better.

    Parameters
    ----------
    splits : Family, optional
        Which tests a node may use: a family of :mod:`posterity.trees`, or your own. None: values of
        single columns.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of tests drawn as candidates at each node; a float is a fraction of the columns.
        None: two thirds of the columns, or what suits another family.
    max_depth : int, optional
        Maximum number of splits from the root to a leaf. None: no limit.
    min_samples_leaf : float, default=10
        Minimum number of rows, counted by weight, on each side of a split.
    concentration : float, optional
        Weight, in rows, of the squared error on held-out rows in the variance of each leaf. None:
        learned from these rows.
    sharpness : float, optional
        Divisor of the variances of all leaves. None: learned from held-out rows, which lie further
        from the means of leaves than the rows by which splits were chosen. Of chunks and on Dask,
        nothing is held out: None is then one, unless there are more rows than a tree draws.
    random_state : int, Generator, RandomState or None, default=None
        Seed for drawing tests.

    Attributes
    ----------
    forest_, concentration_, sharpness_, column_gain_, feature_importances_
        As in :class:`RandomForestRegressor`, of one tree.
    oob_log_score_, oob_rmse_, oob_log_prob_
        Likewise, of rows held out of trees that grew from nine tenths of the others. Of more than
        512 rows, about as many are held out.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import RandomTreeRegressor
    >>> X = np.linspace(0.0, 1.0, 100)[:, None]
    >>> model = RandomTreeRegressor(random_state=0).fit(X, np.where(X[:, 0] > 0.5, 3.0, 1.0))
    >>> model.predict([[0.2], [0.8]])
    array([1., 3.])
    """

    max_depth: int | None = None
    min_samples_leaf: float = 10.0
    sharpness: float | None = None

    card = ModelCard(
        likelihood="normal leaves",
        prior="pooled variance, learned from held-out rows",
        feature_space="random splits",
        inference="greedy, splits by evidence",
        advice="one tree that can be drawn",
        page="trees",
        candidates=(Member("tree", 190, "N log N", on_dask=True),),
    )

    def _plan_trees(self, family: trees.Family) -> forests.ForestPlan:
        return forests.ForestPlan(
            n_trees=1,
            rules=self._growth_rules(family, two_thirds_of_columns(family)),
            bootstrap=False,
            concentration=self._check_positive("concentration"),
            sharpness=self._check_positive("sharpness"),
        )
