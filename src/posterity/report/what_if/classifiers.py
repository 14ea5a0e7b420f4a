"""Pack fitted classifiers as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from posterity import linear, local, process, sparse, trees
from posterity.arrays import Array
from posterity.linear import weight_classifier
from posterity.local import HardTree
from posterity.models import classes
from posterity.report.what_if import answers, columns, latents
from posterity.report.what_if import trees as tree_forms
from posterity.report.what_if.forms import pack_average, pack_estimator, pack_linear, pack_process
from posterity.report.what_if.packing import Json, NoFormError
from posterity.trees.boosting.levels import LeveledColumns
from posterity.trees.estimators import forest_model


@pack_estimator.register
def _pack_weight_classifier(model: weight_classifier.WeightClassifier) -> Json:
    return _pack_weights(model, columns.pack_features(model.features_), model.coef_)


@pack_estimator.register
def _pack_sparse_logistic_regression(model: sparse.SparseLogisticRegression) -> Json:
    space = columns.select_columns(columns.pack_features(model.features_), model.relevance_)
    return _pack_weights(model, space, model.coef_[:, model.relevance_])


@pack_estimator.register
def _pack_dual_logistic_regression(model: linear.DualLogisticRegression) -> Json:
    inner, outer = (
        columns.pack_features(model.features_),
        columns.pack_kernel_function(model.kernel_columns_),
    )
    space = columns.center_columns(
        {"kind": "chain", "of": [inner, outer]}, model.row_weights_, about_mean=model.fit_intercept
    )
    return _pack_weights(model, space, model.column_coef_.T)


@pack_estimator.register
def _pack_kernel_logistic_regression(model: process.KernelLogisticRegression) -> Json:
    return pack_average(model.posterior_, lambda part: _pack_kernel_weights(model, part))


def _pack_kernel_weights(model: process.KernelLogisticRegression, found: Any) -> Json:
    t, W, n = found.fit.problem.targets, found.fit.weights.W, len(found.weights)
    has_offset = len(W) > n
    space = columns.center_columns(
        columns.pack_library_kernel(found.kernel, found.X), found.weights, about_mean=has_offset
    )
    coef = (W[:n] @ t.Q.T).T
    posterior = latents.pack_covariance(found)
    own = t.Q @ W[n] - coef @ np.array(posterior["center"]) if has_offset else 0.0
    return pack_linear(
        space, latents.pack_latent(coef, t.shift + own, posterior), _pack_averaging(model)
    )


@pack_estimator.register
def _pack_relevance_vector_classifier(model: sparse.RelevanceVectorClassifier) -> Json:
    if model.query_column:
        raise NoFormError("With query_column=True every query is fitted separately.")
    space = columns.pack_library_kernel(model.kernel_, model.relevance_vectors_)

    def pack(part: Any) -> Json:
        coef, intercept = part.original_units()
        latent = latents.pack_latent(coef.T, intercept, latents.pack_covariance(part))
        return pack_linear(space, latent, _pack_averaging(model))

    return pack_average(model.posterior_, pack)


@pack_estimator.register
def _pack_gaussian_process_classifier(model: process.GaussianProcessClassifier) -> Json:
    answer = _pack_averaging(model)
    return pack_average(model.posterior_, lambda part: pack_process(part, answer, 1.0))


@pack_estimator.register
def _pack_stagewise_classifier(model: local.StagewiseClassifier) -> Json:
    space = {"kind": "none"} if model.units_ is None else columns.pack_features(model.units_)
    coef, intercept = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    return pack_linear(space, latents.pack_latent(coef, intercept), answers.pack_point_classes())


@pack_estimator.register
def _pack_logit_boost_classifier(model: trees.LogitBoostClassifier) -> Json:
    return tree_forms.pack_steps(model.steps_, model.splits_)


@pack_estimator.register
def _pack_boosted_trees_classifier(model: trees.BoostedTreesClassifier) -> Json:
    if isinstance(model.splits_, LeveledColumns):
        raise NoFormError("Boosted trees of categorical columns cannot run in a page.")
    return tree_forms.pack_boosted_classes(model.trees_, model.splits_, model.calibration_)


@pack_estimator.register
def _pack_forest_classifier(model: forest_model.ForestClassifier) -> Json:
    return tree_forms.pack_class_forest(model.forest_)


@pack_estimator.register
def _pack_mixture_of_experts_classifier(model: local.MixtureOfExpertsClassifier) -> Json:
    return {"kind": "experts", **_pack_gates_and_experts(model)}


@pack_estimator.register
def _pack_logistic_tree_classifier(model: local.LogisticTreeClassifier) -> Json:
    grown = model.tree_
    tree = grown.tree if isinstance(grown, HardTree) else grown
    return {
        "kind": "logistic_tree",
        **_pack_gates_and_experts(model),
        "first": tree.first,
        "steepness": tree.steepness,
        "hard": tree is not grown,
    }


def _pack_gates_and_experts(model: Any) -> Json:
    """Pack gates and experts, which are linear in the same columns."""
    experts = zip(model.expert_coef_, model.expert_intercept_, strict=True)
    return {
        "columns": columns.pack_features(model.features_),
        "gates": latents.pack_latent(
            np.atleast_2d(model.gate_coef_), np.atleast_1d(model.gate_intercept_)
        ),
        "experts": [latents.pack_latent(np.atleast_2d(w), np.atleast_1d(b)) for w, b in experts],
    }


def _pack_weights(model: Any, space: Json, coef: Array) -> Json:
    posterior = None if model.posterior_ is None else latents.pack_covariance(model.posterior_)
    latent = latents.pack_latent(coef, model.intercept_, posterior)
    return pack_linear(
        space, latent, answers.pack_point_classes() if posterior is None else _pack_averaging(model)
    )


def _pack_averaging(model: Any) -> Json:
    return answers.pack_likelihood(
        classes.likelihood_of_classes(len(model.classes_), model.averaging)
    )
