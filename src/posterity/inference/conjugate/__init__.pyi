from posterity.inference.conjugate.averaged import (
    AveragedPosterior,
    average_points,
)
from posterity.inference.conjugate.dirichlet import (
    CategoryCounts,
    apply_rule_of_succession,
    compute_log_mean,
    learn_concentration,
)
from posterity.inference.conjugate.evidence import (
    compute_log_evidence,
    maximise_evidence,
    maximise_noise,
    maximise_tied_variances,
)
from posterity.inference.conjugate.flat import FlatFit, refine_least_squares
from posterity.inference.conjugate.kernel_ridge import (
    CholeskyFit,
    KernelProblem,
    KernelRidgeFit,
    LeaveOneOut,
    reduce_kernel,
    solve_kernel_ridge,
)
from posterity.inference.conjugate.linear import LinearProblem, WeightPosterior, reduce_statistics
from posterity.inference.conjugate.ridge_path import LeaveOneOutPath, choose_penalty
from posterity.inference.conjugate.subsets import (
    ColumnSubsets,
    ConjugatePosterior,
    SubsetAverage,
)
from posterity.inference.conjugate.variance_points import (
    find_variance_points,
    integrate_noise,
)

__all__ = [
    "AveragedPosterior",
    "CategoryCounts",
    "CholeskyFit",
    "ColumnSubsets",
    "ConjugatePosterior",
    "FlatFit",
    "KernelProblem",
    "KernelRidgeFit",
    "LeaveOneOut",
    "LeaveOneOutPath",
    "LinearProblem",
    "SubsetAverage",
    "WeightPosterior",
    "apply_rule_of_succession",
    "average_points",
    "choose_penalty",
    "compute_log_evidence",
    "compute_log_mean",
    "find_variance_points",
    "integrate_noise",
    "learn_concentration",
    "maximise_evidence",
    "maximise_noise",
    "maximise_tied_variances",
    "reduce_kernel",
    "reduce_statistics",
    "refine_least_squares",
    "solve_kernel_ridge",
]
