"""Boosting of locations and spreads: slopes, and noise about the mean of members."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity import likelihoods
from posterity.trees.boosting.noise import HeldOutNoise
from posterity.trees.boosting.objectives import Constants, LocationTargets, SpreadTargets

Y = np.array([0.3, -2.0, 1.5, 4.0, 0.1])


@for_each("likelihood", [likelihoods.Normal(2.0), likelihoods.StudentT(0.7, 4.0)])
def test_slopes_of_spreads_agree_with_differences(likelihood):
    targets = SpreadTargets(Y, np.zeros(5), likelihood)
    eta, h = np.linspace(-1.0, 1.0, 5)[:, None], 1e-5
    slopes, curvatures = targets.derivatives(eta)
    above, below = (targets.log_prob(eta + s, np.arange(5)) for s in (h, -h))
    np.testing.assert_allclose(slopes[:, 0], (above - below) / (2.0 * h), rtol=1e-6)
    assert np.all(curvatures > 0.0)


def test_constants_follow_the_latents_of_locations():
    y = np.random.default_rng(0).normal(3.0, 2.0, size=500)
    targets = LocationTargets.start(y, np.ones(500), likelihoods.Normal())
    assert targets.training.likelihood.noise_variance == pytest.approx(y.var(), rel=1e-5)
    near = (y - 0.1)[:, None]  # residuals of 0.1
    for _ in range(200):
        slopes, curvatures = targets.derivatives(near)
    np.testing.assert_allclose(slopes / curvatures, 0.1, rtol=1e-9)
    assert targets.training.likelihood.noise_variance == pytest.approx(0.01, rel=1e-3)
    assert targets.measure_row(curvatures, np.ones(len(curvatures))) == pytest.approx(
        100.0, rel=1e-3
    )


@for_each(("own", "n_members"), [(0.2, 5), (0.6, 5), (0.6, 2)])
def test_noise_about_the_mean_of_members_is_that_of_their_mean(own, n_members):
    rng = np.random.default_rng(0)
    n, likelihood = 4000, likelihoods.Normal()
    y = rng.normal(size=n)
    a, second = rng.normal(0.0, own, size=(2, n))
    constants = Constants(*likelihood.search_start(y, np.ones(n)))
    held = HeldOutNoise.start(y, a, np.ones(n), likelihood, constants)
    calibrated = held.calibrate(
        None, second, 0.3, n_members, np.arange(len(second), dtype=np.int32)
    )
    noise = calibrated.noise
    latent = noise.find_variance(np.zeros(1), np.array([0.3]), None)
    np.testing.assert_allclose(latent, own**2 / n_members, rtol=0.3, atol=0.003)
    total = noise.predict(np.zeros(1), np.array([0.3]), None).variance()
    np.testing.assert_allclose(total, 1.0 + own**2 / n_members, rtol=0.05)
    far = noise.predict(np.zeros(1), np.array([30.0]), None).variance()
    assert far > total
    members = rng.normal(0.0, own, size=(n_members, n))
    new = noise.predict(members.mean(axis=0), np.full(n, 0.3), None).log_prob(rng.normal(size=n))
    told = calibrated.score(y, a, np.full(n, 0.3), None)
    assert told.mean() == pytest.approx(new.mean(), abs=0.05)


def test_intervals_hold_their_share_of_rows_with_light_tails():
    rng = np.random.default_rng(0)
    y, likelihood, none = (
        rng.uniform(-1.0, 1.0, size=4000),
        likelihoods.Normal(),
        np.full(4000, np.nan),
    )
    constants = Constants(*likelihood.search_start(y, np.ones(4000)))
    held = HeldOutNoise.start(y, np.zeros(4000), np.ones(4000), likelihood, constants)
    noise = held.calibrate(None, none, 0.0, 1, np.arange(len(none), dtype=np.int32)).noise
    high = noise.predict(np.zeros(1), np.zeros(1), None).iccdf(0.05)
    assert np.mean(np.abs(y) < high) == pytest.approx(0.9, abs=0.017)
