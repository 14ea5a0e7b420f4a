"""Bernoulli or categorical likelihood x normal prior x any features x the nearest normal."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from posterity import arrays, designs, features
from posterity.arrays import Array
from posterity.constructors import declare_parameters
from posterity.inference.weights import WeightSpace
from posterity.linear.weight_classifier import StreamedClassifier
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
