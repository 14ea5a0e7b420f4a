"""Logs of tail probabilities against forty-digit arithmetic."""

import mpmath
import numpy as np
import pytest
from support.for_each import for_each

from posterity.distributions import (
    Bernoulli,
    Categorical,
    Gamma,
    GeneralNormal,
    LogNormal,
    NegativeBinomial,
    Normal,
    StudentT,
)

RELATIVE = 1e-12


@pytest.fixture(autouse=True)
def forty_digits():
    with mpmath.workdps(40):
        yield


def assert_close(ours, exact):
    assert mpmath.isfinite(exact)
    assert abs(mpmath.mpf(float(ours)) - exact) <= RELATIVE * max(abs(exact), mpmath.mpf("1e-3"))


@for_each("z", [0.1, 5.0, 40.0, 1e4])
def test_normal_tails(z):
    exact = mpmath.log(mpmath.erfc(mpmath.mpf(z) / mpmath.sqrt(2)) / 2)
    assert_close(Normal(3.0, 2.0).logccdf(3.0 + 2.0 * z), exact)
    assert_close(Normal(3.0, 2.0).logcdf(3.0 - 2.0 * z), exact)


@for_each("nu", [0.05, 1.0, 4.5, 300.0, 1e5])
@for_each("z", [0.1, 5.0, 36.0, 40.0, 1e3, 1e70, 1e250])
def test_student_t_tails(nu, z):
    x = nu / (nu + mpmath.mpf(z) ** 2)
    exact = mpmath.log(mpmath.betainc(mpmath.mpf(nu) / 2, 0.5, 0, x, regularized=True) / 2)
    assert_close(StudentT(0.0, 1.0, nu).logccdf(z), exact)
    assert_close(StudentT(0.0, 1.0, nu).logcdf(-z), exact)


@for_each("nu", [0.05, 0.3, 1.0, 2.5, 7.0, 30.0, 1e3, 1e8])
def test_student_t_quantiles(nu):
    t, log10_p = StudentT(0.0, 1.0, nu), np.arange(-300.0, -0.5, 3.7)
    z = t.icdf(10.0**log10_p)
    reached = z > -1e300
    assert reached.any()
    np.testing.assert_allclose(t.logcdf(z)[reached], log10_p[reached] * np.log(10.0), rtol=1e-10)
    np.testing.assert_array_equal(t.iccdf(10.0**log10_p), -z)
    np.testing.assert_array_equal(t.icdf([0.0, 0.5, 1.0]), [-np.inf, 0.0, np.inf])
    np.testing.assert_allclose(t.icdf(1.0 - 2.0**-50), -t.icdf(2.0**-50), rtol=1e-12)


@for_each("nu", [0.05, 4.5, 300.0, 1e7, 1e12])
@for_each("z", [0.0, 2.0, 40.0, 1e200])
def test_student_t_density(nu, z):
    v = mpmath.mpf(nu)
    constant = mpmath.loggamma((v + 1) / 2) - mpmath.loggamma(v / 2) - mpmath.log(v * mpmath.pi) / 2
    exact = constant - (v + 1) / 2 * mpmath.log1p(mpmath.mpf(z) ** 2 / v)
    assert_close(StudentT(0.0, 1.0, nu).logpdf(z), exact)


@for_each("nu", [0.05, 4.5, 39.9, 40.1, 300.0, 1e7, 1e12])
def test_student_t_entropy_and_crps(nu):
    v = mpmath.mpf(nu)
    half_step = mpmath.loggamma((v + 1) / 2) - mpmath.loggamma(v / 2)
    growth = mpmath.digamma((v + 1) / 2) - mpmath.digamma(v / 2)
    exact = (v + 1) / 2 * growth - half_step + mpmath.log(v * mpmath.pi) / 2
    assert_close(StudentT(0.0, 1.0, nu).entropy(), exact)
    if nu > 1.0:
        density = mpmath.exp(half_step) / mpmath.sqrt(v * mpmath.pi)
        spread = mpmath.beta(0.5, v - 0.5) / mpmath.beta(0.5, v / 2) ** 2
        exact = (2 * density * v - 2 * mpmath.sqrt(v) * spread) / (v - 1)
        assert_close(StudentT(0.0, 1.0, nu).crps(0.0), exact)


@for_each("a", [1e-3, 0.5, 1.0, 19.0, 21.0, 1e3, 1e5])
@for_each("ratio", [1.0, 1.3, 3.0, 50.0, 1e6])
def test_gamma_upper_tail(a, ratio):
    x = mpmath.mpf(a * ratio + 3.0)
    exact = mpmath.log(mpmath.gammainc(a, x, mpmath.inf, regularized=True))
    assert_close(Gamma(a, 4.0).logccdf(float(x) / 4.0), exact)


