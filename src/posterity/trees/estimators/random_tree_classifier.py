"""Categorical leaves x Dirichlet prior x random splits: RandomTreeClassifier."""

from __future__ import annotations

from posterity import trees, validation
from posterity.constructors import declare_parameters
from posterity.models import Member, ModelCard
from posterity.trees import forests
from posterity.trees.estimators.forest_classifier import ForestClassifier


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
