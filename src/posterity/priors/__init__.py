"""Prior distributions of the weights."""

from posterity.priors.base import Prior
from posterity.priors.flat import Flat
from posterity.priors.laplace import Laplace
from posterity.priors.normal import Normal
from posterity.priors.sparse import Sparse

__all__ = ["Flat", "Laplace", "Normal", "Prior", "Sparse"]
