"""Objects in files of an earlier layout: how their parts then become their parts now.

A class that changes the fields it keeps adds a function to ``UPGRADES`` under the name by which
files know it. The function takes the parts by name as any earlier file has them and returns those
of today, unchanged where they are so already.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeAlias

from posterity.persistence import fields, registry
from posterity.persistence.errors import FileError

Parts: TypeAlias = dict[str, Any]

_OF_ROWS = ("n_features_in_", "feature_names_in_")


def upgrade(name: str, parts: Parts) -> Parts:
    """The parts of an object of the class of this name, as this version has them."""
    change = UPGRADES.get(name)
    if change is None:
        return parts
    try:
        return change(parts)
    except (ValueError, TypeError, AttributeError, LookupError) as error:
        raise FileError(
            f"The file holds a {name.rpartition('.')[2]} of an earlier version that cannot be "
            f"read: {error!s:.200}."
        ) from error


def rename(**names: str) -> Callable[[Parts], Parts]:
    """The change of a class whose fields have other names now: ``rename(new="old")``.

    Examples
    --------
    >>> rename(width="scale")({"scale": 2.0, "n": 3})
    {'width': 2.0, 'n': 3}
    """
    now = {old: new for new, old in names.items()}

    def change(parts: Parts) -> Parts:
        renamed = {now.get(name, name): part for name, part in parts.items()}
        if len(renamed) < len(parts):
            raise ValueError("a field has both its old and its new name")
        return renamed

    return change


def complete(**values: Any) -> Callable[[Parts], Parts]:
    """The change of a class with parameters that earlier files lack, and their values there.

    Examples
    --------
    >>> complete(hyperparameters="maximise")({"n": 3})
    {'n': 3, 'hyperparameters': 'maximise'}
    """
    return lambda parts: parts | {name: v for name, v in values.items() if name not in parts}


def _add_order(after: str) -> Callable[[Parts], Parts]:
    """The change of a family of tests that went by the places of columns, which it still does."""

    def change(parts: Parts) -> Parts:
        if "order" in parts:
            return parts
        first = list(parts).index(after) + 1
        parted = list(parts.items())
        return dict([*parted[:first], ("order", None), *parted[first:]])

    return change


_LATENT, _NORMAL = "models.latent_process.LatentFit", "models.normal_fit.NormalFit"
_SEARCH = ("stop_reason", "n_iter", "at_bounds", "restarts_log_evidence", "irrelevant_inputs")


def _take_search(parts: Parts) -> Any:
    """How parameters were found, which a model of a process once held by itself."""
    return _build("models.search_report.SearchReport", {n: parts.pop(f"{n}_") for n in _SEARCH})


def _gather_process(parts: Parts) -> Parts:
    """A regressor whose fit is one record."""
    if "kernel_" not in parts:
        return parts
    left = dict(parts)
    search, training = _take_search(left), left.pop("_training")
    found = {
        "kernel": left.pop("kernel_"),
        "posterior": left.pop("posterior_"),
        "log_evidence": left.pop("log_evidence_"),
        "inducing_points": left.pop("inducing_points_", None),
        "X_train": left.pop("X_train_"),
        "search": search,
        "single_output": left.pop("_single_output"),
        "asked": left.pop("_learned_for"),
    }
    left.pop("_n_outputs", None)
    if "likelihood_" in left:
        found["likelihood"] = left.pop("likelihood_")
        return left | {"_fitted": _build(_LATENT, found)}
    found |= {
        "noise_variance": left.pop("noise_variance_"),
        "jitter": left.pop("jitter_", None),
        "evidence_gap": left.pop("evidence_gap_"),
        "targets": left.pop("_targets"),
        "learned_noise": left.pop("_learned_noise"),
        "training": training,
    }
    return left | {"_fitted": _build(_NORMAL, found)}


def _gather_classifier(parts: Parts) -> Parts:
    """A classifier by a process whose fit is one record."""
    if "kernel_" not in parts:
        return parts
    left, n_classes, find = dict(parts), len(parts["classes_"]), registry.Registry().find_class
    given = () if n_classes == 2 else (n_classes,)
    likelihood = find(f"likelihoods.{'Categorical' if given else 'Bernoulli'}")
    found = {
        "kernel": left.pop("kernel_"),
        "likelihood": likelihood(*given, averaging=left["averaging"]),
        "posterior": left.pop("posterior_"),
        "log_evidence": left.pop("log_evidence_"),
        "inducing_points": left.pop("inducing_points_", None),
        "X_train": left.pop("X_train_"),
        "search": _take_search(left),
        "single_output": True,
        "asked": left.pop("_learned_for"),
    }
    return left | {"_fitted": _build(_LATENT, found)}


def _build(name: str, parts: Parts) -> Any:
    """A record of the class of this name, if these can be its parts."""
    record = registry.Registry().find_class(name)
    ordered = {field.name: parts[field.name] for field in dataclasses.fields(record)}
    fields.check_fields(record, ordered, types_too=True)
    return fields.build_object(record, ordered)


def gather(name: str, **places: str) -> Callable[[Parts], Parts]:
    """The change of an estimator whose fit left its results one by one, and leaves a record now.

    The field ``slope`` of the record was in ``slope_``, or where ``places`` says; what else the
    fit had left, the record works out. Current files do not contain ``places``.
    """
    earlier = set(places.values()) - {"_fitted"}

    def change(parts: Parts) -> Parts:
        if not earlier & parts.keys():
            return parts
        names = (field.name for field in dataclasses.fields(registry.Registry().find_class(name)))
        record = _build(name, {n: parts.get(places.get(n, f"{n}_")) for n in names})
        of_fit = {n for n in parts if n[0] == "_" or (n[-1] == "_" and n not in _OF_ROWS)}
        kept = {n: part for n, part in parts.items() if n not in of_fit}
        return kept | {"_fitted": record}

    return change


def _gather_vectors(parts: Parts) -> Parts:
    """A model of relevance vectors whose fit is one record."""
    if "relevance_" not in parts:
        return parts
    left, name = dict(parts), "models.vector_fit.VectorFit"
    earlier = {"query": "_query", "single_output": "_single_output", "likelihood": ""}
    found = {"at_bounds_": (), "_single_output": True}
    record = {
        field.name: left.pop(place, found.get(place))
        for field in dataclasses.fields(registry.Registry().find_class(name))
        for place in [earlier.get(field.name, f"{field.name}_")]
    }
    return left | {"_fitted": _build(name, record)}


def _name_labels(parts: Parts) -> Parts:
    """A model of tables whose classes were text, with a schema that was always given."""
    renamed = rename(labels_="classes_")(parts)
    return complete(schema_=parts["schema"], label_kind_="text")(renamed)


def _list_groups(parts: Parts) -> Parts:
    """A schema with one column of groups, or none."""
    groups = parts["groups"]
    if groups is None:
        return parts | {"groups": ()}
    return parts | {"groups": (groups,)} if isinstance(groups, str) else parts


def _list_group_columns(parts: Parts) -> Parts:
    """The groups of one column."""
    if "columns" in parts:
        return parts
    return {"columns": (parts["name"],), "levels": parts["levels"]}


_FOREST = {"splits": "tests", "max_features": "n_tests", "min_samples_leaf": "min_leaf"}
_CLASS_FOREST = {**_FOREST, "oob_score_": "oob_accuracy_"}

_LOGIT_BOOST = {
    "max_features": "n_tests",
    "n_estimators": "n_rounds",
    "n_estimators_": "n_rounds_",
    "n_iter_no_change": "patience",
    "n_thresholds": "n_offsets",
    "splits": "tests",
    "splits_": "tests_",
}

_AXES = gather(
    "latent.principal_model.FittedAxes", principal="_principal", statistics="_statistics"
)

_MAXIMISED = complete(hyperparameters="maximise")

UPGRADES: dict[str, Callable[[Parts], Parts]] = {
    "classification.GaussianProcessClassifier": _gather_classifier,
    "classification.LogitBoostClassifier": lambda parts: complete(
        resample_features=False, warm_start=False
    )(rename(**_LOGIT_BOOST)(parts)),
    "classification.RandomFernClassifier": rename(n_estimators="n_ferns", **_CLASS_FOREST),
    "classification.RandomForestClassifier": rename(n_estimators="n_trees", **_CLASS_FOREST),
    "classification.RandomTreeClassifier": rename(**_CLASS_FOREST),
    "regression.GaussianProcessRegressor": _gather_process,
    "classification.RelevanceVectorClassifier": _gather_vectors,
    "regression.RelevanceVectorRegressor": _gather_vectors,
    "regression.KernelRidgeRegression": rename(alpha="penalty", alpha_="penalty_"),
    "regression.RandomFernRegressor": rename(n_estimators="n_ferns", **_FOREST),
    "regression.RandomForestRegressor": rename(n_estimators="n_trees", **_FOREST),
    "regression.RandomTreeRegressor": lambda parts: complete(sharpness=1.0)(
        rename(**_FOREST)(parts)
    ),
    "inference.stagewise.Stages": complete(n_validated=0.0),
    "regression.BayesianLinearRegression": _MAXIMISED,
    "regression.DualLinearRegression": _MAXIMISED,
    "regression.RidgeRegression": lambda parts: _MAXIMISED(rename(alpha="penalty")(parts)),
    "kernels.Columns": complete(complement=False),
    "tables.TableModel": _name_labels,
    "tables.CategoryPart": complete(missing_words=(), spellings=()),
    "tables.Column": complete(unit="", missing_words=(), spellings=()),
    "tables.DatePart": complete(missing_words=()),
    "tables.NumberPart": complete(unit="", missing_words=(), keep_missing=False),
    "tables.TableEncoder": complete(keep_missing=False),
    "tables.GroupPart": _list_group_columns,
    "tables.Schema": lambda parts: _list_groups(
        complete(time=None, groups=(), blocks=(), missing=(), exposure=None)(parts)
    ),
    "trees.boosting.levels.LeveledColumns": _add_order("_n_edges"),
    "trees.boosting.noise.Noise": complete(log_exposure=0.0),
    "trees.Columns": _add_order("_n_edges"),
    **dict.fromkeys(
        ("trees.Differences", "trees.Orientations", "trees.Projections"), _add_order("unit")
    ),
    "latent.GPLVM": gather(
        "latent.fitted.FittedGPLVM", frame="_frame", groups="_groups", model="_fitted"
    ),
    "latent.HierarchicalGPLVM": gather(
        "latent.fitted.FittedHierarchy",
        frame="_frame",
        seen="_seen",
        descent="_descent",
        path_kernel="dynamics_",
    ),
    "latent.KernelKMeans": gather(
        "latent.kernel_k_means.FittedClusters", clusters="_clusters", means="_means"
    ),
    "latent.KernelPCA": gather("latent.kernel_pca.FittedKernelPCA", components="_components"),
    "latent.PCA": _AXES,
    "latent.Whitening": lambda parts: _AXES(rename(tol="tolerance")(parts)),
}
