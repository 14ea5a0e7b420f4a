from posterity.inference.search import draw_random_starts, maximise_evidence
from posterity.process.classifier import GaussianProcessClassifier
from posterity.process.exact import Evidence, ProcessPosterior, jitter_variance
from posterity.process.inducing.bound import InducingPosterior, condition_on_points
from posterity.process.inducing.partitions import (
    PartitionedRows,
    PartitionedTraining,
    check_process_source,
    select_present_rows,
)
from posterity.process.inducing.search import maximise_inducing_bound
from posterity.process.kernel_logistic import KernelLogisticRegression
from posterity.process.kernel_ridge import KernelRidgeRegression
from posterity.process.latent.condensed import CondensedPosterior
from posterity.process.latent.density import LatentTargets
from posterity.process.latent.problem import LatentProblem, LearnedLatent
from posterity.process.latent.projected import ProjectedPosterior, choose_points
from posterity.process.latent.site_posterior import SiteEvidence, SitePosterior
from posterity.process.regressor import GaussianProcessRegressor
from posterity.process.search import ProcessProblem, draw_further_starts
from posterity.process.separate_outputs import SeparateOutputs
from posterity.process.softmax.posterior import SoftmaxEvidence, SoftmaxPosterior
from posterity.process.softmax.shared import SharedSoftmaxPosterior

__all__ = [
    "CondensedPosterior",
    "Evidence",
    "GaussianProcessClassifier",
    "GaussianProcessRegressor",
    "InducingPosterior",
    "KernelLogisticRegression",
    "KernelRidgeRegression",
    "LatentProblem",
    "LatentTargets",
    "LearnedLatent",
    "PartitionedRows",
    "PartitionedTraining",
    "ProcessPosterior",
    "ProcessProblem",
    "ProjectedPosterior",
    "SeparateOutputs",
    "SharedSoftmaxPosterior",
    "SiteEvidence",
    "SitePosterior",
    "SoftmaxEvidence",
    "SoftmaxPosterior",
    "check_process_source",
    "choose_points",
    "condition_on_points",
    "draw_further_starts",
    "draw_random_starts",
    "jitter_variance",
    "maximise_evidence",
    "maximise_inducing_bound",
    "select_present_rows",
]
