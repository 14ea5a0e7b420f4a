"""Decoding normal points and finding normals of new rows, beside quadrature."""

import math
from functools import partial

import numpy as np
import pytest
from support.for_each import for_each
from support.latents import with_variance

from posterity import kernels, optimize
from posterity.inference.observations import HeldRows, Observations
from posterity.latent.gplvm.variational import bound, posterior
from posterity.process.inducing import bound as inducing

N, M, Q, D = 25, 6, 2, 3
KERNELS = [1.2 * kernels.RBF([0.9, 1.5]), kernels.RBF(1.2) + kernels.Linear(0.3) + 0.2]
NO_SEARCH = optimize.Optimum(np.empty(0), 7.0, np.empty(0), 0, "given", converged=True)


def make(kernel, *, missing=False, S=0.1, s2=0.05):
    rng = np.random.default_rng(4)
    m, Z = rng.standard_normal((N, Q)), rng.standard_normal((M, Q))
    Y = np.stack([np.sin(m[:, 0]), m[:, 1], m[:, 0] * m[:, 1]], axis=1)
    if missing:
        Y[:8, 1] = np.nan
    spread = np.full((N, Q), S)
    return Y, posterior.condition_variational(Y, m, spread, kernel, s2, Z, np.empty(0), NO_SEARCH)


def averaged(f, mean, variance, n_nodes=40):
    """E f(x) over one normal point, f of many points at once."""
    x, w = np.polynomial.hermite_e.hermegauss(n_nodes)
    nodes = np.stack([a.ravel() for a in np.meshgrid(x, x)], axis=1)
    mass = np.outer(w, w).ravel() / np.sum(w) ** 2
    return mass @ f(mean + np.sqrt(variance) * nodes)


def row_bound(found, y, mean, variance):
    """E log p(y | x) - KL by quadrature, from predictions at sure points alone."""
    s2, seen = found.noise_variance, ~np.isnan(y)

    def expected_log_density(X):
        f, v = with_variance(found.latent(X))
        squares = ((y - f) ** 2 + v) / s2 + math.log(2.0 * math.pi * s2)
        return -0.5 * np.sum(squares[:, seen], axis=1)

    apart = 0.5 * np.sum(variance + mean**2 - 1.0 - np.log(variance))
    return averaged(expected_log_density, mean, variance) - apart


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_at_sure_training_points_it_is_the_process_through_its_points(kernel, monkeypatch):
    monkeypatch.setattr(bound, "_JITTER", 2.0**-26)  # that of the process
    Y, found = make(kernel, S=1e-13)
    X = np.random.default_rng(0).standard_normal((7, Q))
    sure = inducing.condition_on_points(
        kernel, 0.05, HeldRows(found.m, Observations.from_targets(Y)), found.Z
    )
    expected_mean, expected_variance = with_variance(sure.latent(X))
    mean, variance = with_variance(found.latent(X))
    np.testing.assert_allclose(mean, expected_mean, atol=1e-6)
    np.testing.assert_allclose(variance, expected_variance, atol=1e-6)


@for_each("missing", [False, True])
@for_each("kernel", KERNELS, ids=str)
def test_decoded_moments_are_those_of_all_points_together(kernel, missing):
    _, found = make(kernel, missing=missing)
    rng = np.random.default_rng(1)
    means, variances = rng.standard_normal((4, Q)), rng.uniform(0.05, 0.5, (4, Q))
    f, v = found.decode(means, variances)
    for n in range(4):
        average = partial(averaged, mean=means[n], variance=variances[n])
        expected = average(lambda X: found.latent(X).mean)
        squares = average(lambda X: found.latent(X).mean ** 2 + found.latent(X).variance)
        np.testing.assert_allclose(f[n], expected, atol=1e-8)
        np.testing.assert_allclose(v[n], squares - expected**2, rtol=1e-6, atol=1e-7)


def test_columns_with_fewer_rows_are_less_sure():
    _, found = make(KERNELS[0], missing=True)
    _, variance = with_variance(found.latent(found.m[:8]))
    assert np.all(variance[:, 1] > variance[:, 0])
    np.testing.assert_array_equal(variance[:, 0], variance[:, 2])


def test_blocks_of_rows_are_put_together(monkeypatch):
    _, found = make(KERNELS[0])
    whole = found.decode(found.m, found.S)
    monkeypatch.setattr(posterior, "_VALUES", 2 * M * M)
    for one, other in zip(whole, found.decode(found.m, found.S), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-10, atol=1e-12)


@for_each("missing", [False, True])
@for_each("kernel", [*KERNELS, kernels.Matern(1.5)], ids=str)
def test_a_row_is_where_its_bound_is_best(kernel, missing):
    _, found = make(kernel, missing=missing)
    rows = np.array([[0.5, -0.3, -0.1], [np.nan, 0.8, 0.2], [-0.9, np.nan, np.nan]])
    located = found.locate(rows)
    assert located.converged.all()
    closed = not isinstance(kernel, kernels.Matern)
    for y, mean, C, value in zip(
        rows, located.mean, located.covariance, located.log_density, strict=True
    ):
        variance = np.diagonal(C).copy()
        np.testing.assert_array_equal(C, np.diag(variance))
        if closed:
            assert value == pytest.approx(row_bound(found, y, mean, variance), abs=1e-6)
            for step in np.random.default_rng(0).standard_normal((6, 2, Q)):
                near = mean + 0.05 * step[0], variance * np.exp(0.1 * step[1])
                assert row_bound(found, y, *near) < value + 1e-7


def test_a_row_does_not_depend_on_the_others():
    Y, found = make(KERNELS[0], missing=True)
    together = found.locate(Y)
    for n in (0, 9, 24):
        alone = found.locate(Y[[n]])
        np.testing.assert_allclose(alone.mean[0], together.mean[n], atol=1e-6)
        assert alone.log_density[0] == pytest.approx(together.log_density[n], abs=1e-6)


def test_a_row_without_outputs_is_the_prior():
    _, found = make(KERNELS[0])
    located = found.locate(np.full((1, D), np.nan))
    np.testing.assert_allclose(located.mean, 0.0, atol=1e-6)
    np.testing.assert_allclose(located.covariance, np.eye(Q)[None], atol=1e-6)
    assert located.log_density[0] == pytest.approx(0.0, abs=1e-8)


def test_it_says_what_it_is_made_of():
    Y, found = make(KERNELS[0])
    assert (found.kernel, found.noise_variance, found.log_bound) == (KERNELS[0], 0.05, -7.0)
    value, slope = found.log_density(found.m, Y)
    assert value.shape == (N,)
    assert slope.shape == (N, Q)
