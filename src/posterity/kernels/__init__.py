"""Implicit feature spaces: functions k(x, z) that add, multiply and scale."""

from posterity.kernels.algebra import Constant, Product, Scaled, Sum
from posterity.kernels.categorical import Categorical
from posterity.kernels.columns import Columns
from posterity.kernels.definiteness import Definiteness, check_positive_definite
from posterity.kernels.function import Function
from posterity.kernels.graphs import Graph, ShortestPath, WeisfeilerLehman
from posterity.kernels.histograms import AdditiveChiSquared, ChiSquared
from posterity.kernels.inner_products import Cosine, Linear, Polynomial
from posterity.kernels.kernel import Kernel
from posterity.kernels.parameters import positive
from posterity.kernels.periodic import Periodic
from posterity.kernels.stationary import RBF, Matern, RationalQuadratic, Stationary
from posterity.kernels.strings import Spectrum, Subsequence
from posterity.kernels.tangent import Tangent
from posterity.kernels.trees import SubsetTree, parse_tree
from posterity.kernels.white import White

__all__ = [
    "RBF",
    "AdditiveChiSquared",
    "Categorical",
    "ChiSquared",
    "Columns",
    "Constant",
    "Cosine",
    "Definiteness",
    "Function",
    "Graph",
    "Kernel",
    "Linear",
    "Matern",
    "Periodic",
    "Polynomial",
    "Product",
    "RationalQuadratic",
    "Scaled",
    "ShortestPath",
    "Spectrum",
    "Stationary",
    "Subsequence",
    "SubsetTree",
    "Sum",
    "Tangent",
    "WeisfeilerLehman",
    "White",
    "check_positive_definite",
    "parse_tree",
    "positive",
]
