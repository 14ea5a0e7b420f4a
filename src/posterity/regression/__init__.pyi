from posterity.regression.base import Regressor
from posterity.regression.bayesian import BayesianLinearRegression
from posterity.regression.boosted_trees import BoostedTreesRegressor
from posterity.regression.dual import DualLinearRegression
from posterity.regression.gamma import GammaRegression
from posterity.regression.gaussian_process import GaussianProcessRegressor
from posterity.regression.generalized import GeneralizedLinearRegression
from posterity.regression.kernel_ridge import KernelRidgeRegression
from posterity.regression.linear import LinearRegression
from posterity.regression.lq import LqRegression
from posterity.regression.random_fern import RandomFernRegressor
from posterity.regression.random_forest import RandomForestRegressor
from posterity.regression.random_tree import RandomTreeRegressor
from posterity.regression.relevance_vector import RelevanceVectorRegressor
from posterity.regression.ridge import RidgeRegression
from posterity.regression.robust import RobustRegression
from posterity.regression.sparse_linear import SparseLinearRegression
from posterity.regression.stagewise import StagewiseRegressor

__all__ = [
    "BayesianLinearRegression",
    "BoostedTreesRegressor",
    "DualLinearRegression",
    "GammaRegression",
    "GaussianProcessRegressor",
    "GeneralizedLinearRegression",
    "KernelRidgeRegression",
    "LinearRegression",
    "LqRegression",
    "RandomFernRegressor",
    "RandomForestRegressor",
    "RandomTreeRegressor",
    "Regressor",
    "RelevanceVectorRegressor",
    "RidgeRegression",
    "RobustRegression",
    "SparseLinearRegression",
    "StagewiseRegressor",
]
