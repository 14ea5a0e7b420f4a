from posterity.linear.classifiers import (
    BayesianLogisticRegression,
    LogisticRegression,
    SeparationWarning,
)
from posterity.linear.dual import DualLinearRegression, DualLogisticRegression, DualModel
from posterity.linear.generalized import (
    GammaRegression,
    GeneralizedLinearRegression,
    RobustRegression,
)
from posterity.linear.lq import LqRegression
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
