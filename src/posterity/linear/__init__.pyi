from posterity.linear.bayesian_linear import BayesianLinearRegression
from posterity.linear.bayesian_logistic import BayesianLogisticRegression
from posterity.linear.dual_linear import DualLinearRegression
from posterity.linear.dual_logistic import DualLogisticRegression
from posterity.linear.dual_model import DualModel
from posterity.linear.gamma import GammaRegression
from posterity.linear.generalized import GeneralizedLinearRegression
from posterity.linear.least_squares import LinearRegression
from posterity.linear.logistic import LogisticRegression, SeparationWarning
from posterity.linear.lq import LqRegression
from posterity.linear.ridge import RidgeRegression
from posterity.linear.robust import RobustRegression
from posterity.linear.weighted_model import WeightedModel

__all__ = [
    "BayesianLinearRegression",
    "BayesianLogisticRegression",
    "DualLinearRegression",
    "DualLogisticRegression",
    "DualModel",
    "GammaRegression",
    "GeneralizedLinearRegression",
    "LinearRegression",
    "LogisticRegression",
    "LqRegression",
    "RidgeRegression",
    "RobustRegression",
    "SeparationWarning",
    "WeightedModel",
]
