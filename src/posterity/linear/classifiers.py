"""Classifiers that are linear in features: under a prior, and by maximum likelihood."""

from __future__ import annotations

import abc
import functools
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from posterity import (
    arrays,
    callers,
    designs,
    distributions,
    features,
    likelihoods,
    models,
    page_forms,
    validation,
)
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.inference.posterior import LatentMarginals, WeightedPosterior
from posterity.inference.weights import (
    LaplaceFit,
    LatentPosterior,
    WeightProblem,
    Weights,
    WeightSpace,
    maximise_likelihood,
    refuse_free_weights,
)
from posterity.linear.weighted_model import LatentModel, WeightedModel
from posterity.models import Member, ModelCard, classes
from posterity.models.classifier import (
    CLASS_DISTRIBUTION,
    LATENT_VALUES,
    Classifier,
    encode_classes,
)
from posterity.page_forms import Form


@declare_parameters
class WeightClassifier(WeightedModel, Classifier):
    """A classifier whose latent values are linear in features of the inputs.

    A subclass writes ``_conclude``, which turns columns and classes into fitted attributes.

    Attributes
    ----------
    classes_ : array of shape (C,)
        The classes, sorted.
    coef_ : array of shape (1, M) or (C, M)
        Weights in the units of the features: of the second class of two, or of each of several,
        which then sum to zero. Under a prior their posterior mean.
    intercept_ : array of shape (1,) or (C,)
        Intercepts, under a prior their posterior mean.
    """

    averaging = "exact"  # of classifiers without this parameter
    intercept_: Array = field(init=False)
    posterior_: LatentPosterior | None = field(init=False)

    @abc.abstractmethod
    def _conclude(self, design: designs.Design, codes: Any, weights: Any) -> None:
        """Set the fitted attributes, from classes (N,) by number, or Tallied."""

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D)
            Inputs.
        y : array-like of shape (N,)
            Classes: numbers or names.
        sample_weight : array-like of shape (N,), optional
            How often each row counts: an integer weight equals repeating the row.
        """
        return self._fit_rows(X, y, sample_weight)

    def _fit_rows(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Self:
        rows = validation.check_X(self, X, reset=True)
        validation.check_powers(rows, X)
        weights = validation.check_repetitions(sample_weight, len(rows))
        codes = self._learn_classes(y, len(rows), weights)
        weights = self._weigh_copies(rows, codes, weights, is_class=True)
        columns = designs.Dense(self._learn_columns(rows, codes, weights, self._likelihood()))
        self._conclude(columns, codes, weights)
        return self

    @models.answer_lazily(CLASS_DISTRIBUTION)
    def predict_dist(self, X: ArrayLike) -> distributions.Discrete:
        """The distribution of the class at each row of X, by its place in ``classes_``."""
        return self._answer_queries(self._predict_from_columns, X)

    @models.answer_lazily(LATENT_VALUES)
    def predict_latent(self, X: ArrayLike) -> distributions.Normal:
        """The latent value at each row: of the second class, (n,), or of each of C, (n, C)."""
        return self._answer_queries(lambda Z: classes.latent_normal(self._latent(Z)), X)

    def page_form(self) -> Form:
        """Return the form from which a page computes the prediction."""
        space, coef = self._page_columns(), self._page_coef()
        known = () if self.posterior_ is None else (page_forms.find_form(self.posterior_),)
        latent = page_forms.form_weights(coef, self.intercept_, *known)
        answer = classes.form_classes(self) if known else classes.POINT_FORM
        return page_forms.form_linear(space, latent, answer)

    def _predict_from_columns(self, Z: Array) -> distributions.Discrete:
        return classes.predict_classes(self._likelihood(), self._latent(Z))

    def _latent(self, Z: Array) -> LatentMarginals:
        """Return the distributions of the C latent values; C = 1 for two classes."""
        if self.posterior_ is None:
            mean = self._mean_at(Z)
            return LatentMarginals(mean, np.zeros_like(mean))
        return self.posterior_.latent(Z)

    def _weight_posterior(self) -> WeightedPosterior:
        if self.posterior_ is None:
            raise TypeError(
                f"This {type(self).__name__} has no posterior of its weights, only their best "
                "values; use BayesianLogisticRegression."
            )
        return self.posterior_

    def _output_names(self) -> list[Any]:
        """Return the class of each latent value: the second one where there are two classes."""
        names: list[Any] = self.classes_.tolist()
        return names[1:] if len(names) == 2 else names

    def _mean_at(self, Z: Array) -> Array:
        return Z @ self.coef_.T + self.intercept_

    def _likelihood(self) -> likelihoods.Bernoulli | likelihoods.Categorical:
        """Return the likelihood for the number of classes that were fitted."""
        return classes.likelihood_of_classes(len(self.classes_), self.averaging)

    def _publish(self, coef: Array, intercept: Array) -> None:
        """Weights (M, C) and intercepts (C,), in the shapes scikit-learn uses."""
        self.coef_ = np.ascontiguousarray(coef.T)
        self.intercept_ = np.asarray(intercept) if self.fit_intercept else np.zeros(coef.shape[1])


class StreamedClassifier(WeightClassifier):
    """One whose columns do not depend on the rows, so that these can be read block by block."""

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (N, D), :class:`posterity.designs.Chunks`, or Dask's
            Inputs; chunks bring their own targets and weights and never sit in memory at once.
            Rows of a Dask array or data frame stay on the workers, with those of y and weights.
        y : array-like of shape (N,)
            Classes: numbers or names.
        sample_weight : array-like of shape (N,), optional
            How often each row counts: an integer weight equals repeating the row.
        """
        source = models.find_streamed_source(X, y, sample_weight)
        if source is None:
            return self._fit_rows(X, y, sample_weight)
        if isinstance(source, designs.Partitions):
            rows = self._on_workers(source)
        else:
            rows = models.StreamedRows.from_source(self, source)
            rows = replace(rows, y=self._learn_classes(rows.y, len(rows.y), rows.weights))
        self._conclude(rows.design, rows.y, rows.weights)
        return self

    def _on_workers(self, partitions: designs.Partitions) -> models.StreamedRows:
        """Classes are counted where the rows are, and numbered there at every pass."""
        values, counts = partitions.count_targets()
        self._set_classes(values)
        encoded = partitions.encode_targets(functools.partial(encode_classes, values))
        codes = np.arange(len(values), dtype=np.float64)
        return models.StreamedRows.from_partitions(self, encoded, codes, counts)


