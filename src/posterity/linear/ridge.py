"""Normal likelihood x normal prior tied to the noise x any features x closed form."""

from __future__ import annotations

import numpy as np

from posterity import designs, validation
from posterity.arrays import Array
from posterity.constructors import declare_parameters, field
from posterity.inference.conjugate import (
    WeightPosterior,
    average_points,
    compute_log_evidence,
    integrate_noise,
    maximise_tied_variances,
    reduce_statistics,
)
from posterity.linear.posterior_model import PosteriorModel
from posterity.linear.streamed_model import StreamedLinearModel
from posterity.models import Member, ModelCard
from posterity.models.hyperparameters import check_hyperparameters
from posterity.page_forms import Form


@declare_parameters
class RidgeRegression(PosteriorModel, StreamedLinearModel):
    """Least squares with a penalty on the squared weights, read as a probability model.

    The penalty ties the variance of the prior to that of the noise, prior = noise / alpha.
    Predictions average over the weights and over the variance of the noise: they are Student-t.

    Parameters
    ----------
    alpha : float, default=1.0
        The factor of the sum of squared weights beside the sum of squared residuals; > 0.
    features : transformer, optional
        What the model is linear in. None: the columns as they are.
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
        problem = reduce_statistics(
            statistics, fit_intercept=self._is_centred, standardize=self.standardize
        )
        noise, prior = maximise_tied_variances(problem, alpha)
        if self._known_noise:  # the rows were divided by their known deviations
            noise, prior = np.ones_like(noise), prior / noise
        averages = check_hyperparameters(self.hyperparameters) and not self._known_noise
        points = integrate_noise(problem, np.full((1, len(noise)), 1.0 / alpha))
        at_maximum = WeightPosterior(problem, noise, prior)
        self._adopt(average_points(at_maximum, points if averages else None), statistics)
        evidence = compute_log_evidence(problem, noise, prior)
        self.log_evidence_ = float(evidence.sum())
