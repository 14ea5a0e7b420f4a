from posterity.inference.search import draw_random_starts, maximise_evidence
from posterity.process.classifier import GaussianProcessClassifier
from posterity.process.exact import Evidence, ProcessPosterior, jitter_variance
from posterity.process.inducing.bound import InducingPosterior, condition_on_points
from posterity.process.inducing.search import maximise_inducing_bound
from posterity.process.kernel_logistic import KernelLogisticRegression
from posterity.process.kernel_ridge import KernelRidgeRegression
from posterity.process.latent.condensed import CondensedPosterior
from posterity.process.latent.laplace import LaplaceEvidence, LaplacePosterior
from posterity.process.latent.projected import ProjectedPosterior, choose_points
from posterity.process.latent.propagation import PropagationEvidence, PropagationPosterior
from posterity.process.latent.scale_mixture import ScaleMixtureEvidence, ScaleMixturePosterior
from posterity.process.latent.search import LatentProblem, LearnedLatent
from posterity.process.latent.site_posterior import SitePosterior
from posterity.process.latent.targets import LatentTargets
from posterity.process.latent.variational import NearestPosterior
from posterity.process.partitioned_training import (
    PartitionedRows,
    PartitionedTraining,
    check_process_source,
    select_present_rows,
)
from posterity.process.regressor import GaussianProcessRegressor
from posterity.process.search import ProcessProblem, draw_further_starts
from posterity.process.separate_outputs import SeparateOutputs
from posterity.process.softmax.laplace import SoftmaxEvidence, SoftmaxPosterior
from posterity.process.softmax.shared import SharedSoftmaxPosterior
from posterity.process.softmax.variational import NearestSoftmaxPosterior

__all__ = [
    "CondensedPosterior",
    "Evidence",
    "GaussianProcessClassifier",
    "GaussianProcessRegressor",
    "InducingPosterior",
    "KernelLogisticRegression",
    "KernelRidgeRegression",
    "LaplaceEvidence",
    "LaplacePosterior",
    "LatentProblem",
    "LatentTargets",
    "LearnedLatent",
    "NearestPosterior",
    "NearestSoftmaxPosterior",
    "PartitionedRows",
    "PartitionedTraining",
    "ProcessPosterior",
    "ProcessProblem",
    "ProjectedPosterior",
    "PropagationEvidence",
    "PropagationPosterior",
    "ScaleMixtureEvidence",
    "ScaleMixturePosterior",
    "SeparateOutputs",
    "SharedSoftmaxPosterior",
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
