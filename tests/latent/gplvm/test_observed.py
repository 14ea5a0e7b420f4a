"""Which columns go together, and the density of the outputs that are there."""

import numpy as np
import pytest
from scipy.stats import norm

from posterity.latent.gplvm import outputs


def test_every_value_is_in_one_group_and_nothing_missing_is():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(6, 40))
    Y[:3][rng.random((3, 40)) < 0.5] = np.nan
    found, again = outputs.group_columns(Y), np.full(Y.shape, np.nan)
    for group in found:
        assert np.all(np.isfinite(group.Y))
        again[np.ix_(group.rows, group.columns)] = group.Y
    np.testing.assert_array_equal(again, Y)
    assert len(found) == len(np.unique(np.isnan(Y), axis=1).T)
    assert sorted(np.concatenate([group.columns for group in found])) == list(range(40))


def test_nothing_missing_is_one_group():
    (group,) = outputs.group_columns(np.arange(6.0).reshape(2, 3))
    assert (group.rows.tolist(), group.columns.tolist()) == ([0, 1], [0, 1, 2])


def test_log_normal_skips_what_is_missing():
    rng = np.random.default_rng(0)
    Y, mean, s = rng.normal(size=(5, 3)), rng.normal(size=(5, 3)), rng.uniform(0.5, 2.0, 5)
    Y[[0, 1, 1, 1], [2, 0, 1, 2]] = np.nan

    def brute(mean, s):
        return np.nansum(norm.logpdf(Y, mean, np.sqrt(s)[:, None]), axis=1)

    value, d_mean, ds = outputs.log_normal(Y, mean, s)
    assert value == pytest.approx(brute(mean, s))
    assert ds == pytest.approx((brute(mean, s + 1e-6) - brute(mean, s - 1e-6)) / 2e-6, abs=1e-7)
    for d, step in enumerate(1e-6 * np.eye(3)):
        expected = (brute(mean + step, s) - brute(mean - step, s)) / 2e-6
        assert d_mean[:, d] == pytest.approx(expected, abs=1e-7)
