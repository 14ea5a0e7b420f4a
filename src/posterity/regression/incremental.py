"""Any likelihood x units found one by one x point estimate: IncrementalRegressor."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from posterity import distributions, likelihoods, validation
from posterity.arrays import Array
from posterity.inference.local import Stages, Step
from posterity.models.incremental_model import IncrementalModel
from posterity.regression.base import Regressor


class IncrementalRegressor(IncrementalModel, Regressor):
    """Nonlinear regression, built of one unit after another, with any likelihood.  [P9 Sec 9.7]

    The latent value is a constant plus a weighted sum of units: steps in any direction, or bumps.
    At each stage the unit, its weight and the constant are the most probable ones given the units
    before it, which are not moved again. The most telling units come first, so that the sum may be
    cut short: ``truncated``, or ``validation_fraction``.

    This is a plug-in model: predictions do not average over what else the units could be. What the
    likelihood leaves open, such as the variance of the noise, is set after each unit to what makes
    the training rows most likely; with many units and few rows that would be too little noise, and
    so the number of units is chosen by rows held out, unless it is told otherwise.

    Parameters
    ----------
    n_units : int, default=20
        How many, at most: stages end where no unit gains a thousandth of a nat.
    units : {"arctan", "radial"}, default="arctan"
        Steps, arctan(a'x + b), or bumps, exp(-r^2 / 2 l^2) about a centre.
    likelihood : Likelihood, optional
        A value of :mod:`posterity.likelihoods`, such as ``Poisson()`` for counts. Its parameters
        that are None are learned. None: normal noise, whose variance is learned.
    n_restarts : int, default=4
        Further searches at each stage. Each begins at the best of 63 units at random, judged by a
        Newton step of their weights.
    validation_fraction : float, optional, default=0.2
        Hold out this part of the rows, take the number of units, from none to ``n_units``, that
        predicts them best, and fit so many to all rows. None: all ``n_units``, whose noise is
        learned too small where rows are few.
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
    coef_ : array of shape (K,)
        Their weights.
    intercept_ : float
        The constant.
    likelihood_ : Likelihood
        With every parameter set or learned.
    log_likelihoods_ : array of shape (K + 1,)
        Of the training rows by the constant alone, and after each unit. It rises.
    validation_scores_ : array or None
        The mean log-density of a held-out row by the constant alone, and after each unit.
    n_iter_ : int
        Iterations of the searches that were kept.
    stop_reason_ : str
        Why there are no more units.
    at_bounds_ : tuple of str
        Parameters that ended at a bound of their search, and which bound.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import IncrementalRegressor
    >>> X = np.linspace(-3.0, 3.0, 100)[:, None]
    >>> y = np.exp(-0.5 * (X[:, 0] - 1.0) ** 2 / 0.25)
    >>> model = IncrementalRegressor(1, units="radial", random_state=0).fit(X, y)
    >>> model.predict([[1.0], [-2.0]]).round(3) + 0.0
    array([1., 0.])
    """

    likelihood_: likelihoods.Likelihood

    def __init__(
        self,
        n_units: int = 20,
        *,
        units: str = "arctan",
        likelihood: likelihoods.Likelihood | None = None,
        n_restarts: int = 4,
        validation_fraction: float | None = 0.2,
        max_iter: int = 3000,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_units = n_units
        self.units = units
        self.likelihood = likelihood
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
            Targets.
        sample_weight : array-like of shape (N,), optional
            How often each row counts: an integer weight equals repeating the row.
        """
        self._check_parameters()
        likelihood = _checked(self.likelihood)
        rows, targets = validation.check_X_y(self, X, y, min_rows=2, multi_output=False)
        weights = validation.check_repetitions(sample_weight, len(rows))
        likelihood.check(targets)
        return self._fit_stages(rows, targets, weights, likelihood, by_target=False)

    def predict_dist(self, X: ArrayLike) -> distributions.Univariate:
        """The predictive distribution of the target at each row of X."""
        a = self._latents(X)[:, 0]
        return self.likelihood_.predict(a, 0.0)

    def staged_predict_dist(self, X: ArrayLike) -> Iterator[distributions.Univariate]:
        """What ``predict_dist`` would be after the first unit, the second, and so on."""
        for step, A in self._after_each_unit(X):
            yield _univariate(step).predict(A[:, 0], 0.0)

    def staged_predict(self, X: ArrayLike) -> Iterator[Array]:
        """What ``predict`` would be after the first unit, the second, and so on."""
        for dist in self.staged_predict_dist(X):
            yield _mean(dist)

    def _predict_mean(self, X: ArrayLike) -> Array:
        return _mean(self.predict_dist(X))

    def _adopt(self, stages: Stages) -> None:
        super()._adopt(stages)
        self.coef_ = stages.weights[:, 0]
        self.intercept_ = float(stages.steps[-1].offset[0])
        self.likelihood_ = _univariate(stages.steps[-1])


def _univariate(step: Step) -> likelihoods.Likelihood:
    """The likelihood of a step of this model, which couples no latent values."""
    assert isinstance(step.likelihood, likelihoods.Likelihood)
    return step.likelihood


def _mean(dist: distributions.Univariate) -> Array:
    """The mean, or where tails are too heavy for one, the centre."""
    mean = dist.mean()
    return dist.icdf(0.5) if np.isnan(mean).any() else mean


def _checked(likelihood: Any) -> likelihoods.Likelihood:
    """A likelihood of one latent value, the same for all rows; normal where none is given."""
    if likelihood is None:
        return likelihoods.Normal()
    if not isinstance(likelihood, likelihoods.Likelihood):
        raise ValueError(
            f"likelihood={likelihood!r} must be a value of posterity.likelihoods with one latent "
            "value, such as Poisson(), or None for normal noise."
        )
    for field in dataclasses.fields(likelihood):
        if np.ndim(getattr(likelihood, field.name)):
            raise ValueError(
                f"likelihood has a {field.name} for each row; give one number, or None to learn it."
            )
    return likelihood
