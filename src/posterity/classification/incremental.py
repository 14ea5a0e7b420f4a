"""Bernoulli or categorical likelihood x units found one by one x point estimate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

from numpy.typing import ArrayLike, NDArray

from posterity import distributions, validation
from posterity.arrays import Array
from posterity.classification import classes
from posterity.classification.base import Classifier
from posterity.inference.local import Stages
from posterity.models.incremental_model import IncrementalModel


class IncrementalClassifier(IncrementalModel, Classifier):
    """Nonlinear logistic regression, built of one unit after another.  [P9 Sec 9.7]

    The activation is a constant plus a weighted sum of units: steps in any direction, or bumps. At
    each stage the unit, its weight and the constant are the most probable ones given the units
    before it, which are not moved again. The most telling units come first, so that the sum may be
    cut short: ``truncated``, or ``validation_fraction``. Two classes use one latent value, more of
    them a softmax in which each class weighs the same units differently.

    This is a plug-in model: predictions do not average over what else the units could be. Priors
    are weak, and keep the weights finite where classes can be told apart without error.

    Parameters
    ----------
    n_units : int, default=20
        How many, at most: stages end where no unit gains a thousandth of a nat.
    units : {"arctan", "radial"}, default="arctan"
        Steps, arctan(a'x + b), or bumps, exp(-r^2 / 2 l^2) about a centre.
    n_restarts : int, default=4
        Further searches at each stage. Each begins at the best of 63 units at random, judged by a
        Newton step of their weights.
    validation_fraction : float, optional
        Hold out this part of the rows of each class, take the number of units, from none to
        ``n_units``, that predicts them best, and fit so many to all rows. None: all ``n_units``.
    max_iter : int, default=3000
        Largest number of iterations of a search.
    n_jobs : int, optional
        How many searches at a time.
    random_state : int, Generator, RandomState or None, default=None
        Draws units, and rows to hold out. The first units do not depend on ``n_units``.

    Attributes
    ----------
    n_units_ : int
        How many there are, K.
    units_ : Learned or None
        They, as a transformer to ``n_units_`` columns; None where there is none.
    coef_ : array of shape (1, K) or (C, K)
        Their weights: for the second class of two, or for each class.
    intercept_ : array of shape (1,) or (C,)
        The constant.
    log_likelihoods_ : array of shape (K + 1,)
        Of the training rows by the constant alone, and after each unit. It rises.
    validation_scores_ : array or None
        The mean log-probability of a held-out row by the constant alone, and after each unit.
    n_iter_ : int
        Iterations of the searches that were kept.
    stop_reason_ : str
        Why there are no more units.
    at_bounds_ : tuple of str
        Parameters that ended at a bound of their search, and which bound.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import IncrementalClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = np.hypot(X[:, 0], X[:, 1]) < 1.0  # no line parts these
    >>> model = IncrementalClassifier(3, units="radial", random_state=0).fit(X, y)
    >>> model.predict([[0.0, 0.5], [1.0, 1.0]])
    array([ True, False])
    >>> [p.shape for p in model.staged_predict_proba(X)]
    [(200, 2), (200, 2), (200, 2)]
    """

    def __init__(
        self,
        n_units: int = 20,
        *,
        units: str = "arctan",
        n_restarts: int = 4,
        validation_fraction: float | None = None,
        max_iter: int = 3000,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_units = n_units
        self.units = units
        self.n_restarts = n_restarts
        self.validation_fraction = validation_fraction
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D)
            Inputs.
        y : array-like of shape (N,)
            Classes.
        sample_weight : array-like of shape (N,), optional
            How often each row counts: an integer weight equals repeating the row.
        """
        self._check_parameters()
        rows = validation.check_X(self, X, reset=True)
        weights = validation.check_repetitions(sample_weight, len(rows))
        codes = self._learn_classes(y, len(rows), weights)
        likelihood = classes.likelihood_of(len(self.classes_))
        return self._fit_stages(rows, codes, weights, likelihood, by_target=True)

    def predict_dist(self, X: ArrayLike) -> distributions.Discrete:
        """The predictive distribution of the class at each row."""
        return classes.at(self._latents(X))

    def staged_predict_dist(self, X: ArrayLike) -> Iterator[distributions.Discrete]:
        """What ``predict_dist`` would be after the first unit, the second, and so on."""
        for _, A in self._after_each_unit(X):
            yield classes.at(A)

    def staged_predict_proba(self, X: ArrayLike) -> Iterator[Array]:
        """What ``predict_proba`` would be after the first unit, the second, and so on."""
        for dist in self.staged_predict_dist(X):
            yield dist.probabilities()

    def staged_predict(self, X: ArrayLike) -> Iterator[NDArray[Any]]:
        """What ``predict`` would be after the first unit, the second, and so on."""
        for dist in self.staged_predict_dist(X):
            yield self.classes_[dist.mode()]

    def _adopt(self, stages: Stages) -> None:
        super()._adopt(stages)
        self.coef_ = stages.weights.T
        self.intercept_ = stages.steps[-1].offset
