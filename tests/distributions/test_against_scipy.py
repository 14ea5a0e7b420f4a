"""The same numbers as scipy.stats where that is accurate, over wide ranges of the parameters."""

import numpy as np
import pytest
from scipy import stats
from support.for_each import for_each

from posterity.distributions import Gamma, GeneralNormal, LogNormal, Normal, StudentT

LEVELS = np.array([1e-300, 1e-50, 1e-9, 0.01, 0.3, 0.5, 0.53, 0.8, 0.99, 1.0 - 1e-9])
PAIRS = [
    *((Normal(m, s), stats.norm(m, s)) for m, s in [(0, 1), (1e6, 1e-6), (-3, 1e8)]),
    *(
        (StudentT(m, s, v), stats.t(v, m, s))
        for v in (0.2, 1, 2, 2.5, 40, 1e3)
        for m, s in [(0, 1), (-2, 30)]
    ),
    *(
        (GeneralNormal(m, s, p), stats.gennorm(p, m, s))
        for p in (0.3, 1, 1.5, 2, 8, 50)
        for m, s in [(0, 1), (-2, 30)]
    ),
    *((LogNormal(m, s), stats.lognorm(s, scale=np.exp(m))) for m, s in [(0, 1), (5, 0.01)]),
    *(
        (Gamma(a, b), stats.gamma(a, scale=1 / b))
        for a in (0.05, 0.7, 1, 5, 19.9, 20.1, 1e3, 1e5)
        for b in (1, 1e-3, 200)
    ),
]


@pytest.fixture(params=PAIRS, ids=lambda pair: f"{pair[1].dist.name}{pair[1].args}{pair[1].kwds}")
def pair(request):
    return request.param


def points(ours):
    return np.concatenate([ours.icdf(LEVELS), ours.iccdf(LEVELS[:4])])


def test_densities_agree(pair):
    ours, theirs = pair
    y = points(ours)
    with np.errstate(all="ignore"):
        expected = theirs.logpdf(y)
    scale = np.abs(expected) + 1.0
    inside = np.isfinite(y) & np.isfinite(expected) & (np.abs(y) > 0.0)
    error = np.abs(ours.logpdf(y[inside]) - expected[inside]) / scale[inside]
    assert inside.sum() >= 6
    assert np.all(error < 1e-9)


