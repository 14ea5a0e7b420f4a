"""Principal axes as a model: the density of rows, their residuals, the noise beyond."""

import numpy as np
import pytest
from scipy import stats
from support.for_each import for_each

from posterity.latent.components import routes
from posterity.latent.components.principal import Spectrum
from posterity.latent.components.routes import MemorySource


def model(n=60, d=7, k=3, shift=0.0):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + shift
    return X, routes.decompose_by_columns(MemorySource(X), lambda spectrum: k)


@for_each("k", [0, 3, 6, 7])
def test_the_density_is_that_of_the_normal_distribution_meant(k):
    X, fitted = model(k=k)
    v = fitted.noise_variance
    C = fitted.axes.T @ np.diag(fitted.variances - v) @ fitted.axes + v * np.eye(7)
    expected = stats.multivariate_normal(fitted.mean, C).logpdf(X)
    np.testing.assert_allclose(fitted.log_density(X), expected, rtol=1e-9)


def test_the_noise_makes_the_rows_most_likely():
    """Up to the degrees of freedom: the sample covariance divides by N - 1."""
    X, fitted = model()

    def likelihood(factor):
        known = fitted.spectrum.variances.copy()
        known[3:] *= factor * 59 / 60
        return type(fitted)(fitted.mean, fitted.axes, Spectrum(known, 0.0, 60.0, 7)).log_density(X)

    best = likelihood(1.0).sum()
    assert likelihood(0.99).sum() < best
    assert likelihood(1.01).sum() < best


def test_residuals_are_distances_from_the_reconstruction():
    X, fitted = model(shift=1e6)
    Z, distances = fitted.coordinates_and_residuals(X)
    np.testing.assert_allclose(Z, fitted.coordinates(X), rtol=1e-12)
    np.testing.assert_allclose(distances, np.sum((X - fitted.rows_at(Z)) ** 2, axis=1), rtol=1e-6)
    mean_square = distances.sum() / 59
    np.testing.assert_allclose(mean_square, fitted.spectrum.variances[3:].sum(), rtol=1e-9)


def test_there_is_a_density_only_where_every_direction_varies():
    assert model(k=3)[1].has_density
    assert model(k=7)[1].has_density
    assert not model(n=4, k=3)[1].has_density
    assert not model(n=4, k=7)[1].has_density


def test_shares_and_the_number_that_is_enough():
    spectrum = Spectrum(np.array([6.0, 3.0, 1.0]), 0.0, 9.0, 3)
    np.testing.assert_allclose(spectrum.shares, [0.6, 0.3, 0.1])
    assert [spectrum.enough_for(share) for share in (0.5, 0.61, 0.89, 0.95, 1 - 1e-17)] == [
        1, 2, 2, 3, 3,
    ]  # fmt: skip
    still = Spectrum(np.zeros(3), 0.0, 9.0, 3)
    np.testing.assert_array_equal(still.shares, 0.0)
    assert still.enough_for(0.5) == 1


def test_noise_is_shared_by_directions_that_rows_do_not_reach():
    spectrum = Spectrum(np.array([6.0, 3.0]), 2.0, 9.0, 7)
    assert spectrum.noise_variance(1) == pytest.approx(5.0 / 6.0)
    assert spectrum.noise_variance(7) == 0.0
