"""Units that are learned move in the models of closed form, too."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator

from posterity import (
    BayesianLinearRegression,
    DualLinearRegression,
    GeneralizedLinearRegression,
    LinearRegression,
    SparseLinearRegression,
    designs,
    features,
    likelihoods,
)

RNG = np.random.default_rng(0)
X = RNG.uniform(-3.0, 3.0, size=(80, 2))
Y = np.arctan(4.0 * (X @ [0.8, 0.6] - 0.5)) + 0.1 * RNG.normal(size=80)
UNITS = features.LearnedArctan(1, n_restarts=4, random_state=0)


@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(features=UNITS),
        BayesianLinearRegression(features=UNITS),
        SparseLinearRegression(features=UNITS),
        DualLinearRegression(features=UNITS),
    ],
    ids=lambda model: type(model).__name__,
)
def test_units_find_the_step(model):
    error = Y - model.fit(X, Y).predict(X)
    assert np.std(error) < 0.13  # 0.1 is the noise, 1.0 what no unit explains


def test_they_are_where_the_model_of_any_likelihood_finds_them():
    ours = BayesianLinearRegression(features=UNITS).fit(X, Y)
    any_likelihood = GeneralizedLinearRegression(likelihoods.Normal(), features=UNITS).fit(X, Y)
    np.testing.assert_allclose(ours.features_.theta_, any_likelihood.features_.theta_)


def test_a_weight_repeats_a_row():
    counts = RNG.integers(1, 4, size=80)
    weighted = BayesianLinearRegression(features=UNITS).fit(X, Y, sample_weight=counts)
    rows = np.repeat(np.arange(80), counts)
    repeated = BayesianLinearRegression(features=UNITS).fit(X[rows], Y[rows])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6, atol=1e-8)


def test_several_targets_are_refused():
    with pytest.raises(ValueError, match="learned for one target: fit one model for each"):
        BayesianLinearRegression(features=UNITS).fit(X, np.column_stack([Y, Y]))


def test_chunks_are_told_to_freeze_them_and_can():
    chunks = designs.Chunks.from_arrays(X, Y, rows=16)
    with pytest.raises(ValueError, match=r"FrozenEstimator\(fitted.features_\)"):
        BayesianLinearRegression(features=UNITS).fit(chunks)
    fitted = BayesianLinearRegression(features=UNITS).fit(X, Y)
    streamed = BayesianLinearRegression(features=FrozenEstimator(fitted.features_)).fit(chunks)
    np.testing.assert_allclose(streamed.predict(X), fitted.predict(X))
    later = BayesianLinearRegression(features=UNITS).fit(X, Y).partial_fit(chunks)
    np.testing.assert_allclose(later.features_.theta_, fitted.features_.theta_)
