"""The classes and functions that may be built from a file.

A name in a file is the module in which the thing first stood, without "posterity", and its first
name. It stays the same in files of all versions: where a thing has moved or was renamed, ``PLACES``
and ``RENAMED`` say where it is now.
"""

from __future__ import annotations

import functools
import importlib
import types
from collections.abc import Iterator, Sequence
from typing import Any

import sklearn

from posterity import estimators
from posterity.persistence import around
from posterity.persistence.errors import FileError

ROOMS = {  # beside the public estimators
    "kernels": """AdditiveChiSquared Categorical ChiSquared Columns Constant Cosine Function Graph
        Linear Matern Periodic Polynomial Product RBF RationalQuadratic Scaled ShortestPath
        Spectrum Subsequence SubsetTree Sum WeisfeilerLehman White""",
    "features": """Arctan Heaviside Identity KernelColumns LearnedArctan LearnedRadial Polynomial
        Radial""",
    "likelihoods": """Bernoulli Beta Categorical Gamma LogNormal NegativeBinomial Normal Ordinal
        Poisson StudentT""",
    "priors": "Flat Laplace Normal Sparse",
    "trees": "Columns Differences Function Orientations Projections",
    "comparison.lagged": "LaggedRegressor",
    "comparison.stacking": "StackedClassifier StackedRegressor",
    "designs.dense": "Dense",
    "designs.standardized": "Standardized",
    "designs.statistics": "Statistics",
    "classification.count_table": "CountTable",
    "inference.averaging": "PosteriorMixture",
    "inference.conjugate": "LinearProblem WeightPosterior",
    "inference.conjugate.averaged": "AveragedPosterior",
    "inference.conjugate.subsets": "SubsetAverage",
    "inference.dirichlet": "Table",
    "inference.inducing": "InducingPosterior",
    "inference.kernel_clusters": "Clusters",
    "inference.kernel_components": "KernelComponents",
    "inference.kernel_ridge": "LeaveOneOut",
    "inference.kernel_ridge_path": "LeaveOneOutPath",
    "inference.kernel_weights": "KernelWeights",
    "inference.laplace": "LaplaceFit",
    "inference.latent_targets": "LatentTargets",
    "inference.latents.descent": "Descent",
    "inference.latents.hierarchy": "Levels",
    "inference.latents.inducing_outputs": "InducingDecoder Part",
    "inference.latents.outputs": "ExactDecoder",
    "inference.latents.variational.posterior": "VariationalPosterior",
    "inference.logistic_tree": "Tree",
    "inference.logistic_tree_hard": "HardTree",
    "inference.maximum_likelihood": "FlatFit",
    "inference.mixture_of_experts": "Mixture",
    "inference.nearest_normal": "NearestNormal",
    "inference.observations": "Observations",
    "inference.principal": "Principal",
    "inference.process": "ProcessPosterior",
    "inference.process_laplace": "LaplacePosterior",
    "inference.process_nearest": "NearestPosterior",
    "inference.process_propagation": "PropagationPosterior",
    "inference.process_softmax": "SoftmaxPosterior",
    "inference.process_scale_mixture": "ScaleMixturePosterior",
    "inference.process_variational": "VariationalPosterior",
    "inference.weight_scale_mixture": "ScaleMixtureFit",
    "inference.projected": "ProjectedPosterior",
    "inference.separate_outputs": "SeparateOutputs",
    "inference.sites": "Sites",
    "inference.sparse_bayes.posterior": "SparsePosterior",
    "inference.sparse_bayes.query": "QueryColumn",
    "inference.spectrum": "Spectrum",
    "inference.stagewise": "Stages Step",
    "inference.weight_normal": "WeightNormal",
    "inference.weight_prior": "WeightPrior",
    "inference.weight_problem": "WeightProblem Weights",
    "inference.weight_space": "LatentPosterior WeightSpace",
    "inference.weight_targets": "RowTargets",
    "latent.latent_fit": "MapFit VariationalFit",
    "latent.fitted": "FittedGPLVM FittedHierarchy",
    "latent.kernel_k_means": "FittedClusters",
    "latent.kernel_pca": "FittedKernelPCA",
    "latent.motion": "Path",
    "latent.output_frame": "OutputFrame RowsSeen",
    "latent.parts": "Parts",
    "latent.principal_model": "FittedAxes",
    "models.latent_process": "LatentFit",
    "models.level_labels": "LevelLabels",
    "models.normal_fit": "NormalFit",
    "models.search_report": "SearchReport",
    "models.training": "Training",
    "models.vector_fit": "VectorFit",
    "optimize.optimum": "Optimum",
    "regression.process_mean": "Slopes",
    "regression.process_model": "Targets",
    "tables.exposures": "RateRegressor",
    "trees.boosting.boosted_trees": "BoostedTrees",
    "trees.boosting.calibration": "ClassCalibration",
    "trees.boosting.levels": "LeveledColumns",
    "trees.boosting.noise": "Noise",
    "trees.boosting.steps": "Steps",
    "trees.forests.class_forest": "ClassForest",
    "trees.forests.class_leaves": "ClassLeaves",
    "trees.forests.normal_forest": "NormalForest",
    "trees.forests.normal_leaves": "NormalLeaves",
    "trees.structure": "Trees",
    "vision": """BodyPartForest DepthDifferences DisplacementTracker Gabor HaarFeatures
        JointFinder PatchClassifier RandomField ShapeContexts SilhouettePose SurfaceLayout
        TextonBank TextonRectangles TextonSegmenter Textons WalkingModel WindowDetector""",
    "vision.fitted_walk": "FittedWalk",
    "vision.gait": "Gait",
    "vision.pose_experts": "PoseExperts",
    "vision.pose_regression": "PoseRegression",
    "vision.principal_frame": "PrincipalFrame",
    "vision.segments.merging": "SegmentMerging",
    "vision.kalman": "NormalState",
    "vision.tracking.background": "BackgroundModel",
    "vision.tracking.experts": "DisplacementExpert Reach Rows",
    "vision.tracking.verifier": "Candidate Verifier",
    "vision.tracking.windows": "WindowFrame",
    "vision.windows.calibration": "Calibration",
    "vision.windows.training": "Round",
    "vision.windows.window_sum": "WindowSum",
    "tables": """CategoryPart Column DatePart Dropped GroupPart LevelMeansPart NumberPart Profile
        Schema TableEncoder TableModel TextPart TrainingRange""",
}
FUNCTIONS = {"features.kernel_columns": "_linear"}
PLACES = {  # a module that files name: the module that holds its things now
    "inference.conjugate": "inference.conjugate.linear",
    "inference.dirichlet": "inference.conjugate.dirichlet",
    "inference.inducing": "inference.process.inducing.bound",
    "inference.kernel_clusters": "inference.components.clusters",
    "inference.kernel_components": "inference.components.kernel",
    "inference.kernel_ridge": "inference.conjugate.kernel_ridge",
    "inference.kernel_ridge_path": "inference.conjugate.ridge_path",
    "inference.kernel_weights": "inference.weights.kernel_columns",
    "inference.laplace": "inference.weights.laplace",
    "inference.latent_targets": "inference.process.latent.targets",
    "inference.latents.descent": "inference.gplvm.descent",
    "inference.latents.hierarchy": "inference.gplvm.hierarchy",
    "inference.latents.inducing_outputs": "inference.gplvm.inducing_outputs",
    "inference.latents.outputs": "inference.gplvm.outputs",
    "inference.latents.variational.posterior": "inference.gplvm.variational.posterior",
    "inference.logistic_tree": "inference.local.gated_tree.soft",
    "inference.logistic_tree_hard": "inference.local.gated_tree.hard",
    "inference.maximum_likelihood": "inference.conjugate.flat",
    "inference.mixture_of_experts": "inference.local.experts",
    "inference.nearest_normal": "inference.weights.variational",
    "inference.observations": "inference.process.observations",
    "inference.principal": "inference.components.principal",
    "inference.process": "inference.process.exact",
    "inference.process_laplace": "inference.process.latent.laplace",
    "inference.process_nearest": "inference.process.latent.variational",
    "inference.process_propagation": "inference.process.latent.propagation",
    "inference.process_softmax": "inference.process.softmax.laplace",
    "inference.process_scale_mixture": "inference.process.latent.scale_mixture",
    "inference.process_variational": "inference.process.softmax.variational",
    "inference.weight_scale_mixture": "inference.weights.scale_mixture",
    "inference.projected": "inference.process.latent.projected",
    "inference.separate_outputs": "inference.process.separate_outputs",
    "inference.sites": "inference.process.latent.sites",
    "inference.spectrum": "inference.components.spectrum",
    "inference.stagewise": "inference.local.stagewise",
    "inference.weight_normal": "inference.weights.normal",
    "inference.weight_prior": "inference.weights.prior",
    "inference.weight_problem": "inference.weights.problem",
    "inference.weight_space": "inference.weights.space",
    "inference.weight_targets": "inference.weights.targets",
    "models.latent_process": "models.latent_fit",
    "regression.process_mean": "kernels.mean_prior",
    "regression.process_model": "models.normal_fit",
    "latent.latent_fit": "inference.gplvm.latent_fit",
    "latent.motion": "inference.gplvm.paths",
}
RENAMED = {  # a name in files: the name of the thing now, where it is another
    "classification.IncrementalClassifier": "StagewiseClassifier",
    "regression.IncrementalRegressor": "StagewiseRegressor",
    "inference.dirichlet.Table": "CategoryCounts",
    "inference.logistic_tree.Tree": "SoftTree",
    "inference.mixture_of_experts.Mixture": "ExpertMixture",
    "inference.stagewise.Step": "StagewiseStep",
    "regression.process_model.Targets": "TargetScale",
}
TRAINING_ROWS = {  # attributes that contain training rows
    "classification.KernelLogisticRegression": "X_train_",
    "classification.count_table.CountTable": "values",
    "features.KernelColumns": "X_train_",
    "latent.kernel_k_means.FittedClusters": "X_train",
    "latent.kernel_pca.FittedKernelPCA": "X_train",
    "latent.latent_fit.MapFit": "Y",
    "latent.latent_fit.VariationalFit": "Y",
    "latent.output_frame.RowsSeen": "_Y",
    "models.latent_process.LatentFit": "X_train",
    "models.normal_fit.NormalFit": "X_train",
    "models.vector_fit.VectorFit": "X_train relevance_vectors",
    "regression.KernelRidgeRegression": "X_train_",
    **around.TRAINING_ROWS,
}


