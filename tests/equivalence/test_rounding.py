"""Answers are the same to rounding on inputs that are: another machine, another order of columns.

Other kernels of a BLAS round otherwise; inputs that differ in their last digits are a stand-in for
them. ``benchmarks/blas_kernels.py`` compares the kernels themselves.
"""

import numpy as np
import pytest
from sklearn.base import clone
from support.for_each import for_each

from posterity import (
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    LogisticTreeClassifier,
    LogitBoostClassifier,
    MixtureOfExpertsClassifier,
    RandomFernClassifier,
    RandomFernRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreeClassifier,
    RandomTreeRegressor,
    StagewiseClassifier,
    StagewiseRegressor,
    trees,
)

SAME = 1e-6  # of the spread of the answers
MODELS = [
    GaussianProcessClassifier(random_state=0),
    GaussianProcessRegressor(random_state=0),
    StagewiseRegressor(6, n_restarts=1, random_state=0),
    LogisticTreeClassifier(depth=2, n_restarts=1, random_state=0),
    MixtureOfExpertsClassifier(random_state=0),
    StagewiseClassifier(12, n_restarts=1, random_state=0),
]
TREES = [
    *(forest(5, random_state=0) for forest in (RandomForestClassifier, RandomForestRegressor)),
    RandomForestRegressor(5, splits=trees.Projections(), random_state=0),
    RandomForestRegressor(5, splits=trees.Projections(n_columns=None), random_state=0),
    RandomForestClassifier(5, splits=trees.Differences(), random_state=0),
    RandomForestClassifier(5, splits=trees.Orientations(), random_state=0),
    *(fern(5, random_state=0) for fern in (RandomFernClassifier, RandomFernRegressor)),
    *(tree(random_state=0) for tree in (RandomTreeClassifier, RandomTreeRegressor)),
    *(
        boosted(5, max_features=0.5, random_state=0)
        for boosted in (BoostedTreesClassifier, BoostedTreesRegressor)
    ),
    BoostedTreesRegressor(5, categorical_features=[0, 1], random_state=0),
    LogitBoostClassifier(9, validation_fraction=0.3, random_state=0),
]


def surface(seed, n=90, D=6):
    """Rows with numbers, classes that go with them, and rows to predict."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + 30, D)) @ (np.eye(D) + 0.3 * rng.normal(size=(D, D)))
    a = np.sin(X @ rng.normal(size=(D, 3))) + X @ rng.normal(size=(D, 3)) / np.sqrt(D)
    y = a[:, 0] + 0.3 * rng.normal(size=len(X))
    labels = np.argmax(a + 0.5 * rng.normal(size=a.shape), axis=1)
    return X[:n], y[:n], labels[:n], X[n:]


def answers(model, X, y, labels, X_new):
    """Probabilities, or means with deviations in columns."""
    if hasattr(model, "predict_proba"):
        return model.fit(X, labels).predict_proba(X_new)
    return np.column_stack(model.fit(X, y).predict(X_new, return_std=True))


@pytest.mark.full(but=3)
@for_each("seed", [0, 2])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_answers_do_not_follow_the_last_digits(model, seed):
    X, y, labels, X_new = surface(seed)
    rng = np.random.default_rng(seed)
    expected = answers(model, X, y, labels, X_new)
    X = X * (1.0 + 1e-13 * rng.normal(size=X.shape))
    found = answers(model, X, y, labels, X_new)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=SAME * np.std(expected[:, 0]))


@pytest.mark.full(but=4)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_answers_do_not_depend_on_the_order_of_columns(model):
    X, y, labels, X_new = surface(2)
    expected = answers(model, X, y, labels, X_new)
    order = np.array([2, 0, 5, 1, 4, 3])
    found = answers(model, X[:, order], y, labels, X_new[:, order])
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=SAME * np.std(expected[:, 0]))


@pytest.mark.parametrize("model", TREES, ids=lambda model: repr(model).splitlines()[0][:60])
def test_trees_do_not_depend_on_the_order_of_columns(model):
    X, y, labels, X_new = surface(2)
    X[:, :4], X_new[:, :4] = np.round(X[:, :4]), np.round(X_new[:, :4])  # values that tie
    X[::7, 4] = np.nan
    order = np.array([2, 0, 5, 1, 4, 3])
    expected = answers(model, X, np.round(y), labels, X_new)
    other = clone(model)
    if "categorical_features" in model.get_params() and model.categorical_features:
        other.set_params(categorical_features=[1, 3])  # where 0 and 1 are now
    found = answers(other, X[:, order], np.round(y), labels, X_new[:, order])
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=SAME * np.std(expected[:, 0]))
    if model.column_gain_ is not None:
        np.testing.assert_allclose(other.column_gain_, model.column_gain_[order], rtol=1e-9)
