"""Regression and classification that says how sure it is.

One model is four choices: likelihood x prior x feature space x inference. Every estimator here is
one combination of them, every prediction is a distribution, and every Bayesian model has an
evidence by which it can be compared with the others.
"""

from posterity import (
    datasets,
    designs,
    distributions,
    features,
    inference,
    kernels,
    likelihoods,
    priors,
    scoring,
)
from posterity.regression import (
    BayesianLinearRegression,
    DualLinearRegression,
    GaussianProcessRegressor,
    KernelRidgeRegression,
    LinearRegression,
    LqRegression,
    RidgeRegression,
)

__all__ = [
    "BayesianLinearRegression",
    "DualLinearRegression",
    "GaussianProcessRegressor",
    "KernelRidgeRegression",
    "LinearRegression",
    "LqRegression",
    "RidgeRegression",
    "datasets",
    "designs",
    "distributions",
    "features",
    "inference",
    "kernels",
    "likelihoods",
    "priors",
    "scoring",
]