@for_each("a", [0.5, 1.0, 19.0, 21.0, 1e3, 1e4])
@for_each("ratio", [1e-250, 1e-3, 0.3, 0.8])
def test_gamma_lower_tail(a, ratio):
    x = mpmath.mpf(a * ratio)
    exact = mpmath.log(mpmath.gammainc(a, 0, x, regularized=True))
    assert_close(Gamma(a, 0.5).logcdf(2.0 * float(x)), exact)


@for_each("a", [1e4, 9e4, 2e5, 1e7, 1e9])
@for_each("deviations", [-3.0, -4.45, -6.0, -20.0])
def test_gamma_lower_tail_at_large_shapes(a, deviations):
    x = a + deviations * np.sqrt(a)
    z = np.concatenate([np.linspace(0.0, 3.0, 31), np.linspace(3.5, 15.0, 24)])[::-1]
    nodes, weights = np.polynomial.legendre.leggauss(20)
    half = -0.5 * np.diff(z)[:, None]
    y = x - np.sqrt(a) * (z[1:, None] + half * (1.0 + nodes))
    density = np.exp(Gamma(a, 1.0).logpdf(y) - Gamma(a, 1.0).logpdf(x))
    log_p = Gamma(a, 1.0).logpdf(x) + np.log(np.sum(half * weights * density) * np.sqrt(a))
    np.testing.assert_allclose(Gamma(a, 1.0).logcdf(x), log_p, rtol=1e-11)
    np.testing.assert_allclose(Gamma(a, 1.0).cdf(x), np.exp(log_p), rtol=1e-9)
    np.testing.assert_allclose(Gamma(a, 1.0).icdf(np.exp(log_p)), x, rtol=1e-11)


@for_each("deviations", [-1.0, 0.0, 1.0, 4.0])
def test_gamma_of_large_shape_near_its_mean(deviations):
    gamma, x = Gamma(1e8, 1.0), 1e8 + 1e4 * deviations
    np.testing.assert_allclose(gamma.cdf(x), 1.0 - gamma.ccdf(x), rtol=1e-10)
    np.testing.assert_allclose(gamma.logcdf(x), np.log1p(-gamma.ccdf(x)), rtol=1e-9)


@for_each("a", [1e-3, 1.0, 19.9, 20.1, 1e5, 1e12])
@for_each("deviations", [-30.0, -1.0, 0.0, 0.1, 40.0])
def test_gamma_density(a, deviations):
    x = max(a + deviations * np.sqrt(a), 1e-3 * a)
    with mpmath.workdps(60):
        t = mpmath.mpf(x)
        exact = (a - 1) * mpmath.log(t) - t - mpmath.loggamma(a)
    allowed = 1e-12 * max(abs(exact), 1.0) + 4e-16 * abs(deviations) * np.sqrt(a)
    assert abs(float(Gamma(a, 1.0).logpdf(x)) - exact) <= allowed


@for_each("a", [0.05, 7.0, 999.0, 1001.0, 1e6, 1e12])
def test_gamma_entropy(a):
    b = mpmath.mpf(a)
    exact = b + mpmath.loggamma(b) + (1 - b) * mpmath.digamma(b)
    assert_close(Gamma(a, 1.0).entropy(), exact)


@for_each("power", [0.3, 1.0, 2.0, 7.0])
@for_each("exponent", [0.01, 10.0, 600.0, 1e5])
def test_general_normal_tails(power, exponent):
    z = exponent ** (1.0 / power)
    x = mpmath.mpf(z) ** power
    exact = mpmath.log(mpmath.gammainc(1 / mpmath.mpf(power), x, mpmath.inf, regularized=True) / 2)
    assert_close(GeneralNormal(0.0, 1.0, power).logccdf(z), exact)
    assert_close(GeneralNormal(0.0, 1.0, power).logcdf(-z), exact)
    assert_close(GeneralNormal(0.0, 1.0, power).logcdf(z), mpmath.log1p(-mpmath.exp(exact)))


@for_each("logit", [0.3, 40.0, 800.0, 1e5])
def test_class_probabilities_never_round_to_certainty(logit):
    for dist in (Bernoulli.from_logit(logit), Categorical.from_logits([0.0, logit])):
        assert_close(dist.logpmf(0), -mpmath.log1p(mpmath.exp(mpmath.mpf(logit))))
        assert_close(dist.logpmf(1), -mpmath.log1p(mpmath.exp(-mpmath.mpf(logit))))
        assert_close(dist.logcdf(0), -mpmath.log1p(mpmath.exp(mpmath.mpf(logit))))
        assert_close(dist.logccdf(0), -mpmath.log1p(mpmath.exp(-mpmath.mpf(logit))))
        assert dist.logccdf(1) == -np.inf


