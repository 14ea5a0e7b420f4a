"""Normal leaves x random tests x bootstrap: RandomForestRegressor."""

from __future__ import annotations

from typing import Any

from posterity import trees
from posterity.regression.forest_model import ForestRegressor
from posterity.trees import forests


class RandomForestRegressor(ForestRegressor):
    """Random trees whose leaves are normal: a prediction is the mixture of what all of them say.

    Each tree grows from a bootstrap sample of the rows. At each node some tests are drawn at
    random, and the one, with its threshold, that raises the log-likelihood of the targets most is
    taken. A leaf predicts with the mean of its targets, and with the variance of those in the
    smallest node around it that five rows came to, drawn to the error of single trees.

    About a third of the rows are out of the bag of each tree. They tell how much the variance of a
    leaf can be trusted, and by how much the mixture of all trees is too wide: so intervals cover
    what they say, and the log score of rows not seen is known without a test set. The variance of
    a prediction has two parts: what the leaves are unsure of themselves (aleatoric), and what the
    trees disagree about (epistemic).

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
        Tests that are drawn for a node. None: for columns two thirds of their number, else what
        the family finds good.
    max_depth : int, optional
        Splits from the root to a leaf. None: as many as it takes.
    min_leaf : float, default=1
        Rows, counted by weight, that each side of a split has at least.
    bootstrap : bool, default=True
        Draw each tree's rows with replacement. False: all rows, and nothing is out of the bag.
    max_samples : int or float, optional
        Rows of each tree: a number, or a fraction of all. None: as many as there are.
    concentration : float, optional
        How many rows the error of single trees is worth in the variance of a leaf. None: learned
        out of the bag; one without it, of the variance around all leaves.
    sharpness : float, optional
        By how much the variance of the mixture is divided. None: learned out of the bag; one
        without it.
    n_jobs : int, optional
        Threads, for growing and predicting; the result is the same for any number.
    random_state : int, Generator, RandomState or None, default=None
        Draws rows and tests.

    Attributes
    ----------
    forest_ : NormalForest
        The trees as flat arrays, and the moments of their leaves.
    concentration_, sharpness_ : float
        Learned, or as given.
    oob_log_score_ : float
        Mean log-density of the targets of rows, by trees that did not grow from them; NaN without
        a bootstrap.
    oob_rmse_ : float
        Root mean square error of the same trees.
    oob_log_prob_ : array of shape (N,), or None
        Log-density of each row's target by the same trees; NaN where all trees saw the row.
        None where rows stayed on the workers of Dask: nobody holds a number for each of them.
    column_gain_ : array of shape (D,) or None
        Log-likelihood, in nats, that tests of each column gained in training.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import RandomForestRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3.0, 3.0, size=(1000, 1))
    >>> y = np.sin(X[:, 0]) + np.where(X[:, 0] > 0.0, 0.3, 0.05) * rng.normal(size=1000)
    >>> model = RandomForestRegressor(random_state=0).fit(X, y)
    >>> mean, std = model.predict([[-1.5], [1.5]], return_std=True)
    >>> mean.round(), std.round(1)
    (array([-1.,  1.]), array([0.1, 0.4]))
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
        return self._bagged("n_trees", family, most_columns(family))


def most_columns(family: trees.Family) -> int | None:
    """What regression on single columns does well with, two thirds; other families know best."""
    return -(-2 * family.n_columns // 3) if isinstance(family, trees.Columns) else None
