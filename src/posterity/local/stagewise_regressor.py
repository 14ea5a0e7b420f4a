"""Any likelihood x units found one by one x point estimate: StagewiseRegressor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from posterity import copies, distributions, likelihoods, models, page_forms, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.local import Stages, StagewiseStep
from posterity.local.stagewise_model import StagewiseModel
from posterity.models import Member, ModelCard
from posterity.models.regressor import DISTRIBUTION, ExposedRegressor
from posterity.page_forms import Form


@declare_parameters
class StagewiseRegressor(StagewiseModel, ExposedRegressor):
    """Nonlinear regression built one unit at a time, with any likelihood.  [P9 Sec 9.7]

    The latent value is a constant plus a weighted sum of units, which are smooth steps in any
    direction or radial bumps. Each stage adds the most probable unit, weight and constant given the
    earlier units, which stay fixed. The most informative units come first, so the sum can be cut
    short with ``truncate`` or ``validation_fraction``.

    This is a plug-in model: predictions do not average over the uncertainty of the units. Rows are
    therefore held out in turn. They choose the number of units, and set parameters of the
    likelihood that are not given, such as the noise variance: about rows that the units have not
    seen, noise includes the errors of the units. Normal noise is predicted as a Student-t with one
    degree of freedom for each row that was held out.

    Parameters
    ----------
    n_units : int, default=20
        Maximum number of units. The fit ends earlier when no unit gains a thousandth of a nat.
    units : {"arctan", "radial"}, default="arctan"
        Smooth steps, arctan(a'x + b), or radial bumps, exp(-r^2 / 2 l^2) around a centre.
    likelihood : Likelihood, optional
        A value of :mod:`posterity.likelihoods`, such as ``Poisson()`` for counts. Parameters that
        are None are learned. None: normal noise with a learned variance.
    n_restarts : int, default=4
        Number of further searches at each stage. Each starts from the best of 63 random units,
        ranked by one Newton step of their weights.
    validation_fraction : float or None, default=0.2
        Fraction of the rows that is held out at a time, at most half, to choose the number of
        units, from 0 to ``n_units``: the least within one standard error of the best log score.
        That many are then fitted to all rows. None: all ``n_units``, and noise as the training
        rows have it, which underestimates it when rows are few.
    learning_rate : float, default=1
        Factor on each unit, above 0 and at most 1. With a factor of 0.1 the fit needs some hundred
        units and often predicts better, most of all if there are hundreds of columns.
    subsample : float, default=1
        Share of the rows, drawn anew for each unit, that its search looks at.
    max_iter : int, default=3000
        Maximum number of iterations of a search. Units with a small ``learning_rate`` need not be
        the most probable ones: 15 iterations are enough, fast, and guard against overfitting.
    n_jobs : int, optional
        Number of searches that run at the same time.
    random_state : int, Generator, RandomState or None, default=None
        Seed for drawing units and held-out rows. The first units do not depend on ``n_units``.

    Attributes
    ----------
    n_units_ : int
        K, the number of units.
    units_ : LearnedFeatures or None
        The units as a transformer to ``n_units_`` columns; None without units.
    coef_ : array of shape (K,)
        Weights of the units.
    intercept_ : float
        The constant.
    likelihood_ : Likelihood
        The likelihood with all parameters given or learned.
    log_likelihoods_ : array of shape (K + 1,)
        Log-likelihood of the training rows for the constant, and after each unit. It increases.
    validation_scores_ : array or None
        Mean log density of a held-out row for the constant, and after each unit.
    n_iter_ : int
        Number of iterations of the searches that were kept.
    stop_reason_ : str
        Why the fit ended.
    at_bounds_ : tuple of str
        Parameters that ended at a bound of their search, and which bound.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import StagewiseRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3.0, 3.0, size=(200, 1))
    >>> y = np.exp(-2.0 * (X[:, 0] - 1.0) ** 2) + 0.1 * rng.normal(size=200)
    >>> model = StagewiseRegressor(5, units="radial", random_state=0).fit(X, y)
    >>> mean, std = model.predict([[1.0], [-2.0]], return_std=True)
    >>> mean.round(2) + 0.0, std.round(2), model.n_units_
    (array([ 1.  , -0.02]), array([0.11, 0.11]), 1)
    """

    likelihood: likelihoods.Likelihood | None = None
    validation_fraction: float | None = 0.2

    card = ModelCard(
        likelihood="any",
        prior="weak normal",
        feature_space="hidden units, added one by one",
        inference="stagewise, most probable",
        advice="a small, fast model of a curved surface; any likelihood",
        page="trees",
        candidates=(
            Member(
                "units",
                210,
                "N D a unit and iteration",
                {"n_units": 10, "n_restarts": 0},
                likelihood="normal",
                advice="a small, fast model of a curved surface",
                usual_rows=2e4,
            ),
        ),
    )

    likelihood_: likelihoods.Likelihood = field(init=False)

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        exposure: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D)
            Inputs.
        y : array-like of shape (N,)
            Targets.
        sample_weight : array-like of shape (N,), optional
            Number of repetitions of each row: an integer weight equals repeating the row.
        exposure : array-like of shape (N,), optional
            Exposure of each count, such as hours, people or square metres; positive. What is
            learned is the rate of events in a unit of it. Only with a likelihood of counts.
        """
        self._check_parameters()
        likelihood = _check_likelihood(self.likelihood)
        rows, targets = validation.check_X_y(self, X, y, min_rows=2, multi_output=False)
        weights = validation.check_repetitions(sample_weight, len(rows))
        likelihood.check(targets)
        weights = copies.weigh_copies_once(rows, targets, weights)
        exposed = models.attach_exposure(likelihood, targets, exposure)
        return self._fit_stages(rows, exposed, weights, likelihood.bind(targets), by_target=False)

    @models.answer_lazily(DISTRIBUTION)
    def predict_dist(
        self, X: ArrayLike, *, exposure: ArrayLike | None = None
    ) -> distributions.Univariate:
        """The predictive distribution of the target at each row of X.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Query rows.
        exposure : float or array-like of shape (n,), optional
            Exposure of each new count. None: one, so that counts are rates. Only with a likelihood
            of counts.
        """
        a = self._compute_latents(X)[:, 0]
        a = models.add_exposure(self.likelihood_, a, exposure)
        return self._predict_at(self.likelihood_, a)

    @models.refuse_partitions
    def staged_predict_dist(
        self, X: ArrayLike, *, exposure: ArrayLike | None = None
    ) -> Iterator[distributions.Univariate]:
        """Yield the answer of ``predict_dist`` after the first unit, the second, and so on."""
        for step, A in self._iterate_units(X):
            likelihood = _univariate(step)
            a = models.add_exposure(likelihood, A[:, 0], exposure)
            yield self._predict_at(likelihood, a)

    @models.refuse_partitions
    def staged_predict(self, X: ArrayLike, *, exposure: ArrayLike | None = None) -> Iterator[Array]:
        """Yield the answer of ``predict`` after the first unit, the second, and so on."""
        for dist in self.staged_predict_dist(X, exposure=exposure):
            yield _mean_or_median(dist)

    @property
    def noise_degrees_of_freedom(self) -> float:
        """Held-out rows that told the variance of normal noise; infinite where none did."""
        given = None if self.likelihood is None else getattr(self.likelihood, "noise_variance", 0.0)
        n_rows = self._stages.n_validated
        return n_rows if given is None and n_rows > 0.0 else np.inf

    def page_form(self) -> Form:
        """Return the form from which a page computes the prediction."""
        space = {"kind": "none"} if self.units_ is None else page_forms.form_columns(self.units_)
        answer, nu = self.likelihood_.point_form(), self.noise_degrees_of_freedom
        if np.isfinite(nu):
            answer = {"kind": "student_t", "freedom": nu, "unit": 0.0, "noise": answer["noise"]}
        latent = page_forms.form_weights(self.coef_, self.intercept_)
        return page_forms.form_linear(space, latent, answer)

    def _predict_at(self, likelihood: likelihoods.Likelihood, a: Array) -> distributions.Univariate:
        """The distribution at latent values: Student-t if normal noise is learned."""
        nu = self.noise_degrees_of_freedom
        if isinstance(likelihood, likelihoods.Normal) and np.isfinite(nu):
            return distributions.StudentT(a, float(likelihood.noise_variance) ** 0.5, nu)  # type: ignore[arg-type]
        return likelihood.predict(a, 0.0)

    def _predict_mean(self, X: ArrayLike) -> Array:
        return _mean_or_median(self.predict_dist(X))

    def _adopt(self, stages: Stages) -> None:
        super()._adopt(stages)
        self.coef_ = stages.weights[:, 0]
        self.intercept_ = float(stages.steps[-1].offset[0])
        self.likelihood_ = _univariate(stages.steps[-1])


def _univariate(step: StagewiseStep) -> likelihoods.Likelihood:
    """The likelihood of a step of this model, which couples no latent values."""
    assert isinstance(step.likelihood, likelihoods.Likelihood)
    return step.likelihood


def _mean_or_median(dist: distributions.Univariate) -> Array:
    """The mean, or where tails are too heavy for one, the centre."""
    mean = dist.mean()
    return dist.icdf(0.5) if np.isnan(mean).any() else mean


def _check_likelihood(likelihood: Any) -> likelihoods.Likelihood:
    """A likelihood of one latent value, the same for all rows; normal where none is given."""
    if likelihood is None:
        return likelihoods.Normal()
    if not isinstance(likelihood, likelihoods.Likelihood):
        raise ValueError(
            f"likelihood={likelihood!r} must be a value of posterity.likelihoods with one latent "
            "value, such as Poisson(), or None for normal noise."
        )
    if likelihood.varies_by_row:
        raise ValueError(
            f"The parameters of {type(likelihood).__name__} must be one number for all rows."
        )
    return likelihood
