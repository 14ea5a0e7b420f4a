"""The classifiers that are held to one contract, and rows for them."""

import functools

import numpy as np
from sklearn.base import clone

import posterity
from posterity import features, kernels, priors, trees

CASES = [
    posterity.LogisticRegression(),
    posterity.LogisticRegression(fit_intercept=False),
    posterity.BayesianLogisticRegression(),
    posterity.BayesianLogisticRegression(prior_variance=2.0, averaging="approximate"),
    posterity.DualLogisticRegression(),
    posterity.DualLogisticRegression(prior=priors.Flat()),
    posterity.DualLogisticRegression(kernels.RBF(2.0)),
    posterity.KernelLogisticRegression(max_iter=10, hyperparameters="maximise"),
    posterity.GaussianProcessClassifier(n_restarts=0, max_iter=10),
    posterity.GaussianProcessClassifier((4.0 * kernels.RBF(2.0)).fixed(), "zero"),
    posterity.GaussianProcessClassifier((4.0 * kernels.RBF(2.0)).fixed(), inducing_points=30),
    posterity.SparseLogisticRegression(),
    posterity.SparseLogisticRegression(columns="per_class", fit_intercept=False),
    posterity.SparseLogisticRegression(degrees_of_freedom=1.0),
    posterity.RelevanceVectorClassifier(kernels.RBF(2.0).fixed()),
    posterity.RelevanceVectorClassifier(kernels.RBF(2.0).fixed(), vectors="per_class"),
    posterity.RelevanceVectorClassifier(kernels.RBF(2.0).fixed(), query_column=True),
    posterity.MixtureOfExpertsClassifier(n_restarts=0, random_state=0),
    posterity.StagewiseClassifier(3, n_restarts=0, random_state=0),
    posterity.StagewiseClassifier(2, units="radial", n_restarts=0, random_state=0),
    posterity.LogitBoostClassifier(n_estimators=20),
    posterity.BoostedTreesClassifier(20, random_state=0),
    posterity.LogitBoostClassifier(splits=trees.Orientations(8), n_estimators=20, n_thresholds=40),
    posterity.RandomTreeClassifier(random_state=0),
    posterity.RandomForestClassifier(10, bootstrap=False, random_state=0),
    posterity.RandomForestClassifier(
        5, splits=trees.Projections(), bootstrap=False, random_state=0
    ),
    posterity.RandomFernClassifier(10, max_depth=4, bootstrap=False, random_state=0),
    posterity.LogisticTreeClassifier(1, n_restarts=0, max_iter=100, random_state=0),
    posterity.LogisticTreeClassifier(gates="hard", max_depth=1, n_restarts=0, random_state=0),
    posterity.BayesianLogisticRegression(
        features=features.Polynomial(2), standardize=False, fit_intercept=False
    ),
]
FAST = [  # that have all checks of scikit-learn, instead of the first case of their class
    posterity.BayesianLogisticRegression(prior_variance=1.0, averaging="approximate"),
    posterity.DualLogisticRegression(prior=priors.Flat(), averaging="approximate"),
    posterity.KernelLogisticRegression(kernels.RBF(2.0).fixed(), prior_variance=2.0),
    posterity.GaussianProcessClassifier((2.0 * kernels.RBF(2.0)).fixed(), "zero"),
]
ELSEWHERE = {posterity.DiscreteClassifier}  # whose columns are categories
IDS = [repr(case).replace("\n", "") for case in CASES]


def data(n=80, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    A = X @ rng.normal(size=(3, n_classes)) + rng.gumbel(size=(n, n_classes))
    return X, np.array(["ape", "bee", "cat", "dog"])[np.argmax(A, axis=1)]


@functools.cache
def _fit_place(place, n_classes):
    return clone(CASES[place]).fit(*data(n_classes=n_classes))


def fit_once(model, n_classes=2):
    """A case fitted to ``data``, once in a process: tests do not change it."""
    return _fit_place(next(i for i, case in enumerate(CASES) if case is model), n_classes)
