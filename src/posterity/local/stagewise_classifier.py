"""Bernoulli or categorical likelihood x units found one by one x point estimate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

from numpy.typing import ArrayLike

from posterity import copies, distributions, models, page_forms, validation
from posterity.local import Stages
from posterity.local.stagewise_model import StagewiseModel
from posterity.models import Member, ModelCard, classes
from posterity.models.classifier import CLASS_DISTRIBUTION, StagedClassifier
from posterity.page_forms import Form


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
    n_units : int, default=20
        Maximum number of units. The fit ends earlier when no unit gains a thousandth of a nat.
    units : {"arctan", "radial"}, default="arctan"
        Smooth steps, arctan(a'x + b), or radial bumps, exp(-r^2 / 2 l^2) around a centre.
    n_restarts : int, default=4
        Number of further searches at each stage. Each starts from the best of 63 random units,
        ranked by one Newton step of their weights.
    validation_fraction : float, optional
        Fraction of the rows of each class that is held out at a time, at most half, to choose the
        number of units, from 0 to ``n_units``: the least within one standard error of the best
        log score. That many are then fitted to all rows. None: all ``n_units``.
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
    coef_ : array of shape (1, K) or (C, K)
        Weights of the units: for the second of two classes, or for each class.
    intercept_ : array of shape (1,) or (C,)
        The constant.
    log_likelihoods_ : array of shape (K + 1,)
        Log-likelihood of the training rows for the constant, and after each unit. It increases.
    validation_scores_ : array or None
        Mean log probability of the class of a held-out row for the constant, and after each unit.
    n_iter_ : int
        Number of iterations of the searches that were kept.
    stop_reason_ : str
        Why the fit ended.
    at_bounds_ : tuple of str
        Parameters that ended at a bound of their search, and which bound.

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
        space = {"kind": "none"} if self.units_ is None else page_forms.form_columns(self.units_)
        latent = page_forms.form_weights(self.coef_, self.intercept_)
        return page_forms.form_linear(space, latent, classes.POINT_FORM)

    def _adopt(self, stages: Stages) -> None:
        super()._adopt(stages)
        self.coef_ = stages.weights.T
        self.intercept_ = stages.steps[-1].offset
