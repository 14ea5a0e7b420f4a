"""Counts of known and of uncertain rate, against SciPy and forty digits."""

import mpmath
import numpy as np
import pytest
from scipy import stats
from support.for_each import for_each

from posterity.distributions import (
    NegativeBinomial,
    Poisson,
    PoissonLogNormal,
    log_concave,
)

LEVELS = np.array([1e-9, 0.01, 0.3, 0.5, 0.9, 0.999])


@for_each("rate", [1e-3, 0.5, 4.0, 99.0, 1e4, 1e7])
def test_poisson_agrees_with_scipy(rate):
    ours, theirs = Poisson(rate), stats.poisson(rate)
    y = np.unique(np.floor([0.0, 1.0, 5.0, 0.9 * rate, rate, rate + 4.0 * np.sqrt(rate)]))
    np.testing.assert_allclose(ours.logpmf(y), theirs.logpmf(y), rtol=1e-8)
    np.testing.assert_allclose(ours.cdf(y), theirs.cdf(y), rtol=1e-11, atol=1e-290)
    np.testing.assert_allclose(ours.ccdf(y), theirs.sf(y), rtol=1e-9, atol=1e-290)
    np.testing.assert_array_equal(ours.icdf(LEVELS), theirs.ppf(LEVELS))
    np.testing.assert_allclose(ours.iccdf(LEVELS), theirs.isf(LEVELS), rtol=1e-6)


@for_each("mean", [1e-3, 0.5, 4.0, 99.0, 1e4])
@for_each("shape", [0.05, 1.0, 30.0, 1e5])
def test_negative_binomial_agrees_with_scipy(mean, shape):
    ours, theirs = NegativeBinomial(mean, shape), stats.nbinom(shape, shape / (shape + mean))
    y = np.unique(np.floor([0.0, 1.0, 5.0, 0.9 * mean, mean, mean + 4.0 * ours.variance() ** 0.5]))
    rounding = 1e-9 + 1e-15 * shape / mean  # what SciPy loses of 1 - p
    np.testing.assert_allclose(ours.logpmf(y), theirs.logpmf(y), rtol=10.0 * rounding)
    np.testing.assert_allclose(ours.cdf(y), theirs.cdf(y), rtol=rounding, atol=1e-290)
    np.testing.assert_allclose(ours.ccdf(y), theirs.sf(y), rtol=rounding, atol=1e-290)
    np.testing.assert_array_equal(ours.icdf(LEVELS), theirs.ppf(LEVELS))


NEGATIVE = [(0, 1e4, 200.0), (2000, 2.0, 5.0), (3, 1e-5, 1e6), (50, 1e4, 40.0)]


@for_each(("y", "mean", "shape"), NEGATIVE)
def test_the_tails_of_negative_binomial_agree_with_forty_digits(y, mean, shape):
    with mpmath.workdps(40):
        q = mpmath.mpf(mean) / (mpmath.mpf(shape) + mpmath.mpf(mean))
        lower = mpmath.betainc(shape, y + 1, 0, 1 - q, regularized=True)
        upper = mpmath.betainc(y + 1, shape, 0, q, regularized=True)
        expected = float(mpmath.log(lower)), float(mpmath.log(upper))
    assert NegativeBinomial(mean, shape).logcdf(y) == pytest.approx(expected[0], rel=1e-10)
    assert NegativeBinomial(mean, shape).logccdf(y) == pytest.approx(expected[1], rel=1e-10)


@for_each("y", [0, 3, 2000])
@for_each("rate", [1e-5, 2.0, 1e4])
def test_the_tails_of_poisson_agree_with_forty_digits(y, rate):
    with mpmath.workdps(40):
        lower = mpmath.gammainc(y + 1, rate, mpmath.inf, regularized=True)
        upper = mpmath.gammainc(y + 1, 0, rate, regularized=True)
        expected = float(mpmath.log(lower)), float(mpmath.log(upper))
    assert Poisson(rate).logcdf(y) == pytest.approx(expected[0], rel=1e-11)
    assert Poisson(rate).logccdf(y) == pytest.approx(expected[1], rel=1e-11)


def test_the_entropy_of_a_large_rate_is_that_of_its_normal_limit():
    rate = np.array([1e3, 1e6, 1e12])
    series = 0.5 * np.log(2.0 * np.pi * np.e * rate) - 1.0 / (12.0 * rate)
    np.testing.assert_allclose(Poisson(rate).entropy(), series, rtol=1e-7)