@declare_parameters
class BayesianClassifier(LatentModel, WeightClassifier):
    """A classifier whose weights have a prior, and a normal posterior.

    Parameters
    ----------
    averaging : {"exact", "approximate", "none"}, default="exact"
        How probabilities are averaged over the normal latent value: by quadrature, by the closed
        form that is off by up to 0.02 (0.08 for more than two classes), or not at all, as if the
        most probable weights were certain.
    inference : {"auto", "laplace"}, default="auto"
        Laplace's approximation, the normal at the mode of the weights. "auto" learns the prior
        variance by Laplace and ends with the normal nearest to the posterior, which is much closer
        where classes hardly overlap; where rows are many for each weight, or nothing is averaged,
        with Laplace's all the same.

    Attributes
    ----------
    log_evidence_ : float
        Log marginal likelihood of all rows, constants included, to Laplace's approximation.
    posterior_ : LatentPosterior
        The posterior, as prediction uses it.
    n_iter_, stop_reason_, at_bounds_
        Of the search for the prior variance; which parameters ended at a bound.
    """

    averaging: str = "exact"
    inference: str = "auto"

    def _conclude(self, design: designs.Design, codes: Any, weights: Any) -> None:
        learned = self._learn(
            design,
            codes,
            weights,
            self._likelihood(),
            nearest=classes.wants_nearest(self.inference, self.averaging),
            average=self.averaging != "none",
        )
        self._publish(learned.coef, learned.intercept)


@declare_parameters
class BayesianLogisticRegression(BayesianClassifier, StreamedClassifier):
    """Logistic regression with a normal prior; probabilities averaged over the posterior.

    The posterior of the weights is approximated by a normal, and the prior variance is that of the
    largest evidence. Far from the rows probabilities fall back towards one half, as
    those of one set of weights do not.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import BayesianLogisticRegression
    >>> X = np.array([[-3.0], [-2.0], [-1.0], [1.0], [2.0], [3.0]])
    >>> model = BayesianLogisticRegression().fit(X, ["no", "no", "yes", "no", "yes", "yes"])
    >>> model.predict_proba([[2.5], [-2.5]]).round(2)
    array([[0.26, 0.74],
           [0.74, 0.26]])
    """

    card = ModelCard(
        likelihood="Bernoulli, categorical",
        prior="normal",
        feature_space="explicit, or learned units",
        inference="variational or Laplace, prior by evidence",
        advice="first: linear effects, and the baseline for all other models",
        page="classification",
        candidates=(
            Member("linear", 10, "N D^2 C^2 an iteration", usual_rows=1e6, on_dask=True),
            Member(
                "additive",
                40,
                "N D^2 C^2 an iteration",
                {"features": features.Radial(6)},
                feature_space="bumps along each column",
                advice="a sum of curves, one for each column",
                most_rows=1e5,
                most_columns=100,
                on_dask=True,
            ),
            Member(
                "quadratic",
                60,
                "N D^4 C^2 an iteration",
                {"features": features.Polynomial(2)},
                feature_space="squares and products",
                advice="few columns, which interact",
                usual_rows=3e4,
                usual_columns=20,
                most_rows=1e5,
                most_columns=40,
                on_dask=True,
            ),
        ),
    )

    def sample_weights(self, n_samples: int = 1, random_state: Any = None) -> tuple[Array, Array]:
        """Draws from the posterior of the weights and of the intercepts, in the units of the data.

        Returns
        -------
        coef : array of shape (n_samples, 1, M) or (n_samples, C, M)
        intercept : array of shape (n_samples, 1) or (n_samples, C)
        """
        check_is_fitted(self)
        assert self.posterior_ is not None
        coef, intercept = self.posterior_.sample(n_samples, arrays.generator(random_state))
        return np.moveaxis(coef, 1, 2), intercept


