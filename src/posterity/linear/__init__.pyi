from posterity.linear.classifiers import (
    BayesianLogisticRegression,
    LogisticRegression,
    SeparationWarning,
)
from posterity.linear.dual import DualLinearRegression, DualLogisticRegression
from posterity.linear.dual_model import DualModel
from posterity.linear.generalized import GeneralizedLinearRegression
from posterity.linear.lq import LqRegression
from posterity.linear.presets import GammaRegression, RobustRegression
from posterity.linear.regressors import BayesianLinearRegression, LinearRegression, RidgeRegression
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
