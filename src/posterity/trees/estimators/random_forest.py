"""Random forests: averages of random trees, of classes and of numbers."""

from __future__ import annotations

from posterity import trees
from posterity.models import Member, ModelCard
from posterity.trees import forests
from posterity.trees.estimators.forest_model import BaggedModel, ForestClassifier, ForestRegressor


class RandomForestClassifier(BaggedModel, ForestClassifier):
    """Random forest of classification trees with calibrated probabilities.  [P9 Sec 9.10]

    Each tree grows from a bootstrap sample of the rows. At each node some tests are drawn at
    random, and the test and threshold with the largest gain in the log-likelihood of the classes
    split the node. A leaf predicts with its class counts and a Dirichlet prior over class
    frequencies, and the forest averages the trees.

    Out-of-bag rows, about a third for each tree, set the weight of that prior and the power that
    sharpens the average, which is too cautious when trees are weak. Both depend on the number of
    trees, and a row is out of the bag of about a third of them: how they change with it is learned
    too, and used to carry them over to all trees. So probabilities of forests of few trees are
    calibrated as well, and the log score on unseen rows is known without a test set; it is that of
    about a third of the trees.

    Missing values (NaN) are accepted. A column that has some is tested twice, once with missing
    values as the largest and once as the smallest, so each split sends them to the side where they
    predict better.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    splits : Family, optional
        Which tests a node may use: a family of :mod:`posterity.trees`, or your own. None: values of
        single columns.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of tests drawn as candidates at each node; a float is a fraction of the columns.
        None: what suits the family; for columns the square root of their number.
    max_depth : int, optional
        Maximum number of splits from the root to a leaf. None: no limit.
    min_samples_leaf : float, default=1
        Minimum number of rows, counted by weight, on each side of a split.
    bootstrap : bool, default=True
        Draw the rows of each tree with replacement. False: every tree uses all rows, and there are
        no out-of-bag rows.
    max_samples : int or float, optional
        Number of rows drawn for each tree, or a fraction of all. None: as many as there are.
    concentration : float, optional
        Weight of a leaf's prior, in rows. None: learned from out-of-bag rows, or 1 without them.
    sharpness : float, optional
        Power to which averaged probabilities are raised. None: learned from out-of-bag rows, or 1
        (the plain average) without them.
    n_jobs : int, optional
        Number of threads for fitting and predicting. The result does not depend on it.
    random_state : int, Generator, RandomState or None, default=None
        Seed for drawing rows and tests.

    Attributes
    ----------
    classes_ : array of shape (C,)
        Class labels, sorted.
    forest_ : ClassForest
        The trees as flat arrays, and the class counts of their leaves.
    concentration_, sharpness_ : float
        Learned, or as given.
    oob_score_ : float
        Accuracy on out-of-bag rows; NaN without a bootstrap.
    oob_log_score_ : float
        Mean log probability of the observed class of out-of-bag rows; NaN without a bootstrap.
    oob_log_prob_ : array of shape (N,) or None
        Log probability of the observed class of each row by the trees that did not use it; NaN
        where all trees did. None when the rows stayed on Dask workers.
    column_gain_ : array of shape (D,) or None
        Gain in log-likelihood, in nats, of the splits on each column. None for other families.
    feature_importances_ : array of shape (D,)
        The same as shares that sum to one.

    See Also
    --------
    RandomTreeClassifier : A single tree.
    RandomFernClassifier : Trees that use one test for each level.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import RandomForestClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0.0, "alike", "unlike")
    >>> model = RandomForestClassifier(random_state=0).fit(X, y)
    >>> model.predict_proba([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]).round(2)
    array([[1.  , 0.  ],
           [0.86, 0.14]])
    >>> model.oob_score_, model.feature_importances_.round(2)
    (0.992, array([0.5 , 0.47, 0.03]))
    """

    card = ModelCard(
        likelihood="categorical",
        prior="Dirichlet, learned out of bag",
        feature_space="random splits",
        inference="bootstrap, averaged",
        advice="many rows, steps and thresholds",
        page="trees",
        candidates=(
            Member(
                "forest",
                80,
                "N log N a tree",
                {"n_estimators": 100, "n_jobs": -1},
                usual_rows=1e6,
                on_dask=True,
            ),
        ),
    )

    def _plan_trees(self, family: trees.Family) -> forests.ForestPlan:
        return self._plan_bagged_trees(family)


