"""Classifiers whose linear experts are weighted by gates, and the mixture of such experts."""

from __future__ import annotations

import abc
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from posterity import arrays, copies, designs, distributions, models, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.inference import rows as equal_rows
from posterity.local import (
    ExpertMixture,
    ExpertsProblem,
    MixtureFit,
    fit_experts,
)
from posterity.models import FeatureModel, Member, ModelCard, classes
from posterity.models.classifier import CLASS_DISTRIBUTION, Classifier
from posterity.page_forms import Form


@declare_parameters
class GatedClassifier(FeatureModel, Classifier, abc.ABC):
    """Gates and experts that are linear in standardised features, at their most probable weights.

    A subclass finds the weights, and says what gates and experts predict together.

    Parameters
    ----------
    features : transformer, optional
        Feature space in which gates and experts are linear: one of :mod:`posterity.features` or any
        scikit-learn transformer. None: the columns themselves.
    prior_variance : float, default=10.0
        Prior variance of each weight, for columns scaled to unit standard deviation. It keeps the
        weights finite when gates or experts separate the rows perfectly.
    n_restarts : int, default=4
        Number of further searches, each from random weights; the best is kept.
    max_iter : int, default=1000
        Maximum number of iterations of a search.
    n_jobs : int, optional
        Number of searches that run at the same time.
    random_state : int, Generator, RandomState or None, default=None
        Seed for drawing the starting weights, and held-out rows.

    Attributes
    ----------
    log_posterior_ : float
        Log of likelihood times prior at these weights, with all constants.
    """

    prior_variance: float = 10.0
    n_restarts: int = 4
    max_iter: int = 1000
    n_jobs: int | None = None
    random_state: Any = None

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
        X_rows = validation.check_X(self, X, reset=True)
        validation.check_powers(X_rows, X)
        weights = validation.check_repetitions(sample_weight, len(X_rows))
        codes = self._learn_classes(y, len(X_rows), weights)
        weights = copies.weigh_copies_once(X_rows, codes, weights, is_class=True)
        rows, targets, counts, _ = equal_rows.merge_and_sort(X_rows, codes, weights)
        self._fit_features(rows, counts)
        standard = designs.Standardized.from_design(
            designs.Dense(self._transform_features(rows)), counts, offset=True
        )
        self._center, self._scale = standard.center, standard.scale
        self._learn(standard.rows(0, len(rows)), targets, counts)
        return self

    @abc.abstractmethod
    def _learn(self, Z: Array, y: Array, counts: Array) -> None:
        """Find the weights from standardised features and a one, and publish them."""

    def _check_parameters(self) -> None:
        for name, least in (("n_restarts", 0), ("max_iter", 1)):
            validation.check_count(getattr(self, name), name, least=least)
        validation.check_positive(self.prior_variance, "prior_variance")

    def _design_of(self, Z: Array) -> Array:
        """Standardised features of each row, and a one."""
        design = designs.Standardized(designs.Dense(Z), self._center, self._scale, offset=True)
        return design.rows(0, len(Z))

    def _publish_weights(self, gates: Array, experts: Array) -> None:
        """Give the weights of gates (K, M) and experts (E, C, M) in the units of the data."""
        self.gate_coef_, self.gate_intercept_ = self._unscale_weights(gates)
        self.expert_coef_, self.expert_intercept_ = self._unscale_experts(experts)

    def _unscale_experts(self, W: Array) -> tuple[Array, Array]:
        """Weights (E, C, M) like those of gates; two classes have one latent value."""
        return self._unscale_weights(W[:, 0] if len(self.classes_) == 2 else W)

    def _unscale_weights(self, W: Array) -> tuple[Array, Array]:
        """Weights (..., M) of the columns as they are, and the intercepts that go with them."""
        coef = W[..., :-1] / self._scale
        return coef, W[..., -1] - coef @ self._center


