"""Student-t likelihood x normal prior x any features x Laplace: RobustRegression."""

from __future__ import annotations

from typing import Any

from posterity import likelihoods
from posterity.arrays import Array
from posterity.constructors import declare_parameters
from posterity.designs import Design
from posterity.likelihoods import student_t
from posterity.linear.generalized import LikelihoodRegressor
from posterity.models import Member, ModelCard


@declare_parameters
class RobustRegression(LikelihoodRegressor):
    """Linear regression whose noise has heavy tails, so that outliers lose their influence.

    The noise is Student's t; its degrees of freedom say how many outliers there are, and are
    learned by the evidence along with its scale and the prior variance of the weights. A target far
    from all others is taken for an outlier, not for news about the weights.  [P8 Prob 8.2]

    Parameters
    ----------
    features : transformer, optional
        What the model is linear in. None: the columns as they are.
    degrees_of_freedom : float, optional
        Of the noise; the fewer, the heavier its tails. With two or fewer the standard deviation of
        a prediction is infinite. None: learned by the evidence.
    min_degrees_of_freedom : float, default=2.34
        The fewest that are learned. With 2.34 or more the standard deviation of the noise is no
        larger than half of its central 90 % interval. Fewer describe extreme outliers better.
    scale : float, optional
        Of the noise. None: learned by the evidence.
    prior_variance : float, optional
        Variance of each weight. None: learned by the evidence.
    fit_intercept : bool, default=True
        Add an intercept, with a prior worth one row.
    standardize : bool, default=True
        Let the prior act on the weights of columns scaled to unit variance, so that units do not
        matter. False: on the weights as they are.
    hyperparameters : {"average", "maximise"}, default="average"
        As in :class:`GeneralizedLinearRegression`.

    Attributes
    ----------
    coef_ : array of shape (M,)
        Posterior mean of the weights, in the units of the data.
    intercept_ : float
        Posterior mean of the intercept.
    degrees_of_freedom_, scale_ : float
        Of the noise, as learned or as given.
    prior_variance_, log_evidence_, posterior_, features_, likelihood_, n_iter_, stop_reason_
        As in :class:`GeneralizedLinearRegression`.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import RobustRegression
    >>> X = np.linspace(0.0, 1.0, 40)[:, None]
    >>> y = 2.0 * X[:, 0] + 0.05 * np.random.default_rng(0).normal(size=40)
    >>> y[[3, 30]] = 50.0
    >>> RobustRegression().fit(X, y).coef_.round(1)
    array([2.])
    """

    degrees_of_freedom: float | None = None
    min_degrees_of_freedom: float = student_t.MIN_DEGREES_OF_FREEDOM
    scale: float | None = None

    card = ModelCard(
        likelihood="Student-t: outliers",
        prior="normal",
        feature_space="explicit",
        inference="Laplace, by evidence",
        advice="some targets are outliers",
        page="likelihoods",
        candidates=(Member("robust", 110, "N D^2 an iteration", usual_rows=1e5),),
    )

    def _likelihood(self) -> likelihoods.StudentT:
        return likelihoods.StudentT(
            self.scale, self.degrees_of_freedom, self.min_degrees_of_freedom
        )

    def _conclude(self, design: Design, y: Array, weights: Array | None) -> Any:
        super()._conclude(design, y, weights)
        self.scale_ = float(self.likelihood_.scale)
        self.degrees_of_freedom_ = float(self.likelihood_.degrees_of_freedom)
        return self
