"""Positive targets that hardly scatter: their shape is large, in any units."""

import mpmath
import numpy as np
import pytest
from support.for_each import for_each

from posterity import GammaRegression, likelihoods
from posterity.distributions import special


def amounts(relative, n=40, slope=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    noise = rng.normal(size=n)
    return X, np.exp(relative * (slope * X[:, 0] + noise)), relative * noise


@pytest.mark.full
@for_each("relative", [1e-2, 1e-4, 1e-6, 1e-7])
@for_each("slope", [0.0, 3.0])
def test_the_shape_is_one_over_the_squared_relative_scatter(relative, slope):
    X, y, noise = amounts(relative, slope=slope)
    model = GammaRegression().fit(X, 7.0 * y)
    assert model.shape_ == pytest.approx(1.0 / np.var(noise), rel=0.2)
    np.testing.assert_allclose(model.coef_[0], slope * relative, atol=0.5 * relative)


def test_noise_alone_is_not_explained_by_many_columns():
    """From a start with less noise than there is, the search found weights that fit all of it."""
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(10, 8)), np.exp(4e-5 * rng.normal(size=10))
    model = GammaRegression().fit(X, y)
    given = [
        GammaRegression(shape=float(k)).fit(X, y) for k in model.shape_ * 10.0 ** np.arange(-2, 3)
    ]
    assert model.log_evidence_ >= max(other.log_evidence_ for other in given) - 1e-6


@pytest.mark.filterwarnings("ignore::posterity.optimize.ConvergenceWarning")
def test_constant_targets_have_the_largest_shape_in_any_units():
    X = amounts(1.0)[0]
    shapes = [GammaRegression().fit(X, np.full(40, unit)).shape_ for unit in (1e-3, 1.0, 1e5)]
    np.testing.assert_allclose(shapes, 1.0 / np.finfo(np.float64).eps, rtol=1e-6)


@for_each("shape", [0.3, 19.0, 21.0, 1e6, 1e15])
def test_density_and_slope_have_all_digits_at_large_shapes(shape):
    likelihood, y = likelihoods.Gamma(shape), 3.0
    a = np.log(y) + np.array([-1.0, 1e-3, -1e-7, 2e-8])
    with mpmath.workdps(60):
        for latent in a:
            k, d = mpmath.mpf(shape), mpmath.mpf(float(np.log(y) - latent))
            log_p = k * mpmath.log(k) - mpmath.loggamma(k) + k * (d - mpmath.exp(d)) - mpmath.log(y)
            slope = k * (mpmath.log(k) - mpmath.digamma(k) + d - mpmath.expm1(d))
            assert float(likelihood.log_prob(y, latent)) == pytest.approx(float(log_p), rel=1e-12)
            assert float(likelihood.parameter_derivatives(y, latent)[0][0]) == pytest.approx(
                float(slope), rel=1e-11
            )


def test_special_functions_do_not_cancel():
    d = np.array([-2.0, -0.1, -1e-3, 1e-12, 1e-5, 0.0999, 0.1001, 5.0])
    with mpmath.workdps(60):
        excess = [float(mpmath.expm1(mpmath.mpf(x)) - mpmath.mpf(x)) for x in d]
        less = [float(mpmath.log(k) - mpmath.digamma(k)) for k in (0.5, 20.0, 1e9)]
    np.testing.assert_allclose(special.expm1_excess(d), excess, rtol=1e-14)
    np.testing.assert_allclose(
        [special.log_less_digamma(k) for k in (0.5, 20.0, 1e9)], less, rtol=1e-13
    )
