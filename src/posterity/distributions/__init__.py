"""Predictive distributions, which every ``predict_dist`` returns."""

from posterity.distributions.assortment import Assortment
from posterity.distributions.averaged_categorical import AveragedCategorical
from posterity.distributions.base import Distribution
from posterity.distributions.bernoulli import Bernoulli
from posterity.distributions.beta import Beta
from posterity.distributions.categorical import Categorical
from posterity.distributions.continuous import Continuous
from posterity.distributions.counts import CountDistribution
from posterity.distributions.discrete import Discrete
from posterity.distributions.gamma import Gamma
from posterity.distributions.general_normal import GeneralNormal
from posterity.distributions.log_normal import LogNormal
from posterity.distributions.mixture import Mixture
from posterity.distributions.multivariate_normal import MultivariateNormal
from posterity.distributions.negative_binomial import NegativeBinomial, NegativeBinomialLogNormal
from posterity.distributions.normal import Normal
from posterity.distributions.ordinal import Ordinal
from posterity.distributions.partitioned import Partitioned
from posterity.distributions.poisson import Poisson, PoissonLogNormal
from posterity.distributions.student_t import StudentT
from posterity.distributions.student_t_plus_normal import StudentTPlusNormal
from posterity.distributions.transformed import MonotoneMap, Transformed
from posterity.distributions.univariate import Univariate

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
