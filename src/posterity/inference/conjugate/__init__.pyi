from posterity.inference.conjugate.averaged import (
    AveragedPosterior,
    ColumnSubsets,
    ConjugatePosterior,
    average_points,
)
from posterity.inference.conjugate.dirichlet import (
    CategoryCounts,
    apply_rule_of_succession,
    compute_log_mean,
    learn_concentration,
)
from posterity.inference.conjugate.kernel_ridge import (
    CholeskyFit,
    KernelProblem,
    KernelRidgeFit,
    LeaveOneOut,
    LeaveOneOutPath,
    choose_penalty,
    reduce_kernel,
    solve_kernel_ridge,
)
from posterity.inference.conjugate.linear import (
    FlatFit,
    LinearProblem,
    WeightPosterior,
    reduce_statistics,
    refine_least_squares,
)
from posterity.inference.conjugate.variances import (
    compute_log_evidence,
    find_variance_points,
    integrate_noise,
    maximise_evidence,
    maximise_noise,
    maximise_tied_variances,
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
