"""Latent points: unknown inputs of a Gaussian process, found with it from its outputs."""

from posterity.inference.gplvm.descent import Descent
from posterity.inference.gplvm.hierarchy import (
    HierarchyPlan,
    LearnedHierarchy,
    Levels,
    fit_hierarchy,
)
from posterity.inference.gplvm.inducing_outputs import InducingOutputs
from posterity.inference.gplvm.locating import (
    Located,
    decode_normal_points,
    locate,
    locate_along,
    locate_along_at,
    locate_at,
)
from posterity.inference.gplvm.outputs import ExactOutputs
from posterity.inference.gplvm.placements import (
    FreePlacement,
    MappedPlacement,
    Placement,
    compute_back_features,
)
from posterity.inference.gplvm.search import LatentPointProblem, maximise_latent_points
from posterity.inference.gplvm.starting import (
    PrincipalStart,
    fill_missing_outputs,
    find_principal_start,
)
from posterity.inference.gplvm.terms import (
    Decoder,
    LatentPrior,
    OutputTerm,
    StandardNormalPrior,
    Volume,
)
from posterity.inference.gplvm.trajectories import TrajectoryPrior
from posterity.inference.gplvm.variational.fitting import fit_variational
from posterity.inference.gplvm.variational.posterior import (
    VariationalPosterior,
    condition_variational,
)
from posterity.inference.gplvm.variational.relevance import compute_relevances

__all__ = [
    "Decoder",
    "Descent",
    "ExactOutputs",
    "FreePlacement",
    "HierarchyPlan",
    "InducingOutputs",
    "LatentPointProblem",
    "LatentPrior",
    "LearnedHierarchy",
    "Levels",
    "Located",
    "MappedPlacement",
    "OutputTerm",
    "Placement",
    "PrincipalStart",
    "StandardNormalPrior",
    "TrajectoryPrior",
    "VariationalPosterior",
    "Volume",
    "compute_back_features",
    "compute_relevances",
    "condition_variational",
    "decode_normal_points",
    "fill_missing_outputs",
    "find_principal_start",
    "fit_hierarchy",
    "fit_variational",
    "locate",
    "locate_along",
    "locate_along_at",
    "locate_at",
    "maximise_latent_points",
]
