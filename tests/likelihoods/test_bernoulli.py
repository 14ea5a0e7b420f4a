"""Two classes: averages over the latent value against forty digits, and in the far tails."""

import mpmath
import numpy as np
import pytest
from scipy.special import log_expit
from support.for_each import for_each

from posterity import likelihoods, quadrature

MEANS = [0.0, 0.7, -0.7, 12.0, -12.0, -40.0, -1000.0]
VARIANCES = [1e-12, 0.3, 1.99, 2.01, 15.9, 16.1, 80.0, 1e3, 1e6]


def exact_tilted(mean, variance):
    """log Z and its derivatives, from the first moments of the tilted normal.

    The trapezoid rule: the step resolves the pole of the sigmoid to exp(-100).
    """
    m, sd = mpmath.mpf(mean), mpmath.sqrt(mpmath.mpf(variance))
    step = mpmath.mpf(1) / max(4, int(5 * float(sd)))
    t = [j * step for j in range(int(-14 / step), int((14 + sd) / step))]
    w = [step * mpmath.npdf(x) / (1 + mpmath.exp(-(m + sd * x))) for x in t]
    Z = mpmath.fsum(w)
    first = mpmath.fdot(w, t) / Z
    second = mpmath.fsum(wi * (x - first) ** 2 for wi, x in zip(w, t, strict=True)) / Z
    return float(mpmath.log(Z)), float(first / sd), float((second - 1) / sd**2)


@for_each("variance", [1e-8, 0.3, 15.9, 16.1, 80.0])
def test_tilted_agrees_with_forty_digits(variance):
    with mpmath.workdps(40):
        exact = np.array([exact_tilted(m, variance) for m in MEANS])
    log_Z, slope, curvature = likelihoods.Bernoulli().log_partition(1, MEANS, variance)
    np.testing.assert_allclose(log_Z, exact[:, 0], rtol=1e-13)
    np.testing.assert_allclose(slope, exact[:, 1], rtol=1e-11)
    np.testing.assert_allclose(curvature, exact[:, 2], rtol=1e-9, atol=1e-15)
    opposite = likelihoods.Bernoulli().log_partition(0, np.negative(MEANS), variance)
    np.testing.assert_array_equal(opposite, [log_Z, -slope, curvature])
    prediction = likelihoods.Bernoulli().predict(MEANS, variance)
    np.testing.assert_allclose(prediction.log_p1, exact[:, 0], rtol=1e-13, atol=1e-15)


def test_averages_agree_with_the_generic_quadrature():
    means = np.concatenate([np.linspace(-1e3, 1e3, 81), np.linspace(-5.0, 5.0, 21), [-1e6, 1e6]])
    m, v = np.meshgrid(means, VARIANCES)
    prediction = likelihoods.Bernoulli().predict(m, v)
    expected = quadrature.log_expect_wide(log_expit, m, v)
    np.testing.assert_allclose(prediction.log_p1, expected, rtol=1e-12, atol=1e-12)
    mirrored = likelihoods.Bernoulli().predict(-m, v)
    np.testing.assert_allclose(prediction.log_p0, mirrored.log_p1, rtol=1e-14)


@for_each("averaging", ["exact", "approximate"])
def test_no_activation_rounds_to_certainty(averaging):
    m, v = np.meshgrid([-1e6, -800.0, 0.0, 800.0, 1e6], [0.0, 1e-12, 1.0, 16.0, 17.0, 1e6])
    prediction = likelihoods.Bernoulli(averaging).predict(m, v)
    log_p = prediction.log_probabilities()
    assert np.all(np.isfinite(log_p) & (log_p <= 0.0))
    np.testing.assert_allclose(np.exp(log_p).sum(axis=-1), 1.0, rtol=1e-12)
    assert np.all(log_p[:, 0, 1] < -0.5)


def test_the_tails_of_the_tilted_normaliser_keep_their_digits():
    """Far on the right, where log Z rounds to zero, its derivatives are exp(-a) to all digits."""
    log_Z, slope, curvature = likelihoods.Bernoulli().log_partition(1, 300.0, 2.0)
    tail = np.exp(-300.0 + 1.0)
    np.testing.assert_allclose([log_Z, slope, curvature], [-tail, tail, -tail], rtol=1e-12)
    _, slope, curvature = likelihoods.Bernoulli().log_partition(0, 300.0, 2.0)
    np.testing.assert_allclose(slope, -1.0, rtol=1e-15)
    np.testing.assert_allclose(curvature, -np.exp(-300.0 + 3.0), rtol=1e-12)


def test_the_closed_form_is_within_two_hundredths():
    m, v = np.meshgrid(np.linspace(-20.0, 20.0, 41), [0.1, 1.0, 10.0, 100.0])
    close = likelihoods.Bernoulli("approximate").predict(m, v).mean()
    np.testing.assert_allclose(close, likelihoods.Bernoulli().predict(m, v).mean(), atol=0.02)


@for_each("variance", [0.0, 1e-3, 0.5, 3.9, 4.1, 15.0, 17.0, 400.0])
@for_each("y", [0.0, 1.0])
def test_expected_values_agree_with_the_generic_quadrature(variance, y):
    """[P9 9.2], averaged: the log-probability and its derivatives."""
    likelihood, mean = likelihoods.Bernoulli(), np.array([-60.0, -3.0, -0.2, 0.0, 1.0, 8.0, 60.0])
    found = likelihood.expected_derivatives(y, mean, variance)
    functions = (
        lambda a: likelihood.log_prob(y, a),
        lambda a: likelihood.d1(y, a),
        lambda a: -likelihood.d2(y, a),
    )
    for value, function in zip(found, functions, strict=True):
        exact = quadrature.expect_wide(function, mean, variance)
        np.testing.assert_allclose(value, exact, atol=1e-8)


def test_the_null_is_the_log_odds_of_the_classes():
    value, variance = likelihoods.Bernoulli().fit_constant(
        np.array([1.0, 0.0, 0.0]), np.array([3.0, 0.5, 0.5])
    )
    assert value == pytest.approx(np.log(3.0))
    assert variance == pytest.approx(1.0 / (0.75 * 0.25))


def test_bad_requests_are_refused():
    with pytest.raises(ValueError, match="averaging='laplace' must be one of"):
        likelihoods.Bernoulli("laplace")
    with pytest.raises(ValueError, match="must not be negative or NaN"):
        likelihoods.Bernoulli().predict(0.0, [1.0, -1.0])
