"""A tree learns from rows held out of others like it how far new rows lie from its leaves."""

import numpy as np
import pytest

from posterity import RandomTreeRegressor
from posterity.trees.forests import out_of_bag


def noise(n, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 4)), rng.normal(size=n)


def coverage(model, n_fits=40):
    """Share of new rows of pure noise, standard normal, within 90 % intervals."""
    shares = []
    for seed in range(n_fits):
        lower, upper = model.fit(*noise(60, seed)).predict_interval(noise(100, 99)[0])
        y = noise(100, 99)[1]
        shares.append(np.mean((lower <= y) & (y <= upper)))
    return np.mean(shares)


@pytest.mark.full
def test_splits_that_were_chosen_by_noise_do_not_make_intervals_too_narrow():
    assert coverage(RandomTreeRegressor(random_state=0)) == pytest.approx(0.9, abs=0.03)
    plain = RandomTreeRegressor(random_state=0, concentration=1.0, sharpness=1.0)
    assert coverage(plain) < 0.83


def test_held_out_rows_score_as_new_ones_do():
    X, y = noise(300, 0)
    y = y + 3.0 * (X[:, 0] > 0.0)
    X_new, y_new = noise(2_000, 1)
    y_new = y_new + 3.0 * (X_new[:, 0] > 0.0)
    model = RandomTreeRegressor(random_state=0).fit(X, y)
    error = np.sqrt(np.mean((model.predict(X_new) - y_new) ** 2))
    assert model.oob_rmse_ == pytest.approx(error, rel=0.05)
    score = np.mean(model.predict_dist(X_new).log_prob(y_new))
    assert model.oob_log_score_ == pytest.approx(score, abs=0.05)
    assert not np.isnan(model.oob_log_prob_).any()


def test_of_many_rows_only_some_are_held_out():
    model = RandomTreeRegressor(random_state=0).fit(*noise(6_000, 0))
    assert 500 < np.count_nonzero(~np.isnan(model.oob_log_prob_)) < 700


def test_groups_are_held_out_whole_and_equal_rows_together():
    groups = np.arange(40, dtype=np.int32) // 2
    parts = out_of_bag._assign_parts(None, np.arange(40.0)[:, None], groups)
    np.testing.assert_array_equal(parts[::2], parts[1::2])
    X, y = noise(30, 0)
    twice = np.tile(np.arange(30), 2)
    parts = out_of_bag._assign_parts(X[twice], np.round(y[twice, None]), None)
    np.testing.assert_array_equal(parts[:30], parts[30:])
    assert len(np.unique(parts)) == 10


def test_rows_that_are_all_equal_leave_nothing_to_hold_out():
    model = RandomTreeRegressor().fit(np.ones((5, 2)), np.full(5, 3.0))
    assert (model.concentration_, model.sharpness_) == (1.0, 1.0)
    assert np.isnan(model.oob_rmse_)
    np.testing.assert_allclose(model.predict(np.ones((1, 2))), 3.0)
