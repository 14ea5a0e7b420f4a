from posterity.inference.local.experts import (
    ExpertMixture,
    ExpertsProblem,
    MixtureFit,
    fit_experts,
)
from posterity.inference.local.gated_tree.depth import score_depths
from posterity.inference.local.gated_tree.hard import HardTree
from posterity.inference.local.gated_tree.soft import SoftTree
from posterity.inference.local.gated_tree.training import TreeFit, TreeTrainer
from posterity.inference.local.learned_features import fit_learned_features
from posterity.inference.local.stage_validation import validate_stages
from posterity.inference.local.stagewise import (
    AnyLikelihood,
    Stages,
    StagewiseFitter,
    StagewiseStep,
    prepare_stages,
)

__all__ = [
    "AnyLikelihood",
    "ExpertMixture",
    "ExpertsProblem",
    "HardTree",
    "MixtureFit",
    "SoftTree",
    "Stages",
    "StagewiseFitter",
    "StagewiseStep",
    "TreeFit",
    "TreeTrainer",
    "fit_experts",
    "fit_learned_features",
    "prepare_stages",
    "score_depths",
    "validate_stages",
]
