"""Sparse regressors where the weights of the rows count as one row or less."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity import RelevanceVectorRegressor, SparseLinearRegression

SETTINGS = [
    RelevanceVectorRegressor(),
    RelevanceVectorRegressor(fit_intercept=False),
    RelevanceVectorRegressor(query_column=True),
    RelevanceVectorRegressor(candidates=20, random_state=0),
    RelevanceVectorRegressor(max_vectors=5),
    SparseLinearRegression(),
]


@pytest.mark.full
@for_each("n_outputs", [1, 2])
@for_each("total", [1e-12, 0.01, 1.0, 1.5])
@for_each("model", SETTINGS, ids=str)
def test_rows_that_count_as_one_choose_nothing_and_say_so_in_their_spread(model, total, n_outputs):
    """One sentence says it; nothing is divided by no rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = (np.sin(X[:, :1]) + 0.1 * rng.normal(size=(40, n_outputs))).squeeze()
    with pytest.warns(UserWarning, match="how often each row counts") as said:
        model.fit(X, y, np.full(40, total / 40))
    assert len(said) == 1
    assert len(model.relevance_) == 0
    mean, std = model.predict(X, return_std=True)
    assert np.all(np.isfinite(mean))
    assert np.all(std > 0.9 * np.std(y, axis=0))


def test_known_noise_is_believed_however_little_rows_count():
    rng = np.random.default_rng(0)
    X = np.linspace(-3.0, 3.0, 40)[:, None]
    y = np.sin(X[:, 0]) + 0.01 * rng.normal(size=40)
    model = RelevanceVectorRegressor(noise_variance=1e-4)
    with pytest.warns(UserWarning, match="how often each row counts"):
        model.fit(X, y, np.full(40, 1.0 / 40))
    assert len(model.relevance_) > 0
