"""p(y | a): how a latent value becomes an observation."""

from posterity.likelihoods.base import Averaged, Likelihood
from posterity.likelihoods.bernoulli import Bernoulli
from posterity.likelihoods.beta import Beta
from posterity.likelihoods.categorical import Categorical
from posterity.likelihoods.coupled import Coupled
from posterity.likelihoods.gamma import Gamma
from posterity.likelihoods.log_normal import LogNormal
from posterity.likelihoods.negative_binomial import NegativeBinomial
from posterity.likelihoods.normal import Normal
from posterity.likelihoods.ordinal import Ordinal
from posterity.likelihoods.poisson import Poisson
from posterity.likelihoods.student_t import StudentT

__all__ = [
    "Averaged",
    "Bernoulli",
    "Beta",
    "Categorical",
    "Coupled",
    "Gamma",
    "Likelihood",
    "LogNormal",
    "NegativeBinomial",
    "Normal",
    "Ordinal",
    "Poisson",
    "StudentT",
]