@for_each("deviations", [-6.0, -4.75, 4.75, 6.0])
def test_both_tails_of_a_large_rate_agree(deviations):
    y = np.floor(1e9 + deviations * np.sqrt(1e9))
    ours = Poisson(1e9)
    np.testing.assert_allclose(ours.logcdf(y), np.log1p(-ours.ccdf(y)), rtol=1e-6)
    np.testing.assert_allclose(ours.logccdf(y), np.log1p(-ours.cdf(y)), rtol=1e-6)


def test_a_rate_of_zero_never_counts():
    never = Poisson(0.0)
    np.testing.assert_array_equal(never.logpmf([0, 1]), [0.0, -np.inf])
    np.testing.assert_array_equal(never.cdf([0, 1]), [1.0, 1.0])
    assert never.median() == 0.0
    assert never.entropy() == 0.0


def exact(g, location, scale):
    """log of the mean of g(a), by the trapezoid rule, for features of width one or more."""
    step = mpmath.mpf(1) / max(8, int(30 * scale))
    t = [j * step for j in range(int(-16 / step), int(16 / step))]
    return float(
        mpmath.log(mpmath.fsum(step * mpmath.npdf(x) * g(location + scale * x) for x in t))
    )


@for_each(("location", "scale"), [(0.0, 0.5), (1.0, 2.0), (-3.0, 4.0)])
@for_each("y", [0, 2, 30])
def test_uncertain_rates_agree_with_forty_digits(y, location, scale):
    dist = PoissonLogNormal(location, scale)
    with mpmath.workdps(40):
        fact = mpmath.factorial(y)
        mass = exact(
            lambda a: mpmath.exp(y * a - mpmath.exp(a)) / fact, mpmath.mpf(location), scale
        )
    assert dist.logpmf(y) == pytest.approx(mass, rel=1e-10)


def test_extremes_of_the_log_rate_have_finite_logs():
    dist = PoissonLogNormal([300.0, -2000.0, 2000.0, 0.0], [5.0, 4.0, 7.0, 1e3])
    for y in (0.0, 100.0):
        assert np.all(np.isfinite([dist.logpmf(y), dist.logcdf(y)]))
        assert np.all(np.isfinite(dist.logccdf(y)))
        np.testing.assert_allclose(dist.cdf(y) + dist.ccdf(y), 1.0, rtol=1e-10)
    # Far up, exp(a) of the Poisson and the normal meet where the rate is a few hundred.
    a = np.linspace(-20.0, 20.0, 400_001)
    log_f = -np.exp(a) - 0.5 * ((a - 300.0) / 5.0) ** 2 - np.log(5.0 * np.sqrt(2.0 * np.pi))
    top = np.max(log_f)
    expected = top + np.log(np.sum(np.exp(log_f - top)) * (a[1] - a[0]))
    assert dist[0].logpmf(0) == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(dist[:2].median(), [np.exp(300.0), 0.0], rtol=1e-6)
    assert dist[2].median() == np.inf


def test_samples_of_any_rate_are_counts():
    y = PoissonLogNormal([0.0, 60.0, 900.0], 0.1).sample(100, rng=np.random.default_rng(0))
    assert np.all(np.isfinite(y) & (y >= 0.0) & (y == np.floor(y)))
    np.testing.assert_allclose(np.median(y[:, 1]), np.exp(60.0), rtol=0.1)


@for_each("variance", [0.0, 1e-10, 1.0, 1e6])
@for_each("mean", [-30.0, 0.0, 400.0])
def test_the_rule_for_log_concave_functions_is_exact_for_normals(mean, variance):
    y, sigma2 = np.array([-5.0, 0.0, 1e3]), 0.25

    def log_g(y, a):
        return -0.5 * (y - a) ** 2 / sigma2

    total = sigma2 + variance
    expected = 0.5 * np.log(sigma2 / total) - 0.5 * (y - mean) ** 2 / total
    result = log_concave.log_expect(log_g, lambda y, a: (y - a) / sigma2, y, mean, variance)
    np.testing.assert_allclose(result, expected, rtol=1e-10, atol=1e-11)


def test_many_rows_are_taken_in_blocks():
    y = np.arange(5000.0) % 7
    dist = PoissonLogNormal(np.linspace(-1.0, 1.0, 5000), 0.5)
    log_p = dist.logpmf(y)
    np.testing.assert_array_equal(
        log_p[[0, 2047, 2048, 4999]], dist[[0, 2047, 2048, 4999]].logpmf(y[[0, 2047, 2048, 4999]])
    )
    assert PoissonLogNormal(np.zeros(0), 1.0).logpmf(0).shape == (0,)
