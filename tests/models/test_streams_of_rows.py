"""A stream may bring one row at a time, from the first on."""

import numpy as np
import pytest
from sklearn.base import clone
from support.for_each import for_each

from posterity import (
    BayesianLinearRegression,
    LinearRegression,
    LqRegression,
    RidgeRegression,
    SparseLinearRegression,
    features,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(12, 2))
y = X @ [1.0, -2.0] + 0.3 * rng.normal(size=12)
MODELS = [
    LinearRegression(),
    RidgeRegression(),
    LqRegression(),
    BayesianLinearRegression(),
    SparseLinearRegression(),
    BayesianLinearRegression(noise_variance=0.1, prior_variance=1.0),
]


@for_each("model", MODELS)
def test_rows_one_by_one_are_rows_at_once(model):
    stream = clone(model)
    for row, target in zip(X, y, strict=True):
        stream.partial_fit([row], [target])
    whole = clone(model).partial_fit(X, y)
    np.testing.assert_allclose(stream.predict(X), whole.predict(X), rtol=1e-9)
    spread = whole.predict(X, return_std=True)[1]
    np.testing.assert_allclose(stream.predict(X, return_std=True)[1], spread, rtol=1e-8)


@for_each("model", MODELS[:-1])
def test_one_row_tells_a_mean_and_no_noise(model):
    begun = clone(model).partial_fit(X[:1], y[:1])
    np.testing.assert_allclose(begun.predict(X[:1]), y[:1])
    with pytest.raises(ValueError, match="seen one row, which does not tell the noise"):
        begun.predict_interval(X)
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        clone(model).fit(X[:1], y[:1])


def test_with_known_noise_one_row_is_enough():
    begun = clone(MODELS[-1]).partial_fit(X[:1], y[:1])
    assert np.all(begun.predict(X, return_std=True)[1] > np.sqrt(0.1) - 1e-12)
    known = BayesianLinearRegression(prior_variance=1.0)
    known.partial_fit(X[:1], y[:1], noise_variance=[0.1])
    assert np.all(known.predict(X, return_std=True)[1] > 0.3)


def test_features_are_not_learned_of_one_row():
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        BayesianLinearRegression(features=features.Polynomial(2)).partial_fit(X[:1], y[:1])
