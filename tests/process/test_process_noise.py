"""The learned noise of a process: no larger than rows say, and not lost where they do not say."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity import GaussianProcessRegressor
from posterity.copies import CopiedRowsWarning


def rough(n=150, noise=0.02, seed=0):
    """Steps along eight columns: between rows as rough as noise, to a process."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n, 8))
    column, at = rng.integers(0, 8, (40, 2)), rng.uniform(-1.0, 1.0, (40, 2))
    f = np.sum(rng.normal(size=40) * np.all(X[:, column] > at, axis=2), axis=1)
    return X, f / f.std() + noise * rng.normal(size=n)


@pytest.mark.full
@for_each("copies", [0, 1, 5])
def test_a_row_that_is_observed_again_does_not_ruin_a_log_score(copies):
    X, y = rough()
    X = np.vstack([X, X[:copies]])
    model = GaussianProcessRegressor().fit(X, np.append(y, y[:copies]))
    again = y[20:40] + 0.02 * np.random.default_rng(1).normal(size=20)
    assert model.predict_dist(X[20:40]).log_prob(again).min() > -10.0


def test_copies_of_rows_are_weights_and_leave_the_noise_to_the_others():
    X, y = rough()
    times = np.where(np.arange(len(y)) < 5, 2.0, 1.0)
    weighted = GaussianProcessRegressor().fit(X, y, sample_weight=times)
    copied = GaussianProcessRegressor().fit(np.vstack([X, X[:5]]), np.append(y, y[:5]))
    assert weighted.noise_variance_ == pytest.approx(copied.noise_variance_)
    assert weighted.log_evidence_ == pytest.approx(copied.log_evidence_)
    once = GaussianProcessRegressor().fit(X, y)
    assert weighted.noise_variance_ == pytest.approx(once.noise_variance_, rel=0.5)


def test_replicates_tell_how_large_the_noise_is():
    """Six targets at each of twenty inputs, a third of them equal by rounding."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(20, 3)), 6, axis=0)
    y = np.round(np.sin(X[:, 0]) + 0.3 * rng.normal(size=120), 1)
    model = GaussianProcessRegressor().fit(X, y)
    assert np.sqrt(model.noise_variance_) == pytest.approx(0.3, rel=0.2)


def test_a_smooth_function_without_noise_is_learned_to_have_none():
    X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(100, 2))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1]
    model = GaussianProcessRegressor().fit(X, y)
    assert model.noise_variance_ < 1e-5 * y.var()
    np.testing.assert_allclose(model.predict(X), y, atol=1e-3)


def linear(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, size=(n, 3))
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.5 * rng.normal(size=n)


@pytest.mark.full
@for_each(("gap", "decimals"), [(1e-6, 12), (1e-2, 12), (1e-4, 3), (1e-3, 1)])
def test_near_copies_do_not_drive_the_noise_to_its_bound(gap, decimals):
    (X, y), (X_new, y_new) = linear(), linear(2000, seed=1)
    rng, y = np.random.default_rng(2), np.round(y, decimals)
    X, y = np.vstack([X, X[:20] + gap * rng.normal(size=(20, 3))]), np.append(y, y[:20])
    with pytest.warns(CopiedRowsWarning, match="20 of 80 rows are copies"):
        model = GaussianProcessRegressor().fit(X, y)
    assert 0.25 / 3.0 < model.noise_variance_ < 0.25 * 3.0
    assert len(model.X_train_) == 60
    assert len(model.leave_one_out().mean()) == 80
    predicted = model.predict_dist(X_new)
    assert 0.85 < np.mean(np.abs(predicted.cdf(y_new) - 0.5) < 0.45) < 0.95
    assert predicted.log_prob(y_new).min() > -50.0


def test_copies_of_all_rows_leave_the_noise_as_it_was():
    X, y = linear()
    once = GaussianProcessRegressor().fit(X, y)
    with pytest.warns(CopiedRowsWarning, match="240 of 300 rows are copies"):
        often = GaussianProcessRegressor().fit(np.tile(X, (5, 1)), np.tile(y, 5))
    assert often.noise_variance_ == pytest.approx(once.noise_variance_, rel=0.05)


def test_near_replicates_that_tie_by_rounding_are_kept():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.uniform(-3.0, 3.0, size=(20, 1)), 6, axis=0) + 1e-6 * rng.normal(
        size=(120, 1)
    )
    y = np.round(np.sin(X[:, 0]) + 0.3 * rng.normal(size=120), 1)
    model = GaussianProcessRegressor().fit(X, y)
    assert len(model.X_train_) == 120
    assert np.sqrt(model.noise_variance_) == pytest.approx(0.3, rel=0.25)


def test_a_function_without_noise_and_with_copies_stays_exact():
    X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(100, 2))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1]
    model = GaussianProcessRegressor().fit(np.vstack([X, X[:30] + 1e-12]), np.append(y, y[:30]))
    np.testing.assert_allclose(model.predict(X), y, atol=1e-3)
