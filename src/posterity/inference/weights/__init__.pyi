from posterity.inference.weights.kernel_columns import KernelWeights, KernelWeightSearch
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.normal import WeightNormal
from posterity.inference.weights.problem import WeightProblem, Weights
from posterity.inference.weights.space import (
    LatentPosterior,
    LearnedWeights,
    WeightSpace,
    learn_weights,
    maximise_likelihood,
    refuse_free_weights,
)
from posterity.inference.weights.targets import RowTargets, TalliedTargets, count_targets
from posterity.inference.weights.variational import NearestNormal

__all__ = [
    "KernelWeightSearch",
    "KernelWeights",
    "LaplaceFit",
    "LatentPosterior",
    "LearnedWeights",
    "NearestNormal",
    "RowTargets",
    "TalliedTargets",
    "WeightNormal",
    "WeightProblem",
    "WeightSpace",
    "Weights",
    "count_targets",
    "learn_weights",
    "maximise_likelihood",
    "refuse_free_weights",
]
