"""Each integral against an exact answer, over the range its docstring states."""

import functools

import mpmath
import numpy as np
import pytest
from scipy import special, stats
from support.for_each import for_each

from posterity import quadrature

VARIANCES = [0.0, 1e-12, 1e-4, 0.3, 2.0, 30.0, 1e3, 1e6]


@functools.cache
def mean_sigmoid(mean, variance):
    """log E sigmoid(a), by swapping roles: sigmoid is the cdf of a logistic variable u."""
    with mpmath.workdps(20):
        m, v = mpmath.mpf(mean), mpmath.mpf(variance)
        # far in the tail sigmoid(a) = sum (-1)^(k+1) exp(k a): each term is a normal integral
        if m < -40 and m + v < -40:
            return float(m + v / 2)
        sd = mpmath.sqrt(v)

        def integrand(u):
            return mpmath.ncdf((m - u) / sd) / (4 * mpmath.cosh(u / 2) ** 2)

        steps = [-120, -60, -30, -15, -7, -3, 0, 3, 7, 15, 30, 60, 120]
        near = [m + k * sd for k in (-8, -4, -2, -1, 0, 1, 2, 4, 8) if abs(m + k * sd) < 120]
        return float(
            mpmath.log(mpmath.quad(integrand, sorted({mpmath.mpf(s) for s in steps} | set(near))))
        )


@for_each("variance", [0.0, 0.3, 4.0, 1e8])
def test_hermite_is_exact_for_polynomials(variance):
    m = np.array([-2.0, 0.0, 3.0])
    moment = quadrature.expect_hermite(lambda a: a**4, m, variance)
    np.testing.assert_allclose(moment, m**4 + 6 * m**2 * variance + 3 * variance**2, rtol=1e-11)


@for_each(
    ("variance", "error"), [(1e-12, 1e-14), (0.5, 1e-14), (2.0, 1e-12), (4.0, 1e-9), (10.0, 1e-6)]
)
@for_each("mean", [-3.0, 5.0])
def test_hermite_holds_for_the_sigmoid_where_it_says(mean, variance, error):
    exact = mean_sigmoid(mean, variance)
    value = quadrature.expect_hermite(special.expit, mean, variance)
    assert abs(value - np.exp(exact)) < error


def test_hermite_does_not_hold_beyond():
    value = quadrature.expect_hermite(special.expit, 3.0, 1e3)
    assert abs(value - np.exp(mean_sigmoid(3.0, 1e3))) > 0.01


@pytest.mark.full
@for_each("variance", VARIANCES[1:])
@for_each("mean", [-3000.0, -45.0, -3.0, 5.0])
def test_wide_holds_for_the_sigmoid_at_all_variances(mean, variance):
    exact = mean_sigmoid(mean, variance)
    log_value = quadrature.log_expect_wide(special.log_expit, mean, variance)
    assert abs(log_value - exact) <= 1e-12 * max(1.0, abs(exact))
    value = quadrature.expect_wide(special.expit, mean, variance)
    assert abs(value - np.exp(exact)) < 1e-12


@for_each("variance", VARIANCES)
@for_each("scale", [1e-3, 1.0, 40.0])
def test_wide_convolves_two_normals(variance, scale):
    m, y = np.array([-2.0, 0.0, 900.0]), 1.0
    log_value = quadrature.log_expect_wide(
        lambda a: stats.norm.logpdf(a, y, scale), m, variance, centre=y, width=scale
    )
    exact = stats.norm.logpdf(y, m, np.sqrt(variance + scale**2))
    np.testing.assert_allclose(log_value, exact, rtol=1e-11, atol=1e-11)


@for_each("variance", VARIANCES)
def test_wide_sees_a_narrow_peak_far_from_the_mean(variance):
    def log_cauchy(a):
        return stats.cauchy.logpdf(a, 30.0, 0.1)

    log_value = quadrature.log_expect_wide(log_cauchy, 0.0, variance, centre=30.0, width=0.1)
    if variance == 0.0:
        exact = log_cauchy(0.0)
    else:
        sd = np.sqrt(variance)
        exact = np.log(special.voigt_profile(30.0, sd, 0.1))
    np.testing.assert_allclose(log_value, exact, rtol=1e-10)


def test_wide_gives_the_mean_of_a_function_that_changes_sign():
    v = np.array(VARIANCES)
    np.testing.assert_allclose(
        quadrature.expect_wide(lambda a: a**3, 2.0, v), 8.0 + 6.0 * v, rtol=1e-12
    )


def test_zero_variance_evaluates_at_the_mean():
    m = np.array([-1e3, 0.0, 7.0])
    value = quadrature.log_expect_wide(special.log_expit, m, 0.0)
    np.testing.assert_allclose(value, special.log_expit(m), atol=1e-15)


def test_parameters_broadcast():
    v = np.array([[0.5], [1.0]])
    assert quadrature.expect_hermite(np.cos, np.zeros(3), v).shape == (2, 3)
    assert quadrature.expect_wide(np.cos, np.zeros(3), v, centre=np.zeros(3)).shape == (2, 3)
    assert quadrature.log_expect_wide(np.cos, 0.0, 1.0, width=[1.0, 2.0]).shape == (2,)
    np.testing.assert_allclose(
        quadrature.expect_hermite(np.cos, np.zeros(3), v), np.exp(-v / 2.0) * np.ones(3), rtol=1e-13
    )


@for_each("variance", [-1.0, np.nan])
def test_an_impossible_variance_is_refused(variance):
    with pytest.raises(ValueError, match="variance of a normal"):
        quadrature.expect_hermite(np.cos, 0.0, variance)
    with pytest.raises(ValueError, match="variance of a normal"):
        quadrature.expect_wide(np.cos, 0.0, variance)
    with pytest.raises(ValueError, match="width of a feature"):
        quadrature.expect_wide(np.cos, 0.0, 1.0, width=0.0)


def test_integrate_is_exact_for_polynomials_between_breakpoints():
    points = np.array([[-1.0, 0.0], [0.5, 0.0], [0.5, 1.0], [2.0, 3.0]])
    values = quadrature.integrate(lambda x: x**23, points)
    np.testing.assert_allclose(values, (points[-1] ** 24 - points[0] ** 24) / 24.0, rtol=1e-12)
    kink = quadrature.integrate(np.abs, np.array([-1.0, 0.0, 2.0]))
    np.testing.assert_allclose(kink, 2.5, rtol=1e-14)


@for_each("z", [3.0, 5.0, 40.0, 1e4])
def test_the_tail_of_a_normal_by_laguerre(z):
    # density at z (1 + u) relative to that at z
    log_value = quadrature.log_integrate_tail(lambda u: -(z**2) * (u + 0.5 * u**2), z**2)
    exact = np.log(special.erfcx(z / np.sqrt(2.0)) * np.sqrt(np.pi / 2.0) / z)
    np.testing.assert_allclose(log_value, exact, rtol=0.0, atol=2e-14 * max(1.0, abs(exact)))
