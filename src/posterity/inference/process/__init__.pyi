from posterity.inference.process.exact import Evidence, ProcessPosterior, jitter_variance
from posterity.inference.process.inducing.bound import InducingPosterior, condition_on_points
from posterity.inference.process.inducing.observed import HeldRows, ObservedRows
from posterity.inference.process.inducing.partitions import PartitionedRows, select_present_rows
from posterity.inference.process.inducing.search import maximise_inducing_bound
from posterity.inference.process.latent.condensed import CondensedPosterior
from posterity.inference.process.latent.laplace import LaplaceEvidence, LaplacePosterior
from posterity.inference.process.latent.projected import ProjectedPosterior, choose_points
from posterity.inference.process.latent.propagation import PropagationEvidence, PropagationPosterior
from posterity.inference.process.latent.scale_mixture import (
    ScaleMixtureEvidence,
    ScaleMixturePosterior,
)
from posterity.inference.process.latent.search import (
    LatentProblem,
    LearnedLatent,
)
from posterity.inference.process.latent.site_posterior import SitePosterior
from posterity.inference.process.latent.targets import LatentTargets
from posterity.inference.process.latent.variational import NearestPosterior
from posterity.inference.process.observations import Observations
from posterity.inference.process.search import (
    ProcessProblem,
    draw_further_starts,
)
from posterity.inference.process.separate_outputs import SeparateOutputs
from posterity.inference.process.softmax.laplace import SoftmaxEvidence, SoftmaxPosterior
from posterity.inference.process.softmax.variational import NearestSoftmaxPosterior
from posterity.inference.search import draw_random_starts, maximise_evidence

__all__ = [
    "CondensedPosterior",
    "Evidence",
    "HeldRows",
    "InducingPosterior",
    "LaplaceEvidence",
    "LaplacePosterior",
    "LatentProblem",
    "LatentTargets",
    "LearnedLatent",
    "NearestPosterior",
    "NearestSoftmaxPosterior",
    "Observations",
    "ObservedRows",
    "PartitionedRows",
    "ProcessPosterior",
    "ProcessProblem",
    "ProjectedPosterior",
    "PropagationEvidence",
    "PropagationPosterior",
    "ScaleMixtureEvidence",
    "ScaleMixturePosterior",
    "SeparateOutputs",
    "SitePosterior",
    "SoftmaxEvidence",
    "SoftmaxPosterior",
    "choose_points",
    "condition_on_points",
    "draw_further_starts",
    "draw_random_starts",
    "jitter_variance",
    "maximise_evidence",
    "maximise_inducing_bound",
    "select_present_rows",
]
