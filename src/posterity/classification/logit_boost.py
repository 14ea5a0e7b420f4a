"""Bernoulli or categorical likelihood x steps found one by one x point estimate."""

from __future__ import annotations

import copy
import numbers
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, distributions, validation
from posterity.arrays import Array
from posterity.classification import classes
from posterity.classification.base import Classifier
from posterity.models.tested_model import TestedModel
from posterity.trees.boosting import rounds, training
from posterity.trees.boosting.catalogue import MOST_OFFSETS
from posterity.trees.boosting.steps import Steps
from posterity.trees.families import columns, family

_SELECTIONS = ("one_step", "full")


class LogitBoostClassifier(TestedModel, Classifier):
    """A sum of step functions, each the best addition to those before it.  [P9 9.7.1]

    The latent value of a row is a constant and ``n_rounds`` steps, and its sigmoid the probability
    of the second class. Each step takes one value where a test answers at most a threshold, and
    another where it answers more. Tests and thresholds are from a predefined set. Several classes
    share the steps, but each has values of its own, and the softmax gives probabilities.

    A missing value (NaN) may go to either side of a threshold, whichever tells more: a column of
    which values are missing has one test that takes them for the largest and one that takes them
    for the smallest, and a threshold of each parts them from all others.

    This is a plug-in model: the steps are those that fit best, given the ones before them, under a
    normal prior of each side's value that is worth one row: it keeps values finite where a side
    holds one class only, and on small sets less of it fits chance. Sums of steps do not
    interpolate: far from the rows a step goes on for ever. Held-out rows can choose the number of
    rounds.

    A round of N rows and J tests takes time N J, and where there are C > 2 classes N (J + C) C, or
    N J C beyond 50 classes, whose values are then found to a thousandth only. Training holds N J
    bytes, and two numbers for each row and class.

    Parameters
    ----------
    tests : Family, optional
        What weak classifiers look at, one of :mod:`posterity.trees`. None: single columns.
    n_rounds : int, default=200
        The most steps.
    learning_rate : float, default=0.5
        What part of the best values is added, > 0 and at most 1. One is the textbook's; less needs
        more rounds, and fits chance less: take 0.3 where held-out rows choose from many rounds.
    selection : {"one_step", "full"}, default="one_step"
        How the best weak classifier is found: by what one Newton step gains, or by optimising the
        values of every single one, which is slow, for small sets.
    n_tests : int, optional
        How many tests to draw, once, at random. None: all there are, in a family that has an end.
    n_offsets : int, default=254
        The most thresholds of each test, evenly among its answers; single columns always have 254.
    validation_fraction : float, optional
        Part of the rows of each class that is held out first, to see after how many rounds their
        log score is best; then all rows are used for so many rounds.
    patience : int, default=30
        How many rounds without a better score there are before that search ends.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    random_state : int, Generator, RandomState or None, default=None
        Draws tests and the rows that are held out. Without either, nothing is left to chance.

    Attributes
    ----------
    classes_ : array of shape (C,)
        The classes.
    steps_ : Steps
        ``offset`` (L,), ``tests`` (R, P), ``thresholds`` (R,), ``values`` (R, 2, L) on either side
        and ``gains`` (R,) in nats; L is 1 for two classes, and otherwise C.
    offset_ : array of shape (L,)
        The latent values before the first step: those of the class frequencies.
    tests_ : Family
        The tests, fitted.
    log_likelihoods_ : array of shape (1 + R,)
        Of the training rows by the constant alone, and after each round. It rises.
    validation_scores_ : array or None
        The mean log-probability of a held-out row by the constant alone, and after each round.
    n_rounds_ : int
        R.
    column_gain_ : array of shape (D,), or None
        Nats of log-likelihood that steps on each column brought; None if tests are not of columns.
    stop_reason_ : str
        Why there are no more rounds.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import LogitBoostClassifier
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> y = np.hypot(X[:, 0], X[:, 1]) < 1.0
    >>> model = LogitBoostClassifier(n_rounds=40).fit(X, y)
    >>> model.predict([[0.0, 0.5], [1.5, 1.5]])
    array([ True, False])
    >>> len(model.truncated(10).steps_)
    10
    """

    validation_scores_: Array | None

    def __init__(
        self,
        tests: family.Family | None = None,
        n_rounds: int = 200,
        *,
        learning_rate: float = 0.5,
        selection: str = "one_step",
        n_tests: int | None = None,
        n_offsets: int = MOST_OFFSETS,
        validation_fraction: float | None = None,
        patience: int = 30,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.tests = tests
        self.n_rounds = n_rounds
        self.learning_rate = learning_rate
        self.selection = selection
        self.n_tests = n_tests
        self.n_offsets = n_offsets
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D)
            Inputs, where NaN is a missing value; or rows of any kind that ``tests`` takes.
        y : array-like of shape (N,)
            Classes.
        sample_weight : array-like of shape (N,), optional
            How often each row counts: an integer weight equals repeating the row.
        """
        options = self._options()
        rows = self._check_rows(X, reset=True)
        weights = validation.check_repetitions(sample_weight, len(rows))
        codes = self._learn_classes(y, len(rows), weights)
        counts = np.ones(len(rows)) if weights is None else weights
        rng = arrays.generator(self.random_state)
        found = training.fit(self._family(), rows, codes, counts, options, rng)
        self.tests_, self.validation_scores_ = found.family, found.scores
        self.stop_reason_ = found.boosted.stop_reason
        self._adopt(found.boosted.steps, found.boosted.log_likelihood)
        return self

    def check_consistency(self) -> None:
        """Raise ValueError where steps are not such that rows as they are taken can answer."""
        steps = vars(self).get("steps_")
        if steps is None:
            return
        validation.require(isinstance(steps, Steps), "steps_ are no steps.")
        steps.check_consistency()
        self._check_learned(vars(self).get("tests_"), steps.tests)

    def predict_dist(self, X: Any) -> distributions.Discrete:
        """The predictive distribution of the class at each row."""
        return classes.at(self._latents(X))

    def activation(self, X: Any) -> Array:
        """The latent value of the second class, (n,), or of each of several, (n, C).  [P9 9.53]"""
        return _in_shape(self._latents(X))

    def staged_activation(self, X: Any) -> Iterator[Array]:
        """What ``activation`` would be after the first round, the second, and so on."""
        for A in self._staged_latents(X):
            yield _in_shape(A)

    def staged_predict_dist(self, X: Any) -> Iterator[distributions.Discrete]:
        """What ``predict_dist`` would be after the first round, the second, and so on."""
        for A in self._staged_latents(X):
            yield classes.at(A)

    def staged_predict_proba(self, X: Any) -> Iterator[Array]:
        """What ``predict_proba`` would be after the first round, the second, and so on."""
        for dist in self.staged_predict_dist(X):
            yield dist.probabilities()

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """What ``predict`` would be after the first round, the second, and so on."""
        for dist in self.staged_predict_dist(X):
            yield self.classes_[dist.mode()]

    def truncated(self, n_rounds: int) -> Self:
        """A fitted copy of the first rounds only: what a fit with so many gives.

        Parameters
        ----------
        n_rounds : int
            How many, from none to ``n_rounds_``.
        """
        check_is_fitted(self)
        validation.check_count(n_rounds, "n_rounds", least=0)
        if n_rounds > self.n_rounds_:
            raise ValueError(
                f"n_rounds={n_rounds} is more than the {self.n_rounds_} of this model."
            )
        other = copy.copy(self)
        other.stop_reason_ = f"cut to {n_rounds} of {self.n_rounds_} rounds"
        other._adopt(self.steps_.truncated(n_rounds), self.log_likelihoods_[: n_rounds + 1])
        return other

    def _latents(self, X: Any) -> Array:
        """Latent values (n, 1) or (n, C)."""
        check_is_fitted(self)
        rows = self._check_rows(X, reset=False)
        return self.steps_.latents(self.tests_, rows)

    def _staged_latents(self, X: Any) -> Iterator[Array]:
        check_is_fitted(self)
        rows = self._check_rows(X, reset=False)
        return self.steps_.staged(self.tests_, rows)

    def _adopt(self, steps: Steps, log_likelihoods: Array) -> None:
        """Publish a fit."""
        self.steps_, self.log_likelihoods_ = steps, log_likelihoods
        self.offset_, self.n_rounds_ = steps.offset, len(steps)
        self.column_gain_ = None
        if isinstance(self.tests_, columns.Columns):
            self.column_gain_ = np.bincount(
                self.tests_.columns_of(steps.tests),
                weights=steps.gains,
                minlength=self.n_features_in_,
            )

    def _options(self) -> training.Options:
        """The parameters, once they are checked."""
        for name in ("n_rounds", "n_offsets", "patience"):
            validation.check_count(getattr(self, name), name)
        if self.n_tests is not None:
            validation.check_count(self.n_tests, "n_tests")
        if self.n_offsets > MOST_OFFSETS:
            raise ValueError(f"n_offsets={self.n_offsets} must be at most {MOST_OFFSETS}.")
        if validation.check_positive(self.learning_rate, "learning_rate") > 1.0:
            raise ValueError(f"learning_rate={self.learning_rate} must be at most 1.")
        if self.selection not in _SELECTIONS:
            options = " or ".join(map(repr, _SELECTIONS))
            raise ValueError(f"selection={self.selection!r} must be {options}.")
        return training.Options(
            rounds.Rules(self.n_rounds, self.learning_rate, self.selection, self.patience),
            self.n_tests,
            self.n_offsets,
            _checked_fraction(self.validation_fraction),
            self.n_jobs,
        )


def _checked_fraction(part: Any) -> float | None:
    is_part = isinstance(part, numbers.Real) and 0.0 < float(part) < 1.0
    if part is not None and not is_part:
        raise ValueError(
            f"validation_fraction={part!r} must lie between 0 and 1; None holds out nothing."
        )
    return None if part is None else float(part)


def _in_shape(A: Array) -> Array:
    """One latent value for two classes, (n, 1), as (n,)."""
    return A[:, 0] if A.shape[1] == 1 else A
