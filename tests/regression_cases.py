"""The regressors that are held to one contract, and rows for them."""

import functools
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.utils import get_tags

import posterity
from posterity import features, kernels, likelihoods, priors


@dataclass(frozen=True)
class Bump:
    """A kernel that prints the same in every process, as test runners need it."""

    length_scale: float

    def __call__(self, A, B):
        return np.exp(-0.5 * cdist(A, B, "sqeuclidean") / self.length_scale**2)


CASES = [
    posterity.LinearRegression(),
    posterity.LinearRegression(fit_intercept=False, predictive="plug_in"),
    posterity.RidgeRegression(),
    posterity.RidgeRegression(penalize_intercept=True),
    posterity.LqRegression(),
    posterity.LqRegression(loss_power=1.0),
    posterity.BayesianLinearRegression(),
    posterity.BayesianLinearRegression(standardize=False, fit_intercept=False),
    posterity.BayesianLinearRegression(features=features.Polynomial(2)),
    posterity.DualLinearRegression(),
    posterity.DualLinearRegression(prior=priors.Flat()),
    posterity.DualLinearRegression(kernel=Bump(1.0)),
    posterity.KernelRidgeRegression(),
    posterity.KernelRidgeRegression(alpha=0.1),
    posterity.GaussianProcessRegressor(),
    posterity.GaussianProcessRegressor(
        (2.0 * kernels.RBF(2.0)).fixed(), noise_variance=0.1, normalize_y=True
    ),
    posterity.GaussianProcessRegressor(
        (2.0 * kernels.RBF(2.0)).fixed(), noise_variance=0.1, inducing_points=15
    ),
    posterity.SparseLinearRegression(),
    posterity.SparseLinearRegression(
        features=features.Polynomial(2),
        degrees_of_freedom=1.0,
        fit_intercept=False,
    ),
    posterity.RandomTreeRegressor(min_samples_leaf=3, random_state=0),
    posterity.RandomForestRegressor(10, bootstrap=False, min_samples_leaf=2, random_state=0),
    posterity.RandomFernRegressor(
        10, max_depth=5, min_samples_leaf=2, bootstrap=False, random_state=0
    ),
    posterity.BoostedTreesRegressor(20, random_state=0),
    posterity.StagewiseRegressor(3, n_restarts=0, random_state=0),
    posterity.RelevanceVectorRegressor(),
    posterity.RelevanceVectorRegressor(
        kernels.RBF(2.0).fixed(), noise_variance=0.1, query_column=True
    ),
    posterity.RelevanceVectorRegressor(Bump(2.0), degrees_of_freedom=1.0, noise_variance=0.1),
    posterity.RobustRegression(),
    posterity.RobustRegression(degrees_of_freedom=4.0, standardize=False),
    posterity.GammaRegression(),
    posterity.GeneralizedLinearRegression(likelihoods.Normal()),
]
FAST = [  # that have all checks of scikit-learn, instead of the first case of their class
    posterity.GaussianProcessRegressor((2.0 * kernels.RBF(2.0)).fixed(), noise_variance=0.2),
    posterity.RelevanceVectorRegressor(kernels.RBF(2.0).fixed(), noise_variance=0.2),
    posterity.RobustRegression(degrees_of_freedom=4.0, prior_variance=2.0),
    posterity.StagewiseRegressor(2, validation_fraction=None, n_restarts=0, random_state=0),
]
IDS = [repr(case).replace("\n", "") for case in CASES]


def data(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X @ [1.0, -2.0, 0.5] + 3.0 + 0.3 * rng.normal(size=n)


def data_for(model):
    """The same rows, with targets that are positive where they have to be."""
    X, y = data()
    return X, np.exp(0.3 * y) if get_tags(model).target_tags.positive_only else y


@functools.cache
def _fit_place(place):
    return clone(CASES[place]).fit(*data_for(CASES[place]))


def fit_once(model):
    """A case fitted to its data, once in a process: tests do not change it."""
    return _fit_place(next(i for i, case in enumerate(CASES) if case is model))
