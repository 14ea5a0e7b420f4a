"""Pack fitted regressors as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from posterity import linear, local, process, sparse, trees
from posterity.arrays import Array
from posterity.inference.conjugate import AveragedPosterior, SubsetAverage
from posterity.linear import generalized, predictions
from posterity.report.what_if import answers, columns, latents
from posterity.report.what_if import trees as tree_forms
from posterity.report.what_if.forms import (
    pack_average,
    pack_estimator,
    pack_linear,
    pack_mixture,
    pack_process,
)
from posterity.report.what_if.packing import Json, NoFormError, as_floats
from posterity.trees.estimators import forest_regressor


@pack_estimator.register
def _pack_posterior_model(model: predictions.PosteriorModel) -> Json:
    return _pack_conjugate(model, columns.pack_features(model.features_), model.coef_)


@pack_estimator.register
def _pack_ridge_regression(model: linear.RidgeRegression) -> Json:
    space, coef = columns.pack_features(model.features_), model.coef_
    if model.has_ones:
        return _pack_conjugate(model, columns.append_ones(space), np.append(coef, 0.0))
    return _pack_conjugate(model, space, coef)


@pack_estimator.register
def _pack_sparse_linear_regression(model: sparse.SparseLinearRegression) -> Json:
    space = columns.select_columns(columns.pack_features(model.features_), model.relevance_)
    return _pack_conjugate(model, space, model.coef_[model.relevance_])


@pack_estimator.register
def _pack_flat_model(model: predictions.FlatModel) -> Json:
    return _pack_least_squares(model, columns.pack_features(model.features_), model.coef_)


@pack_estimator.register
def _pack_dual_linear_regression(model: linear.DualLinearRegression) -> Json:
    space = _pack_dual_columns(model)
    build = _pack_conjugate if model.prior == "normal" else _pack_least_squares
    return build(model, space, model.column_coef_)


@pack_estimator.register
def _pack_lq_regression(model: linear.LqRegression) -> Json:
    latent = _pack_mean_only(model.coef_, model.intercept_)
    if model.loss_power == 2.0:
        return pack_linear(
            columns.pack_features(model.features_),
            latent,
            answers.pack_normal_noise(model.noise_variance_),
        )
    answer = {"kind": "general_normal", "scale": model.noise_scale_, "power": model.loss_power}
    return pack_linear(columns.pack_features(model.features_), latent, answer)


@pack_estimator.register
def _pack_likelihood_regressor(model: generalized.LikelihoodRegressor) -> Json:
    latent = latents.pack_latent(
        model.coef_[None], np.array([model.intercept_]), latents.pack_covariance(model.posterior_)
    )
    space = columns.pack_features(model.features_)
    each = model.likelihoods_ or ((model.likelihood_, 1.0),)
    forms = [pack_linear(space, latent, answers.pack_likelihood(one)) for one, _ in each]
    return pack_mixture(forms, [weight for _, weight in each])


@pack_estimator.register
def _pack_stagewise_regressor(model: local.StagewiseRegressor) -> Json:
    space = {"kind": "none"} if model.units_ is None else columns.pack_features(model.units_)
    answer, nu = answers.pack_point_likelihood(model.likelihood_), model.noise_degrees_of_freedom
    if np.isfinite(nu):
        answer = answers.pack_student_t(nu, 0.0, answer["noise"])
    return pack_linear(space, _pack_mean_only(model.coef_, model.intercept_), answer)


@pack_estimator.register
def _pack_kernel_ridge_regression(model: process.KernelRidgeRegression) -> Json:
    space = columns.pack_library_kernel(model.kernel_, model.X_train_)
    latent = _pack_mean_only(model.dual_coef_, model.intercept_)
    return pack_linear(space, latent, answers.pack_normal_noise(model.noise_variance_))


@pack_estimator.register
def _pack_relevance_vector_regressor(model: sparse.RelevanceVectorRegressor) -> Json:
    if model.query_column:
        raise NoFormError("With query_column=True every query is fitted separately.")
    space = columns.pack_library_kernel(model.kernel_, model.relevance_vectors_)
    return _pack_conjugate(model, space, model.dual_coef_)


@pack_estimator.register
def _pack_gaussian_process_regressor(model: process.GaussianProcessRegressor) -> Json:
    if hasattr(model, "likelihood_"):
        return _pack_likelihood_process(model)
    scale, center = float(model.target_scale_[0]), float(model.target_center_[0])

    def pack(part: Any) -> Json:
        noise = float(model.noise_variance_)
        if part is not model.posterior_:
            noise *= part.noise_variance / model.posterior_.noise_variance
        answer = answers.pack_normal_noise(noise, scale=scale, center=center)
        return pack_process(part, answer, noise / scale**2)

    return pack_average(model.posterior_, pack)


def _pack_likelihood_process(model: process.GaussianProcessRegressor) -> Json:
    posterior = model.posterior_
    own = getattr(posterior, "likelihoods", ())
    of_part = dict(zip(map(id, getattr(posterior, "parts", ())), own, strict=False))

    def pack(part: Any) -> Json:
        likelihood = of_part.get(id(part), model.likelihood_)
        return pack_process(part, answers.pack_likelihood(likelihood), 1.0)

    return pack_average(posterior, pack)


@pack_estimator.register
def _pack_forest_regressor(model: forest_regressor.ForestRegressor) -> Json:
    return tree_forms.pack_normal_forest(model.forest_)


@pack_estimator.register
def _pack_boosted_trees_regressor(model: trees.BoostedTreesRegressor) -> Json:
    raise NoFormError("Boosted trees of numbers and of their spread cannot run in a page.")


def _pack_conjugate(model: Any, space: Json, coef: Array) -> Json:
    """Pack the posterior of the weights with normal noise."""
    if isinstance(model.posterior_, SubsetAverage):
        parts, weights = model.posterior_.parts, np.exp(model.posterior_.log_weights)
        forms = [_pack_average(part, space, model.noise_variance_) for part in parts]
        return pack_mixture(forms, weights.tolist())
    if isinstance(model.posterior_, AveragedPosterior):
        return _pack_average(model.posterior_, space, model.noise_variance_)
    posterior = latents.pack_covariance(model.posterior_)
    latent = latents.pack_latent(np.atleast_2d(coef), np.atleast_1d(model.intercept_), posterior)
    return pack_linear(space, latent, answers.pack_normal_noise(model.noise_variance_))


def _pack_average(posterior: AveragedPosterior, space: Json, noise_variance: float) -> Json:
    """Pack the posteriors at all points of the variances, each a latent value of its own."""
    at = posterior.points
    latent = latents.pack_latent(at.coef.T, at.intercept, latents.pack_covariance(at))
    noise = np.full_like(at.noise_variance, noise_variance)
    answer = {
        "kind": "average",
        "freedom": posterior.degrees_of_freedom
        if np.isfinite(posterior.degrees_of_freedom)
        else None,
        "noise": as_floats(noise if posterior.is_noise_known else at.noise_variance),
        "weights": as_floats(np.exp(posterior.log_weights)),
    }
    return pack_linear(space, latent, answer)


def _pack_least_squares(model: Any, space: Json, coef: Array) -> Json:
    """Pack a model with a flat prior, whose prediction is a Student-t or a plug-in normal."""
    if model.predictive == "plug_in":
        answer = answers.pack_normal_noise(model.noise_variance_)
        return pack_linear(space, _pack_mean_only(coef, model.intercept_), answer)
    posterior = latents.pack_covariance(model.fit_.weights)
    latent = latents.pack_latent(np.atleast_2d(coef), np.atleast_1d(model.intercept_), posterior)
    if model.has_known_noise:
        return pack_linear(space, latent, answers.pack_normal_noise(model.noise_variance_))
    if model.fit_.degrees_of_freedom <= 0:
        raise NoFormError("The weights fit all rows exactly, so the noise cannot be estimated.")
    unit = float(model.fit_.unbiased_noise_variance[0])
    answer = answers.pack_student_t(model.fit_.degrees_of_freedom, unit, unit)
    return pack_linear(space, latent, answer)


def _pack_dual_columns(model: Any) -> Json:
    inner, outer = (
        columns.pack_features(model.features_),
        columns.pack_kernel_function(model.kernel_columns_),
    )
    space = {"kind": "chain", "of": [inner, outer]}
    return columns.center_columns(space, model.row_weights_, about_mean=model.fit_intercept)


def _pack_mean_only(coef: Array, intercept: Any) -> Json:
    return latents.pack_latent(np.atleast_2d(coef), np.atleast_1d(intercept))
