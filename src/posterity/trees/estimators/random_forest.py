"""Random trees, ferns and forests, which average them, of classes and of numbers."""

from __future__ import annotations

from collections.abc import Callable

from posterity import trees, validation
from posterity.constructors import declare_parameters, field
from posterity.models import Member, ModelCard
from posterity.trees import forests, growth
from posterity.trees.estimators.forest_model import ForestClassifier, ForestModel, ForestRegressor


@declare_parameters
class BaggedModel(ForestModel):
    """An estimator that is several trees or ferns, which draw rows of their own."""

    n_estimators: int = field(default=100, kw_only=False)
    max_depth: int | None = None
    bootstrap: bool = True
    max_samples: float | None = None
    sharpness: float | None = None
    n_jobs: int | None = None

    def _plan_bagged_trees(
        self,
        family: trees.Family,
        n_tests: int | None = None,
        grow: Callable[..., growth.growing.GrownTree] = growth.grow,
    ) -> forests.ForestPlan:
        """The plan of ``n_estimators`` trees that each draw rows of their own."""
        validation.check_count(self.n_estimators, "n_estimators")
        return forests.ForestPlan(
            n_trees=self.n_estimators,
            rules=self._growth_rules(family, n_tests),
            bootstrap=self.bootstrap,
            max_samples=self._check_max_samples(self.max_samples),
            concentration=self._check_positive("concentration"),
            sharpness=self._check_positive("sharpness"),
            n_jobs=self.n_jobs,
            grow=grow,
        )


@declare_parameters
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


@declare_parameters
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


@declare_parameters
class RandomTreeClassifier(ForestClassifier):
    """A single random classification tree.  [P9 Sec 9.10]

    At each node some tests are drawn at random, and the test and threshold with the largest gain in
    the log-likelihood of the classes split the node. A leaf predicts with its class counts and a
    Dirichlet prior over class frequencies. A tree is fast and can be drawn; a forest predicts
    better.

    Parameters
    ----------
    min_samples_leaf : float, default=5
        Minimum number of rows, counted by weight, on each side of a split.
    concentration : float, default=1.0
        Weight of a leaf's prior, in rows.
    random_state : int, Generator, RandomState or None, default=None
        Seed for drawing tests.

    Attributes
    ----------
    oob_score_, oob_log_score_, oob_log_prob_
        NaN: the tree has seen every row.

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
    oob_log_score_, oob_rmse_, oob_log_prob_
        Scores of rows held out of trees that grew from nine tenths of the others. Of more than
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


def two_thirds_of_columns(family: trees.Family) -> int | None:
    """Two thirds of single columns, which suit regression; None for other families."""
    return -(-2 * family.n_columns // 3) if isinstance(family, trees.Columns) else None
