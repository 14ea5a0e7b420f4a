"""Moments of predictions under Student-t noise, also where they are infinite or missing."""

import numpy as np
import pytest
from scipy import integrate, stats
from support.for_each import for_each

from posterity import distributions, likelihoods
from posterity.likelihoods import student_t

M, V = np.array([-3.0, 0.0, 20.0]), np.array([0.0, 0.3, 7.0])


@for_each("nu", [2.01, 2.34, 4.0, 900.0])
def test_the_variance_is_that_of_the_noise_and_of_the_latent_value(nu):
    prediction = likelihoods.StudentT(0.6, nu).predict(M, V)
    expected = 0.36 * nu / (nu - 2.0) + V
    np.testing.assert_allclose(prediction.variance(), expected, rtol=1e-13)
    np.testing.assert_allclose(prediction.standard_deviation() ** 2, expected, rtol=1e-13)
    np.testing.assert_array_equal(prediction.mean(), M)


def test_the_variance_is_that_of_the_density():
    """By integration of the convolution itself, which knows nothing of mixtures."""
    nu, s, v = 9.0, 0.5, 0.7

    y, a = np.linspace(0.0, 30.0, 601), np.linspace(-8.0, 8.0, 801)
    product = stats.norm.pdf(a, scale=np.sqrt(v)) * stats.t.pdf(y[:, None] - a, nu, scale=s)
    p = integrate.trapezoid(product, x=a)  # the integrand is flat at both ends
    prediction = likelihoods.StudentT(s, nu).predict(0.0, v)
    np.testing.assert_allclose(prediction.pdf(y), p, rtol=1e-6, atol=1e-12)
    second = 2.0 * integrate.simpson(y**2 * p, x=y)
    assert prediction.variance() == pytest.approx(second, rel=1e-5)


@for_each("nu", [0.5, 1.0, 1.7, 2.0])
def test_moments_that_do_not_exist_are_not_numbers_or_infinite(nu):
    prediction = likelihoods.StudentT(0.6, nu).predict(M, V)
    assert np.all(np.isinf(prediction.variance()))
    assert np.all(np.isinf(prediction.standard_deviation()))
    np.testing.assert_array_equal(prediction.median(), M)
    np.testing.assert_array_equal(prediction.mean(), M if nu > 1.0 else np.full(3, np.nan))
    assert np.isnan(prediction.crps(1.0)).all() == (nu <= 1.0)


@for_each("nu", [1.2, 2.0, 5.0])
def test_without_a_normal_part_it_is_the_student_t(nu):
    plain = distributions.StudentT([0.0, 2.0], 0.7, nu)
    summed = distributions.StudentTPlusNormal([0.0, 2.0], 0.7, nu, 0.0)
    p = np.array([1e-9, 0.05, 0.3])[:, None]
    np.testing.assert_allclose(summed.icdf(1e-16), plain.icdf(1e-16), rtol=1e-4)
    np.testing.assert_allclose(summed.icdf(p), plain.icdf(p), rtol=1e-8)
    np.testing.assert_allclose(summed.entropy(), plain.entropy(), rtol=1e-6)
    np.testing.assert_allclose(summed.crps(1.3), plain.crps(1.3), rtol=1e-6)
    np.testing.assert_allclose(summed.logcdf(-40.0), plain.logcdf(-40.0), rtol=1e-9)


def test_predictions_of_different_tails_stand_side_by_side():
    nu = np.array([0.8, 2.5, 300.0])
    together = distributions.StudentTPlusNormal(0.0, 1.0, nu, 0.4)
    for i in range(3):
        alone = distributions.StudentTPlusNormal(0.0, 1.0, nu[i], 0.4)
        np.testing.assert_allclose(together[i].logpdf(3.0), alone.logpdf(3.0), rtol=1e-12)


def test_the_fewest_degrees_of_freedom_make_the_deviation_half_of_the_interval():
    least = student_t.MIN_DEGREES_OF_FREEDOM
    for nu, inside in [(least, True), (least - 0.02, False)]:
        noise = stats.t(nu)
        assert (noise.std() <= noise.ppf(0.95)) == inside
    _, bounds = likelihoods.StudentT().search_start(np.arange(5.0), np.ones(5))
    assert np.exp(bounds[1, 0]) == pytest.approx(least)
    asked = likelihoods.StudentT(min_degrees_of_freedom=0.5)
    assert np.exp(asked.search_start(np.arange(5.0), np.ones(5))[1][1, 0]) == pytest.approx(0.5)
    many = likelihoods.StudentT(min_degrees_of_freedom=30.0).search_start(
        np.arange(5.0), np.ones(5)
    )[0]
    assert many.degrees_of_freedom == 30.0
    for wrong in (0.0, -1.0, np.nan, 1e3):
        with pytest.raises(ValueError, match=r"min_degrees_of_freedom=.* must lie between"):
            likelihoods.StudentT(min_degrees_of_freedom=wrong)
