"""Pack fitted classifiers as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from posterity import classification
from posterity.arrays import Array
from posterity.classification import classes, forest_model, weight_model
from posterity.inference.local import HardTree
from posterity.report.what_if import answers, columns, latents, trees
from posterity.report.what_if.forms import form, linear, process
from posterity.report.what_if.packing import Json, NoFormError


@form.register
def _pack_weight_classifier(model: weight_model.WeightClassifier) -> Json:
    return _weighted(model, columns.of(model.features_), model.coef_)


@form.register
def _pack_sparse_logistic_regression(model: classification.SparseLogisticRegression) -> Json:
    space = columns.chosen(columns.of(model.features_), model.relevance_)
    return _weighted(model, space, model.coef_[:, model.relevance_])


@form.register
def _pack_dual_logistic_regression(model: classification.DualLogisticRegression) -> Json:
    inner, outer = columns.of(model.features_), columns.of_function(model.kernel_columns_)
    space = columns.centred(
        {"kind": "chain", "of": [inner, outer]}, model.row_weights_, about_mean=model.fit_intercept
    )
    return _weighted(model, space, model.column_coef_.T)


@form.register
def _pack_kernel_logistic_regression(model: classification.KernelLogisticRegression) -> Json:
    found = model.posterior_
    t, W, n = found.fit.problem.targets, found.fit.weights.W, len(found.weights)
    has_offset = len(W) > n
    space = columns.centred(
        columns.of_kernel(found.kernel, found.X), found.weights, about_mean=has_offset
    )
    coef = (W[:n] @ t.Q.T).T
    posterior = latents.spread(found)
    own = t.Q @ W[n] - coef @ np.array(posterior["center"]) if has_offset else 0.0
    return linear(space, latents.of(coef, t.shift + own, posterior), _averaged(model))


@form.register
def _pack_relevance_vector_classifier(model: classification.RelevanceVectorClassifier) -> Json:
    if model.query_column:
        raise NoFormError("With query_column=True every query is fitted separately.")
    space = columns.of_kernel(model.kernel_, model.relevance_vectors_)
    return _weighted(model, space, model.dual_coef_)


@form.register
def _pack_gaussian_process_classifier(model: classification.GaussianProcessClassifier) -> Json:
    return process(model.posterior_, _averaged(model), 1.0)


@form.register
def _pack_stagewise_classifier(model: classification.StagewiseClassifier) -> Json:
    space = {"kind": "none"} if model.units_ is None else columns.of(model.units_)
    coef, intercept = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    return linear(space, latents.of(coef, intercept), answers.certain())


@form.register
def _pack_logit_boost_classifier(model: classification.LogitBoostClassifier) -> Json:
    return trees.of_steps(model.steps_, model.splits_)


@form.register
def _pack_forest_classifier(model: forest_model.ForestClassifier) -> Json:
    return trees.of_classes(model.forest_)


@form.register
def _pack_mixture_of_experts_classifier(model: classification.MixtureOfExpertsClassifier) -> Json:
    return {"kind": "experts", **_gated(model)}


@form.register
def _pack_logistic_tree_classifier(model: classification.LogisticTreeClassifier) -> Json:
    grown = model.tree_
    tree = grown.tree if isinstance(grown, HardTree) else grown
    return {
        "kind": "logistic_tree",
        **_gated(model),
        "first": tree.first,
        "steepness": tree.steepness,
        "hard": tree is not grown,
    }


def _gated(model: Any) -> Json:
    """Pack gates and experts, which are linear in the same columns."""
    experts = zip(model.expert_coef_, model.expert_intercept_, strict=True)
    return {
        "columns": columns.of(model.features_),
        "gates": latents.of(np.atleast_2d(model.gate_coef_), np.atleast_1d(model.gate_intercept_)),
        "experts": [latents.of(np.atleast_2d(w), np.atleast_1d(b)) for w, b in experts],
    }


def _weighted(model: Any, space: Json, coef: Array) -> Json:
    posterior = None if model.posterior_ is None else latents.spread(model.posterior_)
    latent = latents.of(coef, model.intercept_, posterior)
    return linear(space, latent, answers.certain() if posterior is None else _averaged(model))


def _averaged(model: Any) -> Json:
    return answers.of(classes.likelihood_of(len(model.classes_), model.averaging))
