"""Pack fitted regressors as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from posterity import regression
from posterity.arrays import Array
from posterity.regression import flat, forest_model, generalized
from posterity.regression import posterior as posterior_model
from posterity.report.what_if import answers, columns, latents, trees
from posterity.report.what_if.forms import form, linear, process
from posterity.report.what_if.packing import Json, NoFormError


@form.register
def _pack_posterior_model(model: posterior_model.PosteriorModel) -> Json:
    return _conjugate(model, columns.of(model.features_), model.coef_)


@form.register
def _pack_ridge_regression(model: regression.RidgeRegression) -> Json:
    space, coef = columns.of(model.features_), model.coef_
    if model.has_ones:
        return _conjugate(model, columns.with_ones(space), np.append(coef, 0.0))
    return _conjugate(model, space, coef)


@form.register
def _pack_sparse_linear_regression(model: regression.SparseLinearRegression) -> Json:
    space = columns.chosen(columns.of(model.features_), model.relevance_)
    return _conjugate(model, space, model.coef_[model.relevance_])


@form.register
def _pack_flat_model(model: flat.FlatModel) -> Json:
    return _least_squares(model, columns.of(model.features_), model.coef_)


@form.register
def _pack_dual_linear_regression(model: regression.DualLinearRegression) -> Json:
    space = _dual_columns(model)
    build = _conjugate if model.prior == "normal" else _least_squares
    return build(model, space, model.column_coef_)


@form.register
def _pack_lq_regression(model: regression.LqRegression) -> Json:
    latent = _mean_only(model.coef_, model.intercept_)
    if model.loss_power == 2.0:
        return linear(columns.of(model.features_), latent, answers.normal(model.noise_variance_))
    answer = {"kind": "general_normal", "scale": model.noise_scale_, "power": model.loss_power}
    return linear(columns.of(model.features_), latent, answer)


@form.register
def _pack_likelihood_regressor(model: generalized.LikelihoodRegressor) -> Json:
    latent = latents.of(
        model.coef_[None], np.array([model.intercept_]), latents.spread(model.posterior_)
    )
    return linear(columns.of(model.features_), latent, answers.of(model.likelihood_))


@form.register
def _pack_stagewise_regressor(model: regression.StagewiseRegressor) -> Json:
    space = {"kind": "none"} if model.units_ is None else columns.of(model.units_)
    answer = answers.certain_number(model.likelihood_)
    return linear(space, _mean_only(model.coef_, model.intercept_), answer)


@form.register
def _pack_kernel_ridge_regression(model: regression.KernelRidgeRegression) -> Json:
    space = columns.of_kernel(model.kernel_, model.X_train_)
    latent = _mean_only(model.dual_coef_, model.intercept_)
    return linear(space, latent, answers.normal(model.noise_variance_))


@form.register
def _pack_relevance_vector_regressor(model: regression.RelevanceVectorRegressor) -> Json:
    if model.query_column:
        raise NoFormError("With query_column=True every query is fitted separately.")
    space = columns.of_kernel(model.kernel_, model.relevance_vectors_)
    return _conjugate(model, space, model.dual_coef_)


@form.register
def _pack_gaussian_process_regressor(model: regression.GaussianProcessRegressor) -> Json:
    if hasattr(model, "likelihood_"):
        return process(model.posterior_, answers.of(model.likelihood_), 1.0)
    scale, center = float(model.target_scale_[0]), float(model.target_center_[0])
    answer = answers.normal(model.noise_variance_, scale=scale, center=center)
    return process(model.posterior_, answer, float(model.noise_variance_) / scale**2)


@form.register
def _pack_forest_regressor(model: forest_model.ForestRegressor) -> Json:
    return trees.of_numbers(model.forest_)


def _conjugate(model: Any, space: Json, coef: Array) -> Json:
    """Pack a normal posterior of the weights with normal noise."""
    posterior = latents.spread(model.posterior_)
    latent = latents.of(np.atleast_2d(coef), np.atleast_1d(model.intercept_), posterior)
    return linear(space, latent, answers.normal(model.noise_variance_))


def _least_squares(model: Any, space: Json, coef: Array) -> Json:
    """Pack a model with a flat prior, whose prediction is a Student-t or a plug-in normal."""
    if model.predictive == "plug_in":
        answer = answers.normal(model.noise_variance_)
        return linear(space, _mean_only(coef, model.intercept_), answer)
    posterior = latents.spread(model.fit_.weights)
    latent = latents.of(np.atleast_2d(coef), np.atleast_1d(model.intercept_), posterior)
    if model.has_known_noise:
        return linear(space, latent, answers.normal(model.noise_variance_))
    if model.fit_.degrees_of_freedom <= 0:
        raise NoFormError("The weights fit all rows exactly, so the noise cannot be estimated.")
    unit = float(model.fit_.unbiased_noise_variance[0])
    answer = answers.student_t_of(model.fit_.degrees_of_freedom, unit, unit)
    return linear(space, latent, answer)


def _dual_columns(model: Any) -> Json:
    inner, outer = columns.of(model.features_), columns.of_function(model.kernel_columns_)
    space = {"kind": "chain", "of": [inner, outer]}
    return columns.centred(space, model.row_weights_, about_mean=model.fit_intercept)


def _mean_only(coef: Array, intercept: Any) -> Json:
    return latents.of(np.atleast_2d(coef), np.atleast_1d(intercept))
