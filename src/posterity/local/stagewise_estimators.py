"""Any likelihood x units found one by one x point estimate: of classes, and of numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from posterity import copies, distributions, likelihoods, models, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.local import Stages, StagewiseStep
from posterity.local.stagewise_model import StagewiseModel
from posterity.models import Member, ModelCard, classes
from posterity.models.classifier import CLASS_DISTRIBUTION, StagedClassifier
from posterity.models.regressor import DISTRIBUTION, ExposedRegressor
from posterity.page_forms import Form


@declare_parameters
class StagewiseClassifier(StagewiseModel, StagedClassifier):
    """Nonlinear logistic regression built one unit at a time.  [P9 Sec 9.7]

    The activation is a constant plus a weighted sum of units, which are smooth steps in any
    direction or radial bumps. Each stage adds the most probable unit, weight and constant given the
    earlier units, which stay fixed. The most informative units come first, so the sum can be cut
    short with ``truncate`` or ``validation_fraction``. Two classes use one latent value; with more
    classes a softmax, in which each class has its own weights for the same units.

    This is a plug-in model: predictions do not average over the uncertainty of the units. Weak
    priors keep the weights finite when the classes are separable.

    Parameters
    ----------
    validation_fraction : float, optional
        Fraction of the rows of each class that is held out at a time, at most half, to choose the
        number of units, from 0 to ``n_units``: the least within one standard error of the best
        log score. That many are then fitted to all rows. None: all ``n_units``.

    Attributes
    ----------
    coef_ : array of shape (1, K) or (C, K)
        Weights of the units: for the second of two classes, or for each class.
    intercept_ : array of shape (1,) or (C,)
        The constant.
    validation_scores_ : array or None
        Mean log probability of the class of a held-out row for the constant, and after each unit.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import StagewiseClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = np.hypot(X[:, 0], X[:, 1]) < 1.0  # not linearly separable
    >>> model = StagewiseClassifier(3, units="radial", random_state=0).fit(X, y)
    >>> model.predict_proba([[0.0, 0.5], [1.0, 1.0]]).round(3)
    array([[0.001, 0.999],
           [0.988, 0.012]])
    >>> [p[0].round(3).tolist() for p in model.staged_predict_proba([[0.0, 0.5]])]
    [[0.021, 0.979], [0.003, 0.997], [0.001, 0.999]]
    """

    card = ModelCard(
        likelihood="Bernoulli, categorical",
        prior="weak normal",
        feature_space="hidden units, added one by one",
        inference="stagewise, most probable",
        advice="a small, fast model of a curved boundary",
        page="trees",
        candidates=(
            Member(
                "units",
                130,
                "N D a unit and iteration",
                {"n_units": 10, "n_restarts": 0, "validation_fraction": 0.2},
                usual_rows=2e5,
            ),
        ),
    )

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D)
            Inputs.
        y : array-like of shape (N,)
            Classes.
        sample_weight : array-like of shape (N,), optional
            Number of repetitions of each row: an integer weight equals repeating the row.
        """
        self._check_parameters()
        rows = validation.check_X(self, X, reset=True)
        weights = validation.check_repetitions(sample_weight, len(rows))
        codes = self._learn_classes(y, len(rows), weights)
        weights = copies.weigh_copies_once(rows, codes, weights, is_class=True)
        likelihood = classes.likelihood_of_classes(len(self.classes_))
        return self._fit_stages(rows, codes, weights, likelihood, by_target=True)

    @models.answer_lazily(CLASS_DISTRIBUTION)
    def predict_dist(self, X: ArrayLike) -> distributions.Discrete:
        """The predictive distribution of the class at each row."""
        return classes.predict_at_latents(self._compute_latents(X))

    @models.refuse_partitions
    def staged_predict_dist(self, X: ArrayLike) -> Iterator[distributions.Discrete]:
        """Yield the answer of ``predict_dist`` after the first unit, the second, and so on."""
        for _, A in self._iterate_units(X):
            yield classes.predict_at_latents(A)

    def page_form(self) -> Form:
        """Return the form from which a page computes the prediction."""
        return self._form_units(classes.POINT_FORM)

    def _adopt(self, stages: Stages) -> None:
        super()._adopt(stages)
        self.coef_ = stages.weights.T
        self.intercept_ = stages.steps[-1].offset


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
    likelihood : Likelihood, optional
        A value of :mod:`posterity.likelihoods`, such as ``Poisson()`` for counts. Parameters that
        are None are learned. None: normal noise with a learned variance.
    validation_fraction : float or None, default=0.2
        Fraction of the rows that is held out at a time, at most half, to choose the number of
        units, from 0 to ``n_units``: the least within one standard error of the best log score.
        That many are then fitted to all rows. None: all ``n_units``, and noise as the training
        rows have it, which underestimates it when rows are few.

    Attributes
    ----------
    coef_ : array of shape (K,)
        Weights of the units.
    intercept_ : float
        The constant.
    likelihood_ : Likelihood
        The likelihood with all parameters given or learned.
    validation_scores_ : array or None
        Mean log density of a held-out row for the constant, and after each unit.

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
            yield models.find_center(dist)

    @property
    def noise_degrees_of_freedom(self) -> float:
        """Held-out rows that told the variance of normal noise; infinite where none did."""
        given = None if self.likelihood is None else getattr(self.likelihood, "noise_variance", 0.0)
        n_rows = self._stages.n_validated
        return n_rows if given is None and n_rows > 0.0 else np.inf

    def page_form(self) -> Form:
        """Return the form from which a page computes the prediction."""
        answer, nu = self.likelihood_.point_form(), self.noise_degrees_of_freedom
        if np.isfinite(nu):
            answer = {"kind": "student_t", "freedom": nu, "unit": 0.0, "noise": answer["noise"]}
        return self._form_units(answer)

    def _predict_at(self, likelihood: likelihoods.Likelihood, a: Array) -> distributions.Univariate:
        """The distribution at latent values: Student-t if normal noise is learned."""
        nu = self.noise_degrees_of_freedom
        if isinstance(likelihood, likelihoods.Normal) and np.isfinite(nu):
            return distributions.StudentT(a, float(likelihood.noise_variance) ** 0.5, nu)  # type: ignore[arg-type]
        return likelihood.predict(a, 0.0)

    def _adopt(self, stages: Stages) -> None:
        super()._adopt(stages)
        self.coef_ = stages.weights[:, 0]
        self.intercept_ = float(stages.steps[-1].offset[0])
        self.likelihood_ = _univariate(stages.steps[-1])


def _univariate(step: StagewiseStep) -> likelihoods.Likelihood:
    """The likelihood of a step of this model, which couples no latent values."""
    assert isinstance(step.likelihood, likelihoods.Likelihood)
    return step.likelihood


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