class Registry:
    """Map between file names and classes, of the library and of the caller."""

    def __init__(self, classes: Sequence[Any] = ()) -> None:
        self._own: dict[str, Any] = {}
        for thing in classes:
            if not isinstance(thing, type | types.FunctionType):
                raise TypeError(f"classes= must contain classes and functions, not {thing!r:.80}.")
            if (name := f"own.{thing.__qualname__}") in self._own:
                raise ValueError(f"classes= contains two things named {thing.__qualname__}.")
            self._own[name] = thing

    def find_name(self, thing: Any) -> str | None:
        """Return the file name of a class or function; None if it is unknown."""
        own = f"own.{thing.__qualname__}"
        if self._own.get(own) is thing:
            return own
        modules = thing.__module__.removeprefix("posterity.").split(".")
        for n in range(len(modules), 0, -1):
            name = _map_places_to_names().get(".".join([*modules[:n], thing.__name__]))
            if name is not None and self.find_class(name) is thing:
                return name
        return None

    def find_class(self, name: Any) -> Any:
        """Return the class or function of a file name, importing it if needed."""
        if isinstance(name, str) and name in self._own:
            return self._own[name]
        if not isinstance(name, str) or name not in list_known_names():
            raise FileError(
                f"The file contains {name!r:.80}, which this version of posterity does not have. "
                "If it is your class or function, pass it to load in classes=; otherwise "
                "upgrade posterity."
            )
        module, _, short = find_place(name).rpartition(".")
        if not module.startswith("sklearn."):
            return getattr(importlib.import_module(f"posterity.{module}"), short)
        return _find_in_sklearn(module, short)

    def is_caller_defined(self, thing: Any) -> bool:
        """Return whether a class or function was passed by the caller."""
        return any(thing is own for own in self._own.values())


