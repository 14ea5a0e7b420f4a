"""From a prior and a likelihood to a posterior: one algorithm, one file."""

from posterity.inference import evidence
from posterity.inference.conjugate import LinearProblem, WeightPosterior, reduce
from posterity.inference.laplace import LaplaceFit
from posterity.inference.maximum_likelihood import FlatFit, refined_least_squares
from posterity.inference.minkowski import MinkowskiFit, minimise, minimise_squares
from posterity.inference.weight_space import WeightSpace

__all__ = [
    "FlatFit",
    "LaplaceFit",
    "LinearProblem",
    "MinkowskiFit",
    "WeightPosterior",
    "WeightSpace",
    "evidence",
    "minimise",
    "minimise_squares",
    "reduce",
    "refined_least_squares",
]
