from posterity.local.discrete import DiscreteClassifier
from posterity.local.experts import ExpertMixture, ExpertsProblem, MixtureFit, fit_experts
from posterity.local.gated_classifiers import MixtureOfExpertsClassifier
from posterity.local.gated_tree.hard import HardTree
from posterity.local.gated_tree.soft import SoftTree
from posterity.local.gated_tree.training import TreeFit, TreeTrainer, score_depths
from posterity.local.logistic_tree import LogisticTreeClassifier
from posterity.local.stage_validation import validate_stages
from posterity.local.stagewise import (
    AnyLikelihood,
    Stages,
    StagewiseFitter,
    StagewiseStep,
    prepare_stages,
)
from posterity.local.stagewise_estimators import StagewiseClassifier, StagewiseRegressor

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
