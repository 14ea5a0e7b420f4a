"""Moments of columns: beside NumPy's, and the same however rows are cut."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity.models import ColumnMoments
from posterity.process.normal_fit import TargetScale


@for_each("far", [0.0, 1e6])
def test_merged_moments_are_those_of_all_rows(far):
    rng = np.random.default_rng(0)
    Y, w = far + rng.normal(size=(50, 3)) * [1.0, 5.0, 0.1], rng.uniform(0.5, 3.0, 50)
    Y[:, 2] = far
    whole = ColumnMoments.from_rows(Y, w)
    cut = [ColumnMoments.from_rows(Y[a:b], w[a:b]) for a, b in ((0, 1), (1, 30), (30, 50))]
    merged = cut[0].merge(cut[1]).merge(cut[2])
    np.testing.assert_allclose(merged.mean, np.average(Y, axis=0, weights=w), rtol=1e-14)
    np.testing.assert_allclose(whole.mean, merged.mean, rtol=1e-14)
    expected = np.cov(Y.T, aweights=w, ddof=0)
    np.testing.assert_allclose(merged.variance, np.diag(expected), rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(whole.variance, merged.variance, rtol=1e-9, atol=1e-15)
    np.testing.assert_array_equal(merged.low, Y.min(axis=0))
    np.testing.assert_array_equal(merged.high, Y.max(axis=0))
    assert merged.weight == pytest.approx(w.sum())


@for_each("centred", [True, False])
def test_targets_vary_about_what_is_taken_off_them(centred):
    Y, w = 3.0 + np.random.default_rng(1).normal(size=(40, 1)), np.arange(1.0, 41.0)
    targets = TargetScale.from_moments(ColumnMoments.from_rows(Y, w), centred=centred, scaled=False)
    expected = np.average((Y - targets.center) ** 2, weights=np.broadcast_to(w[:, None], Y.shape))
    assert targets.variance == pytest.approx(expected)
    assert targets.center == pytest.approx(np.average(Y[:, 0], weights=w) * centred)