PREDICTIVES = ("plug_in", "averaged")
_SEPARABLE = (
    "The classes can be separated: some weights predict (some) rows without an error, larger ones "
    "with ever more certainty: maximum likelihood has no end. The weights returned are those of a "
    "prior worth one row. Use BayesianLogisticRegression, or more rows."
)


class SeparationWarning(ConvergenceWarning):
    """The classes can be separated, so that maximum likelihood has no finite weights."""


@declare_parameters
class LogisticRegression(StreamedClassifier):
    """Logistic regression by maximum likelihood, of two classes or more.

    Two classes have one latent value, linear in the features, and its sigmoid as probability; more
    have one latent value each, and the softmax. The likelihood has one maximum, unless the classes
    can be separated: then weights could grow without end. That is said with a warning, and the
    weights are those of a prior worth one row. :class:`BayesianLogisticRegression` has no such
    cases, and knows how uncertain its weights are.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Add an intercept to each latent value.
    predictive : {"plug_in", "averaged"}, default="plug_in"
        Probabilities at the best weights, as in the textbook, or averaged over the normal
        approximation of what the likelihood leaves uncertain of them.
    max_iter : int, default=100
        Steps at most.

    Attributes
    ----------
    log_likelihood_ : float
        Of all rows.
    separable_ : bool
        Whether some weights tell (some) rows apart without an error, ever better as they grow.
    n_iter_ : int
        Steps taken.
    stop_reason_ : str
        Why there were no more.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = np.where(X[:, 0] + rng.logistic(size=500) > 1.0, "yes", "no")
    >>> model = LogisticRegression().fit(X, y)
    >>> model.classes_, model.coef_.round(1), model.intercept_.round(1)
    (array(['no', 'yes'], dtype='<U3'), array([[ 1.2, -0.1]]), array([-0.9]))
    >>> model.predict_proba([[3.0, 0.0]]).round(2)
    array([[0.07, 0.93]])
    """

    predictive: str = "plug_in"
    max_iter: int = 100

    card = ModelCard(
        likelihood="Bernoulli, categorical",
        prior="flat",
        feature_space="explicit, or learned units",
        inference="Newton",
        advice="many more rows than columns, or a textbook maximum-likelihood fit",
        page="classification",
        candidates=(Member("logistic", 20, "N D^2 C^2 an iteration", on_dask=True),),
    )

    def _conclude(self, design: designs.Design, codes: Any, weights: Any) -> None:
        averaged = validation.check_choice(self.predictive, "predictive", PREDICTIVES) == "averaged"
        space = WeightSpace.from_design(design, weights, offset=self.fit_intercept)
        given = space, codes, weights, self._likelihood()
        best = maximise_likelihood(*given, exactly=averaged, max_iter=self.max_iter)
        adopt_best_weights(self, space, *best)
        self.posterior_ = _posterior(space, *best) if averaged else None


def adopt_best_weights(
    model: Any, space: WeightSpace, problem: WeightProblem, found: Weights
) -> None:
    """Set the weights of the largest likelihood, and warn where the search found no maximum."""
    model._publish(*space.restore_units(found.W, problem.targets))
    model.log_likelihood_ = found.value + problem.quadratic(found.W)
    model.separable_ = found.separable
    model.n_iter_ = max(1, found.n_iter)
    model.stop_reason_ = found.stop_reason
    if found.separable:
        callers.warn_caller(_SEPARABLE, SeparationWarning)
    elif not found.converged:
        message = f"stopped after {found.n_iter} steps: {found.stop_reason}"
        callers.warn_caller(message, ConvergenceWarning)


def _posterior(space: WeightSpace, problem: WeightProblem, found: Weights) -> LatentPosterior:
    """Return the normal that the likelihood alone leaves of the weights."""
    if problem.prior.is_flat:
        refuse_free_weights(space, found)
    fit = LaplaceFit.from_problem(problem, found.W)
    variance = np.inf if problem.prior.is_flat else float(1.0 / np.max(problem.prior.precision))
    return LatentPosterior(space, fit, variance)