def test_a_tiny_scale_of_a_small_power_has_an_ordinary_variance():
    """The standard form's variance overflows at power 0.01, and the scale squared underflows."""
    power = 0.01
    log_standard = float(mpmath.loggamma(3 / power) - mpmath.loggamma(1 / power))
    scale = np.exp(-0.5 * log_standard)
    prediction = GeneralNormal(0.0, scale, power)
    assert prediction.variance() == pytest.approx(1.0, rel=1e-9)
    assert prediction.standard_deviation() == pytest.approx(1.0, rel=1e-9)
    assert GeneralNormal(1.0, 0.0, power).variance() == 0.0
    assert GeneralNormal(1.0, 1.0, power).variance() == np.inf


@for_each("power", [100.0, 500.0, 3000.0])
@for_each("z", [1e-3, 0.1, 0.9])
def test_a_power_that_is_large_leaves_the_centre_nearly_uniform(power, z):
    """Where |z|^power underflows, as elsewhere."""
    p, x = mpmath.mpf(power), mpmath.mpf(z)
    density = 1 / (2 * mpmath.gamma(1 + 1 / p))

    def partial_mean(a, b):
        return mpmath.gammainc(2 / p, a**p, b**p) / p * density

    below = mpmath.gammainc(1 / p, x**p, mpmath.inf, regularized=True) / 2
    d = GeneralNormal(0.0, 1.0, power)
    assert_close(d.cdf(-z), below)
    assert_close(d.logcdf(-z), mpmath.log(below))
    assert_close(d.logccdf(-z), mpmath.log1p(-below))
    assert float(d.icdf(float(below))) == pytest.approx(-z, rel=1e-9)
    half_spread = (
        mpmath.gamma(2 / p)
        / mpmath.gamma(1 / p)
        * mpmath.betainc(1 / p, 2 / p, 0, 0.5, regularized=True)
    )
    distance = x * (1 - 2 * below) + 2 * partial_mean(x, mpmath.inf)
    assert_close(d.crps(z), distance - half_spread)


@for_each("a", [1e9, 1e12, 1e15])
@for_each("deviations", [-6.0, -4.5, -1.0, 1.0])
def test_both_tails_of_a_large_gamma_add_up_to_one(a, deviations):
    d, x = Gamma(a, 1.0), a + deviations * np.sqrt(a)
    assert float(d.cdf(x) + d.ccdf(x)) == pytest.approx(1.0, abs=1e-15)
    assert float(np.exp(d.logccdf(x))) == pytest.approx(float(d.ccdf(x)), rel=1e-13)


@for_each("mean", [1e17, 1e100, 1e300])
@for_each("shape", [1e-3, 1.0, 50.0])
def test_huge_negative_binomials_are_gammas(mean, shape):
    d, limit = NegativeBinomial(mean, shape), Gamma(shape, shape)
    for p in (0.05, 0.5, 0.95):
        expected = float(limit.icdf(p)) * mean
        assert float(d.icdf(p)) == pytest.approx(expected, rel=1e-9, abs=1.0)
        assert float(d.iccdf(1.0 - p)) == pytest.approx(expected, rel=1e-9, abs=1.0)
    y = np.array([1e-2, 1.0, 3.0])
    np.testing.assert_allclose(d.ccdf(np.rint(y * mean)), limit.ccdf(y), rtol=1e-9, atol=1e-300)


@for_each("scale", [1e-8, 1e-3, 0.0999, 0.1001, 3.0])
@for_each("z", [-40.0, -1.0, 0.0, 0.5, 40.0])
@for_each("location", [0.0, 300.0])
def test_log_normal_crps(scale, z, location):
    y = float(np.exp(location + scale * z))
    s, x = mpmath.mpf(scale), mpmath.mpf(y)
    # In terms of what doubles say of the logarithm, which is all that the density knows.
    at = (mpmath.log(x) - mpmath.mpf(location)) / s
    mean = mpmath.exp(mpmath.mpf(location) + s**2 / 2)

    def central(t):
        return mpmath.erf(t / mpmath.sqrt(2))

    exact = x * central(at) - mean * (central(at - s) + mpmath.erf(s / 2))
    rounding = 4e-16 * (1.0 + abs(location)) / scale
    ours = mpmath.mpf(float(LogNormal(location, scale).crps(y)))
    assert ours > 0
    assert abs(ours - exact) <= max(1e-11, rounding) * exact
