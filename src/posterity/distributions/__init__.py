"""Predictive distributions, which every ``predict_dist`` returns."""

from posterity.distributions.assortment import Assortment
from posterity.distributions.base import Continuous, Discrete, Distribution, Univariate
from posterity.distributions.beta import Beta
from posterity.distributions.categorical import AveragedCategorical, Bernoulli, Categorical, Ordinal
from posterity.distributions.counts import CountDistribution
from posterity.distributions.gamma import Gamma
from posterity.distributions.mixture import Mixture
from posterity.distributions.multivariate_normal import MultivariateNormal
from posterity.distributions.negative_binomial import NegativeBinomial, NegativeBinomialLogNormal
from posterity.distributions.normal import GeneralNormal, LogNormal, Normal
from posterity.distributions.partitioned import Partitioned
from posterity.distributions.poisson import Poisson, PoissonLogNormal
from posterity.distributions.student_t import StudentT, StudentTPlusNormal
from posterity.distributions.transformed import MonotoneMap, Transformed

__all__ = [
    "Assortment",
    "AveragedCategorical",
    "Bernoulli",
    "Beta",
    "Categorical",
    "Continuous",
    "CountDistribution",
    "Discrete",
    "Distribution",
    "Gamma",
    "GeneralNormal",
    "LogNormal",
    "Mixture",
    "MonotoneMap",
    "MultivariateNormal",
    "NegativeBinomial",
    "NegativeBinomialLogNormal",
    "Normal",
    "Ordinal",
    "Partitioned",
    "Poisson",
    "PoissonLogNormal",
    "StudentT",
    "StudentTPlusNormal",
    "Transformed",
    "Univariate",
]
