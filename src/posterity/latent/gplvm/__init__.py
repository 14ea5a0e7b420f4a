"""Latent points: unknown inputs of a Gaussian process, found with it from its outputs."""

from posterity.latent.gplvm.descent import Descent
from posterity.latent.gplvm.hierarchy import HierarchyPlan, LearnedHierarchy, Levels, fit_hierarchy
from posterity.latent.gplvm.latent_fit import (
    MapFit,
    Placed,
    VariationalFit,
    compute_widening,
    locate_left_out,
    measure_left_out_noise,
)
from posterity.latent.gplvm.row_outputs import RowHypotheses, find_hypotheses, weigh_by_motion
from posterity.latent.gplvm.terms import StandardNormalPrior
from posterity.latent.gplvm.training import LatentPlan, fit_latent_points
from posterity.latent.gplvm.trajectories import Path, TrajectoryPrior

__all__ = [
    "Descent",
    "HierarchyPlan",
    "LatentPlan",
    "LearnedHierarchy",
    "Levels",
    "MapFit",
    "Path",
    "Placed",
    "RowHypotheses",
    "StandardNormalPrior",
    "TrajectoryPrior",
    "VariationalFit",
    "compute_widening",
    "find_hypotheses",
    "fit_hierarchy",
    "fit_latent_points",
    "locate_left_out",
    "measure_left_out_noise",
    "weigh_by_motion",
]
