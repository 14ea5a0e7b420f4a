"""Bernoulli or categorical likelihood x steps found one by one x point estimate."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, copies, distributions, models, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.models import Member, ModelCard, classes
from posterity.models.classifier import CLASS_DISTRIBUTION, StagedClassifier
from posterity.page_forms import Form
from posterity.trees.boosting import rounds
from posterity.trees.boosting.catalogue import MOST_OFFSETS
from posterity.trees.boosting.steps import Steps
from posterity.trees.estimators import boosting_plan, split_model

_SELECTIONS = ("one_step", "full")


@declare_parameters
class LogitBoostClassifier(split_model.AdditiveModel, StagedClassifier):
    """Boosted step functions for classification: LogitBoost.  [P9 9.7.1]

    The latent value of a row is a constant plus ``n_estimators`` steps, and its sigmoid is the
    probability of the second class. A step has one value where a test is at most a threshold and
    another value where it is larger; tests and thresholds come from a predefined set. With more
    than two classes all classes share the steps, each has its own values, and the softmax gives the
    probabilities.

    Missing values (NaN) are accepted. A column that has some is tested twice, once with missing
    values as the largest and once as the smallest, so each step sends them to the side where they
    predict better.

    This is a plug-in model. Each step is the best addition to the steps before it, under a normal
    prior on its values that is worth one row, which keeps the values finite where one side holds a
    single class. Far from the rows the outermost step continues unchanged. Held-out rows can choose
    the number of rounds.

    A round with N rows and J tests takes time N J; with C > 2 classes N (J + C) C, or N J C beyond
    50 classes, where values are computed to three digits only. Training holds N J bytes, and two
    numbers for each row and class.

    Parameters
    ----------
    n_estimators : int, default=200
        Maximum number of rounds, each of which adds one step.
    splits : Family, optional
        Which tests the steps may use: a family of :mod:`posterity.trees`. None: values of single
        columns.
    learning_rate : float, default=0.5
        Fraction of the optimal step values that is added, > 0 and at most 1. 1 is the textbook's;
        a smaller one needs more rounds and overfits less: use 0.3 when held-out rows choose from
        many rounds.
    selection : {"one_step", "full"}, default="one_step"
        How the best step is found: by the gain of one Newton step, or by optimizing the values of
        every candidate, which is slow and for small data sets.
    max_features : int, optional
        Number of tests drawn at random, once, before the first round. None: all tests of a finite
        family.
    resample_features : bool, default=False
        Whether ``max_features`` tests are drawn anew in every round: for families with millions of
        tests. A round then holds one byte per row and test.
    n_thresholds : int, default=254
        Maximum number of thresholds of a test, at quantiles of its values; single columns always
        have up to 254.
    validation_fraction : float, optional
        Fraction of the rows of each class that is held out to find the number of rounds with the
        best log score; all rows are then used for that many rounds.
    n_iter_no_change : int, default=30
        Number of rounds without improvement after which that search ends.
    warm_start : bool, default=False
        Whether ``fit`` adds rounds to those of the last fit, up to ``n_estimators`` in all. The
        classes must be the same; the rows need not.
    n_jobs : int, optional
        Number of threads. The result does not depend on it.
    random_state : int, Generator, RandomState or None, default=None
        Seed for drawing tests and held-out rows. The fit is deterministic without either.

    Attributes
    ----------
    classes_ : array of shape (C,)
        Class labels, sorted.
    steps_ : Steps
        ``offset`` (L,), ``tests`` (R, P), ``thresholds`` (R,), ``values`` (R, 2, L) on the two
        sides and ``gains`` (R,) in nats; L is 1 for two classes, otherwise C.
    offset_ : array of shape (L,)
        Latent values before the first step: those of the class frequencies.
    splits_ : Family
        The family of tests, fitted.
    log_likelihoods_ : array of shape (1 + R,)
        Log-likelihood of the training rows for the constant, and after each round. It increases.
    validation_scores_ : array or None
        Mean log probability of the class of a held-out row for the constant, and after each round.
    n_estimators_ : int
        R, the number of rounds.
    column_gain_ : array of shape (D,) or None
        Gain in log-likelihood, in nats, of the steps on each column. None for other families.
    stop_reason_ : str
        Why the fit ended.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import LogitBoostClassifier
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> y = np.hypot(X[:, 0], X[:, 1]) < 1.0
    >>> model = LogitBoostClassifier(40).fit(X, y)
    >>> model.predict_proba([[0.0, 0.5], [1.5, 1.5]]).round(3)
    array([[0.022, 0.978],
           [1.   , 0.   ]])
    >>> model.feature_importances_.round(2), len(model.truncate(10).steps_)
    (array([0.49, 0.51]), 10)
    """

    n_estimators: int = field(default=200, kw_only=False)
    learning_rate: float = 0.5
    selection: str = "one_step"
    max_features: int | None = None
    n_thresholds: int = MOST_OFFSETS
    validation_fraction: float | None = None
    n_iter_no_change: int = 30
    resample_features: bool = False
    warm_start: bool = False
    n_jobs: int | None = None
    random_state: Any = None

    card = ModelCard(
        likelihood="Bernoulli, categorical",
        prior="weak normal",
        feature_space="steps, added one by one",
        inference="stagewise, most probable",
        advice="a fast sum of steps; many columns",
        page="trees",
        candidates=(Member("boosted", 110, "N D a round", {"n_estimators": 100}, usual_rows=1e5),),
    )

    steps_: Steps = field(init=False)

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        activation: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D)
            Inputs, where NaN is a missing value; or rows of any kind that ``splits`` takes.
        y : array-like of shape (N,)
            Classes.
        sample_weight : array-like of shape (N,), optional
            How often each row counts: an integer weight equals repeating the row.
        activation : array-like of shape (N,), or (N, C) for C > 2 classes, optional
            Latent values of the rows at which the fit starts, such as the activation of another
            model. ``offset_`` is then zero, and predictions are without these values.
        """
        options = self._check_options()
        before = self._find_earlier_steps(activation)
        rows = self._check_rows(X, reset=before is None)
        weights = validation.check_repetitions(sample_weight, len(rows))
        codes = self._learn_classes(y, len(rows), weights)
        weights = copies.weigh_copies_once(rows, codes, weights, is_class=True)
        counts = np.ones(len(rows)) if weights is None else weights
        rng = arrays.generator(self.random_state)
        if before is not None:
            self._add_rounds(before, rounds.GivenRows(rows, codes, counts), options, rng)
            return self
        start = split_model.check_activation(
            activation, split_model.shape_latents(len(rows), len(self.classes_))
        )
        given = rounds.GivenRows(rows, codes, counts, start)
        self.splits_, found = rounds.fit_boosted_steps(self._family(), given, options, rng)
        self._adopt_fit(found, found.steps, found.log_likelihood)
        return self

    def _find_earlier_steps(self, activation: Any) -> Self | None:
        """The fit that a warm start goes on from; None where it begins."""
        before = self._find_earlier_fit()
        if before is None:
            return None
        if activation is not None:
            raise ValueError("warm_start goes on where the last fit ended; leave out activation.")
        if self.n_estimators < self.n_estimators_:
            raise ValueError(
                f"n_estimators={self.n_estimators} is less than the {self.n_estimators_} rounds of "
                "the last fit; use truncate, or set warm_start=False to fit anew."
            )
        return before

    def _add_rounds(
        self,
        before: Self,
        given: rounds.GivenRows,
        options: rounds.BoostingOptions,
        rng: np.random.Generator,
    ) -> None:
        """Add the rounds that are still missing."""
        split_model.require_same_classes(self.classes_, before.classes_)
        n_rounds = self.n_estimators - len(before.steps_)
        if n_rounds == 0:
            return
        start = before.steps_.latents(self.splits_, given.rows)
        options = replace(options, rules=replace(options.rules, n_rounds=n_rounds), is_fitted=True)
        given = replace(given, start=start)
        _, found = rounds.fit_boosted_steps(self.splits_, given, options, rng)
        likelihoods = np.concatenate([before.log_likelihoods_, found.log_likelihood[1:]])
        self._adopt_fit(found, before.steps_.extend(found.steps), likelihoods)

    def _adopt_fit(self, found: rounds.BoostedSteps, steps: Steps, log_likelihoods: Array) -> None:
        self.validation_scores_, self.stop_reason_ = found.scores, found.stop_reason
        self._adopt(steps, log_likelihoods)

    def check_consistency(self) -> None:
        """Raise ValueError where steps are not such that rows as they are taken can answer."""
        steps = vars(self).get("steps_")
        if steps is None:
            return
        validation.require(isinstance(steps, Steps), "steps_ must be boosted steps.")
        steps.check_consistency()
        self._check_learned(vars(self).get("splits_"), steps.tests)

    @models.answer_lazily(CLASS_DISTRIBUTION)
    def predict_dist(self, X: Any) -> distributions.Discrete:
        """The predictive distribution of the class at each row."""
        return classes.predict_at_latents(self._latents(X))

    @models.refuse_partitions
    def activation(self, X: Any) -> Array:
        """The latent value of the second class, (n,), or of each of several, (n, C).  [P9 9.53]"""
        return split_model.squeeze_two_classes(self._latents(X))

    @models.refuse_partitions
    def staged_activation(self, X: Any) -> Iterator[Array]:
        """Yield ``activation`` after the first round, the second, and so on."""
        for A in self._staged_latents(X):
            yield split_model.squeeze_two_classes(A)

    @models.refuse_partitions
    def staged_predict_dist(self, X: Any) -> Iterator[distributions.Discrete]:
        """Yield ``predict_dist`` after the first round, the second, and so on."""
        for A in self._staged_latents(X):
            yield classes.predict_at_latents(A)

    def _keep_rounds(self, n_rounds: int) -> None:
        self._adopt(self.steps_.truncate(n_rounds), self.log_likelihoods_[: n_rounds + 1])

    def page_form(self) -> Form:
        """Return the form from which a page computes the prediction."""
        return self.steps_.page_form(self.splits_.tested_columns())

    def _latents(self, X: Any) -> Array:
        """Latent values (n, 1) or (n, C)."""
        check_is_fitted(self)
        rows = self._check_rows(X, reset=False)
        return self.steps_.latents(self.splits_, rows)

    def _staged_latents(self, X: Any) -> Iterator[Array]:
        check_is_fitted(self)
        rows = self._check_rows(X, reset=False)
        return self.steps_.staged_latents(self.splits_, rows)

    def _adopt(self, steps: Steps, log_likelihoods: Array) -> None:
        """Publish a fit."""
        self.steps_, self.log_likelihoods_ = steps, log_likelihoods
        self.offset_, self.n_estimators_ = steps.offset, len(steps)
        self._count_gains(self.splits_, steps.tests, steps.gains)

    def _check_options(self) -> rounds.BoostingOptions:
        """The parameters, once they are checked."""
        for name in ("n_estimators", "n_thresholds", "n_iter_no_change"):
            validation.check_count(getattr(self, name), name)
        if self.max_features is not None:
            validation.check_count(self.max_features, "max_features")
        if self.n_thresholds > MOST_OFFSETS:
            raise ValueError(f"n_thresholds={self.n_thresholds} must be at most {MOST_OFFSETS}.")
        boosting_plan.check_fraction(self.learning_rate, "learning_rate")
        if self.resample_features and self.max_features is None:
            raise ValueError(
                "resample_features=True draws max_features tests in every round; set max_features."
            )
        if self.selection not in _SELECTIONS:
            options = " or ".join(map(repr, _SELECTIONS))
            raise ValueError(f"selection={self.selection!r} must be {options}.")
        return rounds.BoostingOptions(
            rounds.BoostingRules(
                self.n_estimators, self.learning_rate, self.selection, self.n_iter_no_change
            ),
            self.max_features,
            bool(self.resample_features),
            self.n_thresholds,
            _check_fraction(self.validation_fraction),
            self.n_jobs,
        )


def _check_fraction(part: Any) -> float | None:
    is_part = isinstance(part, numbers.Real) and 0.0 < float(part) < 1.0
    if part is not None and not is_part:
        raise ValueError(
            f"validation_fraction={part!r} must lie between 0 and 1; None holds out nothing."
        )
    return None if part is None else float(part)
