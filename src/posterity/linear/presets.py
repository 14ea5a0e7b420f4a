"""Names for one likelihood each: gamma for positive amounts, Student-t for outliers."""

from __future__ import annotations

from sklearn.utils import Tags

from posterity import likelihoods
from posterity.constructors import declare_parameters
from posterity.likelihoods import student_t
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

    @property
    def shape_(self) -> float:
        """Shape of the gamma distribution, as learned or as given."""
        return float(self.likelihood_.shape)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


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

    @property
    def scale_(self) -> float:
        """Scale of the noise, as learned or as given."""
        return float(self.likelihood_.scale)

    @property
    def degrees_of_freedom_(self) -> float:
        """Degrees of freedom of the noise, as learned or as given."""
        return float(self.likelihood_.degrees_of_freedom)
