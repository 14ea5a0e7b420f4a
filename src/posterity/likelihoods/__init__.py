"""p(y | a): how a latent value becomes an observation."""

from posterity.likelihoods.base import Averaged, Coupled, Likelihood
from posterity.likelihoods.beta import Beta
from posterity.likelihoods.classes import Bernoulli, Categorical
from posterity.likelihoods.counts import NegativeBinomial, Poisson
from posterity.likelihoods.gamma import Gamma
from posterity.likelihoods.normal import LogNormal, Normal
from posterity.likelihoods.ordinal import Ordinal
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
