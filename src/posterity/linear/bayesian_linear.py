"""Normal likelihood x normal prior x any features x closed form."""

from __future__ import annotations

from posterity import designs, features
from posterity.constructors import declare_parameters
from posterity.linear.posterior_model import PosteriorModel
from posterity.linear.streamed_model import StreamedLinearModel
from posterity.models import MOST_PAIR_COLUMNS, Member, ModelCard


@declare_parameters
class BayesianLinearRegression(PosteriorModel, StreamedLinearModel):
    """Linear regression with a normal prior on the weights, integrated out in closed form.

    Parameters
    ----------
    features : transformer, optional
        What the model is linear in: one of :mod:`posterity.features` or any scikit-learn
        transformer. None: the columns as they are.
    prior_variance : float, optional
        Variance of each weight before the data. None: learned by the evidence.
    noise_variance : float, optional
        Variance of the noise. None: learned by the evidence.
    fit_intercept : bool, default=True
        Add an intercept, with a unit-information prior about the mean of the targets.
    standardize : bool, default=True
        Let the prior act on the weights of columns scaled to unit variance, so that units do
        not matter. False: on the weights as they are, as in the textbook.
    hyperparameters : {"average", "maximise"}, default="average"
        "average": predictions average over variances that are not given, weighted by their
        posterior. "maximise": they use the variances of the largest evidence, which is too sure
        where rows are few.

    Attributes
    ----------
    coef_ : array of shape (M,) or (K, M)
        Posterior mean of the weights, in the units of the data.
    intercept_ : float or array of shape (K,)
        Posterior mean of the intercept.
    noise_variance_, prior_variance_ : float or array of shape (K,)
        The variances of the largest evidence, or as given.
    log_evidence_ : float
        Log marginal likelihood of all targets at these variances, constants included.
    posterior_ : AveragedPosterior or WeightPosterior
        The posterior, as prediction uses it: averaged over the variances, or at the best ones.
    features_ : transformer or None
        The fitted features.
    stop_reason_ : str
        Why the search for the variances stopped.
    at_bounds_ : tuple of str
        Variances that ended at a bound: the data want no weights, or no noise.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import BayesianLinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 2))
    >>> y = X @ [1.0, -2.0] + 3.0 + 0.1 * rng.normal(size=50)
    >>> model = BayesianLinearRegression().fit(X, y)
    >>> model.coef_.round(1), round(model.intercept_, 1)
    (array([ 1., -2.]), 3.0)
    >>> lower, upper = model.predict_interval([[0.0, 0.0], [9.0, 9.0]], coverage=0.9)
    >>> bool(np.all(upper - lower > 0.3))
    True
    """

    prior_variance: float | None = None
    noise_variance: float | None = None
    standardize: bool = True

    card = ModelCard(
        likelihood="normal",
        prior="normal",
        feature_space="explicit",
        inference="closed form, variances by evidence",
        advice="first: linear effects, and the baseline for all other models",
        page="regression",
        candidates=(
            Member("linear", 10, "N D^2", usual_rows=1e7, on_dask=True),
            Member(
                "additive",
                60,
                "N D^2",
                {"features": features.Radial(6)},
                feature_space="bumps along each column",
                advice="a sum of curves, one for each column",
                usual_rows=1e5,
                usual_columns=100,
                most_columns=500,
                on_dask=True,
            ),
            Member(
                "quadratic",
                90,
                "N D^4",
                {"features": features.Polynomial(2)},
                feature_space="squares and products",
                advice="few columns, which interact",
                most_columns=MOST_PAIR_COLUMNS,
                on_dask=True,
            ),
        ),
    )

    def _fit_statistics(self, statistics: designs.Statistics) -> None:
        self._learn(statistics, standardize=self.standardize)
