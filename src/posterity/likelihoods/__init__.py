"""p(y | a): how a latent value becomes an observation."""

from posterity.likelihoods.base import Likelihood
from posterity.likelihoods.normal import Normal

__all__ = ["Likelihood", "Normal"]
