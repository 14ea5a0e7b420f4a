"""Gamma likelihood x normal prior x any features x Laplace: GammaRegression."""

from __future__ import annotations

from typing import Any

from sklearn.utils import Tags

from posterity import likelihoods
from posterity.arrays import Array
from posterity.constructors import declare_parameters
from posterity.designs import Design
from posterity.linear.generalized import LikelihoodRegressor
from posterity.models import Member, ModelCard


@declare_parameters
class GammaRegression(LikelihoodRegressor):
    """Regression for positive targets whose scatter is in proportion to their mean.

    The target is gamma-distributed, and the log of its mean is linear in the features, so that
    effects multiply: prices, durations, amounts of rain.  [P8 Prob 8.1]

    Parameters
    ----------
    features : transformer, optional
        What the log of the mean is linear in. None: the columns as they are.
    shape : float, optional
        Of the gamma distribution: one over the squared relative deviation. None: learned by the
        evidence.
    prior_variance : float, optional
        Variance of each weight. None: learned by the evidence.
    fit_intercept : bool, default=True
        Add an intercept, with a prior worth one row.
    standardize : bool, default=True
        Let the prior act on the weights of columns scaled to unit variance, so that units do not
        matter. False: on the weights as they are.
    inference : {"auto", "laplace"}, default="auto"
        As in :class:`GeneralizedLinearRegression`.
    hyperparameters : {"average", "maximise"}, default="average"
        As in :class:`GeneralizedLinearRegression`.

    Attributes
    ----------
    coef_ : array of shape (M,)
        Posterior mean of the weights of the log of the mean.
    intercept_ : float
        Posterior mean of the intercept.
    shape_ : float
        As learned, or as given.
    prior_variance_, log_evidence_, posterior_, features_, likelihood_, n_iter_, stop_reason_
        As in :class:`GeneralizedLinearRegression`.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import GammaRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.0, 2.0, size=(400, 1))
    >>> y = rng.gamma(shape=5.0, scale=np.exp(1.0 + 2.0 * X[:, 0]) / 5.0)
    >>> model = GammaRegression().fit(X, y)
    >>> model.coef_.round(1), round(model.shape_)
    (array([2.]), 5)
    """

    shape: float | None = None
    inference: str = "auto"

    card = ModelCard(
        likelihood="gamma: positive amounts",
        prior="normal",
        feature_space="explicit",
        inference="variational or Laplace, by evidence",
        advice="positive amounts whose scatter grows with their size",
        page="likelihoods",
        candidates=(Member("gamma", 120, "N D^2 an iteration", target="positive", usual_rows=1e5),),
    )

    def _likelihood(self) -> likelihoods.Gamma:
        return likelihoods.Gamma(self.shape)

    def _conclude(self, design: Design, y: Array, weights: Array | None) -> Any:
        super()._conclude(design, y, weights)
        self.shape_ = float(self.likelihood_.shape)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
