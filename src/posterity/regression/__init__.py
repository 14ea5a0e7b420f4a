"""Named regressors: each file wires parts together and computes nothing itself."""

from posterity.regression.base import Regressor
from posterity.regression.bayesian import BayesianLinearRegression
from posterity.regression.dual import DualLinearRegression
from posterity.regression.gaussian_process import GaussianProcessRegressor
from posterity.regression.kernel_ridge import KernelRidgeRegression
from posterity.regression.linear import LinearRegression
from posterity.regression.lq import LqRegression
from posterity.regression.ridge import RidgeRegression

__all__ = [
    "BayesianLinearRegression",
    "DualLinearRegression",
    "GaussianProcessRegressor",
    "KernelRidgeRegression",
    "LinearRegression",
    "LqRegression",
    "Regressor",
    "RidgeRegression",
]
