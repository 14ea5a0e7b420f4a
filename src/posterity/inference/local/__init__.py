"""Models built from local parts: units added stagewise, mixtures of experts, gated trees."""

from posterity.inference.local.experts import ExpertsProblem, MixtureFit, fit_experts
from posterity.inference.local.gated_tree.depth import score_depths
from posterity.inference.local.gated_tree.hard import HardTree
from posterity.inference.local.gated_tree.training import TreeFit, TreeTrainer
from posterity.inference.local.learned_features import fit_learned_features
from posterity.inference.local.stagewise import AnyLikelihood, Stages, StagewiseStep, fit_stagewise

__all__ = [
    "AnyLikelihood",
    "ExpertsProblem",
    "HardTree",
    "MixtureFit",
    "Stages",
    "StagewiseStep",
    "TreeFit",
    "TreeTrainer",
    "fit_experts",
    "fit_learned_features",
    "fit_stagewise",
    "score_depths",
]