@functools.cache
def list_known_names() -> frozenset[str]:
    """Return the names that files may contain."""
    tables = (ROOMS, FUNCTIONS, around.CLASSES, around.INNER, around.FUNCTIONS)
    return frozenset(_estimator_names()).union(*map(_expand_names, tables))


def _estimator_names() -> Iterator[str]:
    """The names of public estimators in files: the first that each of them had."""
    first = {f"{old.rpartition('.')[0]}.{now}": old for old, now in RENAMED.items()}
    for room, names in estimators.BY_ROOM.items():
        yield from (first.get(f"{room}.{name}", f"{room}.{name}") for name in names)


def find_place(name: str) -> str:
    """Return the current module and name of a file name."""
    module, _, short = name.rpartition(".")
    return f"{PLACES.get(module, module)}.{RENAMED.get(name, short)}"


@functools.cache
def _map_places_to_names() -> dict[str, str]:
    """Return file names by current module and name."""
    return {find_place(name): name for name in list_known_names()}


def _find_in_sklearn(module: str, short: str) -> Any:
    """Import a name of scikit-learn; raise FileError if this version lacks it."""
    try:
        if enabler := around.ENABLED_BY.get(f"{module}.{short}"):
            importlib.import_module(enabler)
        return getattr(importlib.import_module(module), short)
    except (ImportError, AttributeError) as error:
        raise FileError(
            f"The file contains {module}.{short}, which scikit-learn {sklearn.__version__} does "
            "not "
            "have: install the version that wrote the file (posterity inspect names it)."
        ) from error


def _expand_names(table: dict[str, str]) -> set[str]:
    def each() -> Iterator[str]:
        for module, names in table.items():
            yield from (f"{module}.{name}" for name in names.split())

    return set(each())