@declare_parameters
class MixtureOfExpertsClassifier(GatedClassifier):
    """Several logistic classifiers, each weighted by a gate.  [P9 Prob 9.9]

    The probability of a class is the average of ``n_experts`` linear classifiers, weighted by gates
    that are a softmax of linear functions. Two classes use one latent value for each expert, more
    classes a softmax.

    This is a plug-in model: gates and experts have their most probable weights, and predictions do
    not average over their uncertainty. There are many local maxima; the best of several searches is
    kept.

    Parameters
    ----------
    n_experts : int, default=2
        Number of experts, K.

    Attributes
    ----------
    gate_coef_, gate_intercept_ : array of shape (K, M) and (K,)
        Weights of the gates in the units of the data. Experts are in order of decreasing share of
        the training rows.
    expert_coef_, expert_intercept_ : array of shape (K, M) and (K,), or (K, C, M) and (K, C)
        Weights of the experts.
    log_posteriors_ : array of shape (1 + n_restarts,)
        ``log_posterior_`` of each search before the best one was continued to convergence.
    n_iter_ : int
        Number of iterations of the best search.
    stop_reason_ : str
        Why it ended.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import MixtureOfExpertsClassifier
    >>> X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(200, 2))
    >>> y = X[:, 0] * X[:, 1] > 0.0  # not linearly separable
    >>> model = MixtureOfExpertsClassifier(random_state=0).fit(X, y)
    >>> model.predict_proba([[0.5, 0.5], [-0.5, 0.5]]).round(2)
    array([[0., 1.],
           [1., 0.]])
    >>> model.gate_proba([[0.5, 0.5], [-0.5, -0.5]]).round(2)
    array([[1., 0.],
           [0., 1.]])
    """

    n_experts: int = field(default=2, kw_only=False)

    card = ModelCard(
        likelihood="Bernoulli, categorical",
        prior="normal",
        feature_space="explicit, with gates",
        inference="most probable weights",
        advice="two regimes, each with a linear boundary",
        page="classification",
        candidates=(
            Member("experts", 140, "N D C an iteration", {"n_restarts": 0}, usual_rows=2e5),
        ),
    )

    _mixture: ExpertMixture = field(init=False)

    @models.answer_lazily(CLASS_DISTRIBUTION)
    def predict_dist(self, X: ArrayLike) -> distributions.Discrete:
        """The predictive distribution of the class at each row: experts averaged by gates."""
        Z = self._queries(X)
        return self._answers(Z).average(self._mixture.log_gates(Z))

    @models.refuse_partitions
    def gate_proba(self, X: ArrayLike) -> Array:
        """Trust in each expert at each row, (n, K): the softmax of the gates."""
        Z = self._queries(X)
        return np.exp(self._mixture.log_gates(Z))

    @models.refuse_partitions
    def expert_proba(self, X: ArrayLike) -> Array:
        """Probability of each class according to each expert, (n, K, C)."""
        return self._answers(self._queries(X)).probabilities()

    def page_form(self) -> Form:
        """Return the form from which a page computes the prediction."""
        return {"kind": "experts", **classes.form_experts(self)}

    def _check_parameters(self) -> None:
        validation.check_count(self.n_experts, "n_experts", least=1)
        super()._check_parameters()

    def _learn(self, Z: Array, y: Array, counts: Array) -> None:
        problem = ExpertsProblem.from_rows(
            Z,
            y,
            counts,
            classes.likelihood_of_classes(len(self.classes_)),
            n_experts=self.n_experts,
            prior_variance=self.prior_variance,
        )
        found = fit_experts(
            problem,
            n_restarts=self.n_restarts,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
            rng=arrays.generator(self.random_state),
        )
        self._adopt(found)

    def _adopt(self, found: MixtureFit) -> None:
        """Publish a fit, with weights in the units of the data."""
        self._mixture = found.mixture
        gates = np.moveaxis(found.mixture.gates, 0, -1)
        self._publish_weights(gates, np.moveaxis(found.mixture.experts, 0, -1))
        self.log_posterior_, self.log_posteriors_ = found.log_posterior, found.values
        self.n_iter_, self.stop_reason_ = found.optimum.n_iter, found.optimum.stop_reason

    def _answers(self, Z: Array) -> distributions.Discrete:
        """The prediction of each expert, a batch (n, K)."""
        a = self._mixture.latents(Z)
        if len(self.classes_) == 2:
            return distributions.Bernoulli.from_logit(a[:, :, 0])
        return distributions.Categorical.from_logits(a)
