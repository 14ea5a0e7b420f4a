from posterity.local.discrete import DiscreteClassifier
from posterity.local.experts import ExpertMixture, ExpertsProblem, MixtureFit, fit_experts
from posterity.local.gated_tree.depth import score_depths
from posterity.local.gated_tree.hard import HardTree
from posterity.local.gated_tree.soft import SoftTree
from posterity.local.gated_tree.training import TreeFit, TreeTrainer
from posterity.local.logistic_tree import LogisticTreeClassifier
from posterity.local.mixture_of_experts import MixtureOfExpertsClassifier
from posterity.local.stage_validation import validate_stages
from posterity.local.stagewise import (
    AnyLikelihood,
    Stages,
    StagewiseFitter,
    StagewiseStep,
    prepare_stages,
)
from posterity.local.stagewise_classifier import StagewiseClassifier
from posterity.local.stagewise_regressor import StagewiseRegressor

__all__ = [
    "AnyLikelihood",
    "DiscreteClassifier",
    "ExpertMixture",
    "ExpertsProblem",
    "HardTree",
    "LogisticTreeClassifier",
    "MixtureFit",
    "MixtureOfExpertsClassifier",
    "SoftTree",
    "Stages",
    "StagewiseClassifier",
    "StagewiseFitter",
    "StagewiseRegressor",
    "StagewiseStep",
    "TreeFit",
    "TreeTrainer",
    "fit_experts",
    "prepare_stages",
    "score_depths",
    "validate_stages",
]
