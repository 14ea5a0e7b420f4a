"""Normal likelihood x normal or no prior x any features x closed form."""

from __future__ import annotations

import numpy as np

from posterity import designs, features, priors, validation
from posterity import features as feature_spaces
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.inference.averaging import check_hyperparameters
from posterity.inference.conjugate import (
    WeightPosterior,
    average_points,
    compute_log_evidence,
    integrate_noise,
    maximise_tied_variances,
    refine_least_squares,
)
from posterity.linear.predictions import FlatModel, PosteriorModel
from posterity.linear.statistics_model import FeatureRows, StreamedLinearModel
from posterity.linear.weighted_model import BayesianModel
from posterity.models import MOST_PAIR_COLUMNS, Member, ModelCard
from posterity.page_forms import Form


@declare_parameters
class BayesianLinearRegression(BayesianModel, PosteriorModel, StreamedLinearModel):
    """Linear regression with a normal prior on the weights, integrated out in closed form.

    Parameters
    ----------
    prior : Normal, optional
        Prior of the weights, ``priors.Normal(variance)``, with one variance or one for each column.
        None: of ``prior_variance``.
    noise_variance : float, optional
        Variance of the noise. None: learned by the evidence.
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

    noise_variance: float | None = None

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
        prior = self._read_prior()
        if isinstance(prior, priors.Flat):
            raise ValueError("Under a flat prior this is least squares: use LinearRegression.")
        self._learn(statistics, prior, standardize=self.standardize)


@declare_parameters
class RidgeRegression(PosteriorModel, StreamedLinearModel):
    """Least squares with a penalty on the squared weights, read as a probability model.

    The penalty ties the variance of the prior to that of the noise, prior = noise / alpha.
    Predictions average over the weights and over the variance of the noise: they are Student-t.

    Parameters
    ----------
    alpha : float, default=1.0
        The factor of the sum of squared weights beside the sum of squared residuals; > 0.
    fit_intercept : bool, default=True
        Add an intercept.
    penalize_intercept : bool, default=False
        Penalise the intercept like a weight, instead of leaving it free.
    standardize : bool, default=True
        Penalise the weights of columns scaled to unit variance, so that units do not matter.
    hyperparameters : {"average", "maximise"}, default="average"
        "average": predictions average over the variance of the noise. "maximise": they are normal,
        at ``noise_variance_``, which is too sure where rows are few.

    Attributes
    ----------
    coef_, intercept_
        Weights and intercept in the units of the data.
    noise_variance_ : float or array of shape (K,)
        (sum of squared residuals + alpha * sum of squared weights) / (rows + weights): the joint
        maximum of variance and weights.
    prior_variance_ : float or array of shape (K,)
        Variance of the tied prior, ``noise_variance_ / alpha``.
    log_evidence_ : float
        Log marginal likelihood at these variances, constants included.
    posterior_ : AveragedPosterior or WeightPosterior
        Posterior of the weights, averaged over the variance of the noise, or at these variances.

    Examples
    --------
    >>> from posterity import RidgeRegression
    >>> model = RidgeRegression(alpha=3.0, standardize=False)
    >>> model.fit([[-1.0], [0.0], [1.0]], [-5.0, 0.0, 5.0]).coef_
    array([2.])
    """

    alpha: float = field(default=1.0, kw_only=False)
    penalize_intercept: bool = False
    standardize: bool = True

    card = ModelCard(
        likelihood="normal",
        prior="normal, tied to the noise",
        feature_space="explicit",
        inference="closed form",
        advice="the penalty is known",
        page="regression",
        candidates=(Member("ridge", 30, "N D^2", on_dask=True),),
    )

    @property
    def _is_centred(self) -> bool:
        return self.fit_intercept and not self.penalize_intercept

    @property
    def has_ones(self) -> bool:
        """Whether the intercept is a weight like others, that of a last column of ones."""
        return self.fit_intercept and self.penalize_intercept

    def _page_columns(self) -> Form:
        columns = super()._page_columns()
        return {"kind": "with_ones", "of": columns} if self.has_ones else columns

    def _page_coef(self) -> Array:
        return np.append(self.coef_, 0.0)[None] if self.has_ones else super()._page_coef()

    def _design_of(self, Z: Array) -> Array:
        return np.column_stack([Z, np.ones(len(Z))]) if self.has_ones else Z

    def _predict_mean_from_features(self, Z: Array) -> Array:
        return super()._predict_mean_from_features(Z[:, :-1] if self.has_ones else Z)

    def _split(self, coef: Array, intercept: Array) -> tuple[Array, Array]:
        return (coef[..., :-1, :], coef[..., -1, :]) if self.has_ones else (coef, intercept)

    def _to_design_weights(self, A: Array, b: Array) -> tuple[Array, Array]:
        return (np.column_stack([A, b]), np.zeros_like(b)) if self.has_ones else (A, b)

    def _fit_statistics(self, statistics: designs.Statistics) -> None:
        alpha = validation.check_positive(self.alpha, "alpha")
        problem = self._reduce_statistics(statistics, standardize=self.standardize)
        noise, prior = maximise_tied_variances(problem, alpha)
        if self._known_noise:  # the rows were divided by their known deviations
            noise, prior = np.ones_like(noise), prior / noise
        averages = check_hyperparameters(self.hyperparameters) and not self._known_noise
        points = integrate_noise(problem, np.full((1, len(noise)), 1.0 / alpha))
        at_maximum = WeightPosterior(problem, noise, prior)
        self._adopt(average_points(at_maximum, points if averages else None), statistics)
        evidence = compute_log_evidence(problem, noise, prior)
        self.log_evidence_ = float(evidence.sum())


_EASY_CONDITION = 1e3  # below it the first solution lacks no more than the last few digits
_SMALL = 50_000  # entries up to which these are worth their cost


@declare_parameters
class LinearRegression(FlatModel, StreamedLinearModel):
    """Least squares, with the prediction interval that belongs to it.

    Coefficients are correct to the last digits of double precision also where the features are
    nearly dependent: the solution is refined with residuals at twice the precision.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Add an intercept.

    Attributes
    ----------
    coef_ : array of shape (M,) or (K, M)
        Weights; where the features are linearly dependent, those of least norm.
    intercept_ : float or array of shape (K,)
        Intercept.
    noise_variance_ : float or array of shape (K,)
        Maximum likelihood variance of the noise.
    rank_ : int
        The number of independent features.

    Examples
    --------
    >>> from posterity import LinearRegression
    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.5, 1.5, 3.0])
    >>> model.coef_.round(6), round(model.noise_variance_, 6)
    (array([0.9]), 0.1125)
    >>> lower, upper = model.predict_interval([[1.5], [15.0]])
    >>> (upper - lower).round(1)
    array([ 3.1, 17. ])
    """

    card = ModelCard(
        likelihood="normal",
        prior="flat",
        feature_space="explicit",
        inference="closed form",
        advice="many more rows than columns, or a textbook least-squares fit",
        page="regression",
        candidates=(Member("least-squares", 20, "N D^2", on_dask=True),),
    )

    def _fit_statistics(self, statistics: designs.Statistics) -> None:
        self._maximise_likelihood(statistics, standardize=True)

    def _polish(self, rows: FeatureRows) -> None:
        """Refine where the problem has one solution: a step if it is easy, to the end if not."""
        problem = self.fit_.problem
        if not problem.rank == len(problem.scale) > 0:
            return
        n_entries = len(rows.X) * len(problem.scale)
        if problem.condition_number() < _EASY_CONDITION and n_entries > _SMALL:
            Z, root = self._transform_features(rows.X), rows.root_weight
            self._publish(*self.fit_.refine_on_rows(Z, rows.Y, root_weight=root))
            return
        Z, Z_error = self._features_with_error(rows.X)
        coef, intercept = refine_least_squares(
            Z, Z_error, rows.Y, root_weight=rows.root_weight, has_offset=self.fit_intercept
        )
        self._publish(coef, intercept)

    def _features_with_error(self, X: Array) -> tuple[Array, Array | None]:
        if isinstance(self.features_, feature_spaces.Features):
            return self.features_.transform_with_error(X)
        return self._transform_features(X), None
