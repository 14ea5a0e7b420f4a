"""Bernoulli or categorical likelihood x normal or no prior x any features."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, callers, designs, features
from posterity.arrays import Array
from posterity.constructors import declare_parameters
from posterity.inference.weights import (
    LaplaceFit,
    LatentPosterior,
    WeightProblem,
    Weights,
    WeightSpace,
    maximise_likelihood,
)
from posterity.linear.weight_classifier import StreamedClassifier, check_choice
from posterity.models import Member, ModelCard


@declare_parameters
class BayesianLogisticRegression(StreamedClassifier):
    """Logistic regression with a normal prior; probabilities averaged over the posterior.

    The posterior of the weights is approximated by a normal, and the prior variance is that of the
    largest evidence. Far from the rows probabilities fall back towards one half, as
    those of one set of weights do not.

    Parameters
    ----------
    features : transformer, optional
        What the model is linear in. None: the columns as they are.
    prior_variance : float, optional
        Variance of each weight. None: learned by the evidence.
    fit_intercept : bool, default=True
        Add an intercept to each latent value, with a prior worth one row.
    standardize : bool, default=True
        Let the prior act on the weights of columns scaled to unit variance, so that units do not
        matter. False: on the weights as they are, as in the textbook.
    averaging : {"exact", "approximate", "none"}, default="exact"
        How probabilities are averaged over the normal latent value: by quadrature, by the closed
        form that is off by up to 0.02 (0.08 for more than two classes), or not at all, as if the
        most probable weights were certain.
    inference : {"auto", "laplace"}, default="auto"
        Laplace's approximation, the normal at the mode of the weights. "auto" learns the prior
        variance by Laplace and ends with the normal nearest to the posterior, which is much closer
        where classes hardly overlap; where rows are many for each weight, or nothing is averaged,
        with Laplace's all the same.
    hyperparameters : {"average", "maximise"}, default="average"
        What to do about a prior variance that is learned: average predictions over the values that
        the rows leave plausible, under a weak prior, or take that of the largest evidence, which is
        too sure where rows are few. It is averaged up to 30 rows for each weight, and 400 in all.

    Attributes
    ----------
    classes_ : array of shape (C,)
        The classes, sorted.
    coef_ : array of shape (1, M) or (C, M)
        Posterior mean of the weights in the units of the features: of the second class of two, or
        of each of several, which then sum to zero.
    intercept_ : array of shape (1,) or (C,)
        Posterior mean of the intercepts.
    prior_variance_ : float
        As learned, or as given. Of each class, where there are several.
    log_evidence_ : float
        Log marginal likelihood of all rows, constants included, to Laplace's approximation.
    posterior_ : LatentPosterior
        The posterior, as prediction uses it.
    features_ : transformer or None
        The fitted features.
    n_iter_, stop_reason_, at_bounds_
        Of the search for the prior variance; which parameters ended at a bound.

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

    prior_variance: float | None = None
    standardize: bool = True
    averaging: str = "exact"
    inference: str = "auto"
    hyperparameters: str = "average"

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

    def _conclude(self, design: designs.Design, codes: Any, weights: Any) -> None:
        space = WeightSpace.from_design(
            design, weights, offset=self.fit_intercept, standardize=self.standardize
        )
        self._learn(space, codes, weights, self.prior_variance, self.inference)

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
    "The classes can be separated: some weights predict (some) rows without an error, and larger "
    "ones with ever more certainty, so that maximum likelihood has no end. The weights returned "
    "are those of a prior worth one row. Use BayesianLogisticRegression, or more rows."
)
_DEPENDENT = (
    "The features are linearly dependent, so that the likelihood leaves some weights entirely "
    "free; use predictive='plug_in', or BayesianLogisticRegression."
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
    features : transformer, optional
        What the model is linear in. None: the columns as they are.
    fit_intercept : bool, default=True
        Add an intercept to each latent value.
    predictive : {"plug_in", "averaged"}, default="plug_in"
        Probabilities at the best weights, as in the textbook, or averaged over the normal
        approximation of what the likelihood leaves uncertain of them.
    max_iter : int, default=100
        Steps at most.

    Attributes
    ----------
    classes_ : array of shape (C,)
        The classes, sorted.
    coef_ : array of shape (1, M) or (C, M)
        Weights in the units of the features: of the second class of two, or of each, which then
        sum to zero.
    intercept_ : array of shape (1,) or (C,)
        Intercepts.
    log_likelihood_ : float
        Of all rows.
    separable_ : bool
        Whether some weights tell (some) rows apart without an error, ever better as they grow.
    features_ : transformer or None
        The fitted features.
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
        averaged = check_choice(self.predictive, "predictive", PREDICTIVES) == "averaged"
        space = WeightSpace.from_design(design, weights, offset=self.fit_intercept)
        problem, found = maximise_likelihood(
            space,
            codes,
            weights,
            self._likelihood(),
            exactly=averaged,
            max_iter=self.max_iter,
        )
        report_convergence(self, found)
        self._publish(*space.restore_units(found.W, problem.targets))
        self.log_likelihood_ = found.value + problem.quadratic(found.W)
        self.posterior_ = _posterior(space, problem, found) if averaged else None


def report_convergence(model: Any, found: Weights) -> None:
    """Say on the model how the search ended, and warn where that is not at a maximum."""
    model.separable_ = found.separable
    model.n_iter_ = max(1, found.n_iter)
    model.stop_reason_ = found.stop_reason
    if found.separable:
        callers.warn_caller(_SEPARABLE, SeparationWarning)
    elif not found.converged:
        message = f"stopped after {found.n_iter} steps: {found.stop_reason}"
        callers.warn_caller(message, ConvergenceWarning)


def _posterior(
    space: WeightSpace,
    problem: WeightProblem,
    found: Weights,
) -> LatentPosterior:
    """The normal that the likelihood alone leaves of the weights."""
    if problem.prior.is_flat and (found.dependent or space.V is not None):
        raise ValueError(_DEPENDENT)
    fit = LaplaceFit.from_problem(problem, found.W)
    variance = np.inf if problem.prior.is_flat else float(1.0 / np.max(problem.prior.precision))
    return LatentPosterior(space, fit, variance)
