"""Simulation-based calibration: truths drawn from the prior rank uniformly in the posterior."""

import numpy as np
import pytest
from scipy import stats
from support.for_each import for_each

from posterity import BayesianLinearRegression, LinearRegression

N_SETS, N_DRAWS = 500, 99


def ranks(n, m, *, fit_intercept, seed):
    """For each data set, the rank of every true weight among draws from its posterior."""
    rng = np.random.default_rng(seed)
    sigma2, tau2 = 0.5, 1.7
    model = BayesianLinearRegression(
        prior_variance=tau2,
        noise_variance=sigma2,
        fit_intercept=fit_intercept,
        standardize=False,
    )
    out = np.empty((N_SETS, m), dtype=int)
    for i in range(N_SETS):
        X, w = rng.normal(size=(n, m)), np.sqrt(tau2) * rng.normal(size=m)
        offset = 100.0 * rng.normal() if fit_intercept else 0.0
        y = X @ w + offset + np.sqrt(sigma2) * rng.normal(size=n)
        coef, _ = model.fit(X, y).sample_weights(N_DRAWS, rng)
        out[i] = np.sum(coef < w, axis=0)
    return out


@pytest.mark.full
@for_each(("n", "m"), [(12, 3), (6, 10)])
@for_each("fit_intercept", [True, False])
def test_posterior_ranks_of_the_weights_are_uniform(n, m, fit_intercept):
    rank = ranks(n, m, fit_intercept=fit_intercept, seed=n + m)
    for j in range(m):
        counts = np.bincount(rank[:, j] // 10, minlength=10)
        assert stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.full
def test_ranks_would_show_a_posterior_that_is_too_narrow():
    """The check can fail: halve the spread of the draws and it does."""
    rank = ranks(12, 3, fit_intercept=False, seed=1)
    narrow = np.clip(np.rint(49.5 + 2.0 * (rank - 49.5)), 0, 99).astype(int)
    counts = np.bincount(narrow[:, 0] // 10, minlength=10)
    assert stats.chisquare(counts).pvalue < 1e-4


@pytest.mark.full
@pytest.mark.parametrize("model", [LinearRegression(), BayesianLinearRegression()], ids=repr)
def test_intervals_cover_as_often_as_they_say(model):
    rng = np.random.default_rng(4)
    covered = {0.5: 0, 0.9: 0}
    for _ in range(N_SETS):
        X, w = rng.normal(size=(25, 3)), rng.normal(size=3)
        x, noise = rng.normal(size=(1, 3)), rng.normal(size=26)
        model.fit(X, X @ w + 2.0 + noise[:25])
        for level in covered:
            lower, upper = model.predict_interval(x, coverage=level)
            covered[level] += int(lower[0] < (x @ w)[0] + 2.0 + noise[25] < upper[0])
    for level, hits in covered.items():
        assert hits / N_SETS == pytest.approx(level, abs=4.0 * np.sqrt(level * (1 - level) / 500))
