"""Categorical leaves x Dirichlet prior x one test a level: RandomFernClassifier."""

from __future__ import annotations

from typing import Any

from posterity import trees
from posterity.classification.forest_model import ForestClassifier
from posterity.trees import forests, growth


class RandomFernClassifier(ForestClassifier):
    """Random ferns: trees whose nodes of one level all ask the same.  [P9 Sec 9.10]

    Every row is asked the same ``depth`` tests by a fern, and its answers are the number of a cell.
    Each level takes the test, of some that are drawn at random, and the threshold that raise the
    log-likelihood of the classes most in all cells together. A cell predicts by its counts and a
    Dirichlet prior about the class frequencies, and the ferns are averaged.

    Parameters
    ----------
    n_ferns : int, default=100
        How many.
    max_depth : int, default=12
        Levels: a fern has two to this power of cells.
    tests : Family, optional
        What a level may ask: one of :mod:`posterity.trees`, or your own. None: single columns.
    n_tests : int, optional
        Tests that are drawn for a level. None: half of what the family finds good for trees, for
        columns half the square root of their number; more make ferns too much alike.
    min_leaf : float, default=1
        Rows, counted by weight, that each side of a test has at least, over all cells.
    bootstrap, max_samples, concentration, sharpness, n_jobs, random_state
        As in :class:`RandomForestClassifier`.

    Attributes
    ----------
    classes_, forest_, concentration_, sharpness_, oob_log_score_, oob_accuracy_, oob_log_prob_, \
column_gain_
        As in :class:`RandomForestClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import RandomFernClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0.0, "alike", "unlike")
    >>> model = RandomFernClassifier(30, max_depth=6, random_state=0).fit(X, y)
    >>> model.predict([[1.0, 1.0], [1.0, -1.0]])
    array(['alike', 'unlike'], dtype='<U6')
    """

    def __init__(
        self,
        n_ferns: int = 100,
        max_depth: int = 12,
        *,
        tests: trees.Family | None = None,
        n_tests: int | None = None,
        min_leaf: float = 1.0,
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
        return self._bagged(
            "n_ferns", family, -(-family.default_tests() // 2), grow=growth.grow_fern
        )
