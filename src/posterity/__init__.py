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
from posterity.classification import (
    BayesianLogisticRegression,
    DiscreteClassifier,
    DualLogisticRegression,
    GaussianProcessClassifier,
    IncrementalClassifier,
    KernelLogisticRegression,
    LogisticRegression,
    LogisticTreeClassifier,
    MixtureOfExpertsClassifier,
    RelevanceVectorClassifier,
    SparseLogisticRegression,
)
from posterity.regression import (
    BayesianLinearRegression,
    DualLinearRegression,
    GammaRegression,
    GaussianProcessRegressor,
    GeneralizedLinearRegression,
    IncrementalRegressor,
    KernelRidgeRegression,
    LinearRegression,
    LqRegression,
    RelevanceVectorRegressor,
    RidgeRegression,
    RobustRegression,
    SparseLinearRegression,
)

__all__ = [
    "BayesianLinearRegression",
    "BayesianLogisticRegression",
    "DiscreteClassifier",
    "DualLinearRegression",
    "DualLogisticRegression",
    "GammaRegression",
    "GaussianProcessClassifier",
    "GaussianProcessRegressor",
    "GeneralizedLinearRegression",
    "IncrementalClassifier",
    "IncrementalRegressor",
    "KernelLogisticRegression",
    "KernelRidgeRegression",
    "LinearRegression",
    "LogisticRegression",
    "LogisticTreeClassifier",
    "LqRegression",
    "MixtureOfExpertsClassifier",
    "RelevanceVectorClassifier",
    "RelevanceVectorRegressor",
    "RidgeRegression",
    "RobustRegression",
    "SparseLinearRegression",
    "SparseLogisticRegression",
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
