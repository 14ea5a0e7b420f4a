"""Categorical leaves x Dirichlet prior x random tests x bootstrap: RandomForestClassifier."""

from __future__ import annotations

from typing import Any

from posterity import trees
from posterity.classification.forest_model import ForestClassifier
from posterity.trees import forests


class RandomForestClassifier(ForestClassifier):
    """Random classification trees, whose probabilities are averaged.  [P9 Sec 9.10]

    Each tree grows from a bootstrap sample of the rows. At each node some tests are drawn at
    random, and the one, with its threshold, that raises the log-likelihood of the classes most is
    taken. A leaf predicts by its counts and a Dirichlet prior about the class frequencies.

    About a third of the rows are out of the bag of each tree. They tell what no peer learns: how
    much a leaf's counts can be trusted, and by how much the average of trees is too cautious, which
    it is wherever trees are many and weak. Probabilities are therefore calibrated, and the log
    score of rows not seen is known without a test set.

    A missing value (NaN) may go to either side of a threshold, whichever tells more: a column of
    which values are missing has one test that takes them for the largest and one that takes them
    for the smallest, and a threshold of each parts them from all others.

    Parameters
    ----------
    n_trees : int, default=100
        How many.
    tests : Family, optional
        What a node may ask: one of :mod:`posterity.trees`, or your own. None: single columns.
    n_tests : int, optional
        Tests that are drawn for a node. None: what the family finds good, for columns the square
        root of their number.
    max_depth : int, optional
        Splits from the root to a leaf. None: as many as it takes.
    min_leaf : float, default=1
        Rows, counted by weight, that each side of a split has at least.
    bootstrap : bool, default=True
        Draw each tree's rows with replacement. False: all rows, and nothing is out of the bag.
    max_samples : int or float, optional
        Rows of each tree: a number, or a fraction of all. None: as many as there are.
    concentration : float, optional
        How many rows the prior of a leaf is worth. None: learned out of the bag; one without it.
    sharpness : float, optional
        Power to which averaged probabilities are raised. None: learned out of the bag; one, the
        plain average, without it.
    n_jobs : int, optional
        Threads, for growing and predicting; the result is the same for any number.
    random_state : int, Generator, RandomState or None, default=None
        Draws rows and tests.

    Attributes
    ----------
    classes_ : array of shape (C,)
        The classes, sorted.
    forest_ : ClassForest
        The trees as flat arrays, and the counts of their leaves.
    concentration_, sharpness_ : float
        Learned, or as given.
    oob_log_score_ : float
        Mean log-probability of the classes of rows, by trees that did not grow from them; NaN
        without a bootstrap.
    oob_accuracy_ : float
        How often these were right.
    oob_log_prob_ : array of shape (N,), or None
        Log-probability of each row's class by the same trees; NaN where all trees saw the row.
        None where rows stayed on the workers of Dask: nobody holds a number for each of them.
    column_gain_ : array of shape (D,) or None
        Log-likelihood, in nats, that tests of each column gained in training.

    See Also
    --------
    RandomTreeClassifier : one tree. RandomFernClassifier : one test a level.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import RandomForestClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0.0, "alike", "unlike")
    >>> model = RandomForestClassifier(random_state=0).fit(X, y)
    >>> model.predict([[1.0, 1.0], [1.0, -1.0]])
    array(['alike', 'unlike'], dtype='<U6')
    >>> prediction = model.predict_dist([[1.0, 1.0], [0.0, 1.0]])
    >>> prediction.epistemic_entropy().round(1)
    array([0. , 0.2])
    """

    def __init__(
        self,
        n_trees: int = 100,
        *,
        tests: trees.Family | None = None,
        n_tests: int | None = None,
        max_depth: int | None = None,
        min_leaf: float = 1.0,
        bootstrap: bool = True,
        max_samples: float | None = None,
        concentration: float | None = None,
        sharpness: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_trees = n_trees
        self.tests = tests
        self.n_tests = n_tests
        self.max_depth = max_depth
        self.min_leaf = min_leaf
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.concentration = concentration
        self.sharpness = sharpness
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _plan(self, family: trees.Family) -> forests.Plan:
        return self._bagged("n_trees", family)