class RandomForestRegressor(BaggedModel, ForestRegressor):
    """Random forest with normal leaves: a prediction is a mixture over trees.

    Each tree grows from a bootstrap sample of the rows. At each node some tests are drawn at
    random, and the test and threshold with the largest gain in the log-likelihood of the targets
    split the node. A leaf predicts with the mean of its targets and with the variance in the
    smallest node around it that holds five rows, shrunk towards the error of single trees.

    Out-of-bag rows, about a third for each tree, set how far that variance is shrunk and by how
    much the mixture of all trees is too wide. Intervals therefore have their nominal coverage, and
    the log score on unseen rows is known without a test set. The variance of a prediction has an
    aleatoric part, the variance within leaves, and an epistemic part, the disagreement of trees.

    Missing values (NaN) are accepted. A column that has some is tested twice, once with missing
    values as the largest and once as the smallest, so each split sends them to the side where they
    predict better.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    splits : Family, optional
        Which tests a node may use: a family of :mod:`posterity.trees`, or your own. None: values of
        single columns.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of tests drawn as candidates at each node; a float is a fraction of the columns.
        None: two thirds of the columns, or what suits another family.
    max_depth : int, optional
        Maximum number of splits from the root to a leaf. None: no limit.
    min_samples_leaf : float, default=1
        Minimum number of rows, counted by weight, on each side of a split.
    bootstrap : bool, default=True
        Draw the rows of each tree with replacement. False: every tree uses all rows, and there are
        no out-of-bag rows.
    max_samples : int or float, optional
        Number of rows drawn for each tree, or a fraction of all. None: as many as there are.
    concentration : float, optional
        Weight, in rows, of the error of single trees in the variance of a leaf. None: learned from
        out-of-bag rows; without them 1, of the variance around all leaves.
    sharpness : float, optional
        Factor by which the variance of the mixture is divided. None: learned from out-of-bag rows,
        by the variance between trees carried over from the third of the trees that these meet to
        all trees; or 1 without them.
    n_jobs : int, optional
        Number of threads for fitting and predicting. The result does not depend on it.
    random_state : int, Generator, RandomState or None, default=None
        Seed for drawing rows and tests.

    Attributes
    ----------
    forest_ : NormalForest
        The trees as flat arrays, and the moments of their leaves.
    concentration_, sharpness_ : float
        Learned, or as given.
    oob_log_score_ : float
        Mean log density of the targets of out-of-bag rows; NaN without a bootstrap.
    oob_rmse_ : float
        Root mean squared error on out-of-bag rows.
    oob_log_prob_ : array of shape (N,) or None
        Log density of the target of each row by the trees that did not use it; NaN where all trees
        did. None when the rows stayed on Dask workers.
    column_gain_ : array of shape (D,) or None
        Gain in log-likelihood, in nats, of the splits on each column. None for other families.
    feature_importances_ : array of shape (D,)
        The same as shares that sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import RandomForestRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3.0, 3.0, size=(1000, 1))
    >>> y = np.sin(X[:, 0]) + np.where(X[:, 0] > 0.0, 0.3, 0.05) * rng.normal(size=1000)
    >>> model = RandomForestRegressor(random_state=0).fit(X, y)
    >>> mean, std = model.predict([[-1.5], [1.5]], return_std=True)
    >>> mean.round(1), std.round(1)
    (array([-1. ,  1.1]), array([0.1, 0.4]))
    """

    card = ModelCard(
        likelihood="normal leaves",
        prior="pooled variance, learned out of bag",
        feature_space="random splits",
        inference="bootstrap, averaged",
        advice="many rows, steps and thresholds",
        page="trees",
        candidates=(
            Member(
                "forest",
                160,
                "N log N a tree",
                {"n_estimators": 50, "n_jobs": -1},
                usual_rows=1e5,
                on_dask=True,
            ),
        ),
    )

    def _plan_trees(self, family: trees.Family) -> forests.ForestPlan:
        return self._plan_bagged_trees(family, two_thirds_of_columns(family))


def two_thirds_of_columns(family: trees.Family) -> int | None:
    """What regression on single columns does well with, two thirds; other families know best."""
    return -(-2 * family.n_columns // 3) if isinstance(family, trees.Columns) else None