def test_distribution_functions_agree(pair):
    ours, theirs = pair
    y = points(ours)
    np.testing.assert_allclose(ours.cdf(y), theirs.cdf(y), rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(ours.ccdf(y), theirs.sf(y), rtol=1e-9, atol=1e-300)


def test_quantiles_agree(pair):
    ours, theirs = pair
    for q, expected in [(ours.icdf, theirs.ppf), (ours.iccdf, theirs.isf)]:
        reached = np.abs(expected(LEVELS)) < 1e50  # beyond, see test_student_t_quantiles
        assert reached.sum() >= 5
        np.testing.assert_allclose(
            q(LEVELS)[reached], expected(LEVELS)[reached], rtol=1e-9, atol=1e-12
        )


def test_moments_and_entropy_agree(pair):
    ours, theirs = pair
    mean, variance = theirs.stats(moments="mv")
    if not (isinstance(ours, StudentT) and ours.degrees_of_freedom <= 1):
        np.testing.assert_allclose(ours.mean(), mean, rtol=1e-12)
        np.testing.assert_allclose(ours.variance(), variance, rtol=1e-12)
    np.testing.assert_allclose(ours.entropy(), theirs.entropy(), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.median(), theirs.median(), rtol=1e-12, atol=1e-12)


def test_gamma_outside_and_at_the_edge_of_its_support():
    y = [-1.0, 0.0]
    np.testing.assert_array_equal(Gamma(2.0, 1.0).logpdf(y), [-np.inf, -np.inf])
    np.testing.assert_array_equal(Gamma(1.0, 2.0).pdf(y), [0.0, 2.0])
    np.testing.assert_array_equal(Gamma(0.5, 1.0).pdf(y), [0.0, np.inf])
    np.testing.assert_array_equal(Gamma(50.0, 1.0).logpdf(y), [-np.inf, -np.inf])
    np.testing.assert_array_equal(Gamma(2.0, 1.0).logcdf(y), [-np.inf, -np.inf])
    np.testing.assert_array_equal(Gamma(2.0, 1.0).logccdf(y), [0.0, 0.0])
    np.testing.assert_array_equal(Gamma([2.0, 30.0], 1.0).logpdf(np.inf), -np.inf)


def test_student_t_without_mean_or_variance_says_so():
    t = StudentT(1.0, 1.0, [0.5, 1.0, 2.0, 3.0])
    np.testing.assert_array_equal(t.mean(), [np.nan, np.nan, 1.0, 1.0])
    np.testing.assert_array_equal(t.variance(), [np.inf, np.inf, np.inf, 3.0])
    np.testing.assert_array_equal(np.isnan(t.crps(0.0)), [True, True, False, False])


def test_special_cases_meet():
    y = np.linspace(-7.0, 9.0, 23)
    normal, laplace = GeneralNormal(1.0, np.sqrt(2.0) * 3.0, 2.0), GeneralNormal(1.0, 3.0, 1.0)
    for method in ("logpdf", "logcdf", "logccdf", "crps"):
        expected = getattr(Normal(1.0, 3.0), method)(y)
        np.testing.assert_allclose(getattr(normal, method)(y), expected, rtol=1e-12)
        close = getattr(StudentT(1.0, 3.0, 1e10), method)(y)
        np.testing.assert_allclose(close, expected, rtol=1e-8)
    np.testing.assert_allclose(StudentT(1.0, 3.0, 1e10).entropy(), Normal(1.0, 3.0).entropy(), 1e-9)
    z = np.abs(y - 1.0) / 3.0
    np.testing.assert_allclose(laplace.crps(y), 3.0 * (z + np.exp(-z) - 0.75), rtol=1e-12)
    np.testing.assert_allclose(
        Gamma(1.0, 0.5).crps(2.0), 2.0 - 2.0 * (1.0 - 2.0 * np.exp(-1.0)) - 1.0, rtol=1e-12
    )


@for_each("family", [Normal, lambda m, s: StudentT(m, s, 3.0)])
def test_a_scale_of_zero_is_a_point(family):
    point = family([2.0, 2.0, 2.0, 0.0], 0.0)
    y = [1.0, 2.0, 3.0, -0.0]
    np.testing.assert_array_equal(point.logpdf(y), [-np.inf, np.inf, -np.inf, np.inf])
    np.testing.assert_array_equal(point.cdf(y), [0.0, 1.0, 1.0, 1.0])
    np.testing.assert_array_equal(point.ccdf(y), [1.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(point.logcdf(y), [-np.inf, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(point.crps(y), [1.0, 0.0, 1.0, 0.0])
    np.testing.assert_array_equal(point.variance(), 0.0)
    np.testing.assert_array_equal(point.standard_deviation(), 0.0)
    np.testing.assert_array_equal(point.entropy(), -np.inf)
    np.testing.assert_array_equal(point[0].icdf([0.0, 0.5, 1.0]), 2.0)
    np.testing.assert_array_equal(point[0].iccdf([0.0, 0.5, 1.0]), 2.0)
    np.testing.assert_array_equal(
        point.sample(2, rng=np.random.default_rng(0)), [point.location] * 2
    )
    assert np.isnan(point[0].logpdf(np.nan))
    assert np.isnan(point[0].cdf(np.nan))


def test_numbers_too_large_to_square_are_no_obstacle():
    far = np.array([-1e200, 1e200])
    for dist in (Normal(0.0, 1e-200), StudentT(0.0, 1.0, 3.0), GeneralNormal(0.0, 1e-5, 3.0)):
        assert np.all(dist.logpdf(far) < -1e3)
        np.testing.assert_array_equal(dist.cdf(far), [0.0, 1.0])
        np.testing.assert_allclose(dist.crps(far), 1e200)
