"""What latent points are judged by before any output is seen."""

import numpy as np
import pytest
from scipy import stats
from support.for_each import for_each

from posterity.latent.gplvm import terms

NONE = np.empty(0)


def _slopes(function, X, step=1e-6):
    """The gradient of a function of an array by central differences."""
    slope = np.empty_like(X)
    for place in np.ndindex(X.shape):
        moved = [X.copy(), X.copy()]
        moved[0][place] += step
        moved[1][place] -= step
        slope[place] = (function(moved[0]) - function(moved[1])) / (2.0 * step)
    return slope


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(7, 2))


def test_standard_normal_points_have_their_density(X):
    value, slope, _ = terms.StandardNormalPrior()(X, NONE)
    assert value == pytest.approx(stats.norm.logpdf(X).sum())
    np.testing.assert_array_equal(slope, -X)


def test_the_divergence_is_that_of_normals(X):
    S = np.random.default_rng(1).uniform(0.1, 2.0, X.shape)
    value, dm, dS, _ = terms.StandardNormalPrior().divergence(X, S, NONE)
    x = np.linspace(-12.0, 12.0, 20_001)
    brute = 0.0
    for m, s in zip(X.ravel(), S.ravel(), strict=True):
        q = stats.norm(m, np.sqrt(s))
        brute += np.trapezoid(q.pdf(x) * (q.logpdf(x) - stats.norm.logpdf(x)), x)
    assert value == pytest.approx(brute, rel=1e-8)
    prior = terms.StandardNormalPrior()
    np.testing.assert_allclose(dm, _slopes(lambda m: prior.divergence(m, S, NONE)[0], X), atol=1e-7)
    np.testing.assert_allclose(dS, _slopes(lambda s: prior.divergence(X, s, NONE)[0], S), atol=1e-7)


@for_each("shape", [(3, 2), (3, 3), (3, 7)])
def test_as_many_dimensions_as_rows_leave_no_freedom_of_volume(shape):
    value, slope, _ = terms.Volume()(np.random.default_rng(0).normal(size=shape), np.empty(0))
    assert value == 0.0
    np.testing.assert_array_equal(slope, np.zeros(shape))


def test_the_volume_has_its_gradient(X):
    volume = terms.Volume()
    value, slope, _ = volume(X, NONE)
    assert value == pytest.approx(0.5 * (7 - 2 - 2) * np.linalg.slogdet(np.cov(X.T) * 6 / 7)[1])
    np.testing.assert_allclose(slope, _slopes(lambda A: volume(A, NONE)[0], X), atol=1e-6)


def test_the_volume_is_that_of_the_rows_with_values(X):
    rows = np.arange(len(X)) != 3
    value, slope, _ = terms.Volume(rows)(X, NONE)
    expected, of_rows, _ = terms.Volume()(X[rows], NONE)
    assert value == expected
    np.testing.assert_array_equal(slope[rows], of_rows)
    np.testing.assert_array_equal(slope[3], 0.0)


def test_with_the_volume_the_most_probable_spread_is_that_of_the_prior():
    rng = np.random.default_rng(0)
    N, Q = 500, 3
    X = rng.normal(size=(N, Q))
    H = np.linalg.qr(X - X.mean(axis=0))[0]

    def height(spread):
        points = np.sqrt(N) * spread * H
        return terms.StandardNormalPrior()(points, NONE)[0] + terms.Volume()(points, NONE)[0]

    spreads = np.linspace(0.5, 1.5, 201)
    best = spreads[np.argmax([height(s) for s in spreads])]
    # The mode of a Wishart matrix of N - 1 degrees of freedom is N - Q - 2.
    assert best == pytest.approx(np.sqrt((N - Q - 2) / N), abs=0.006)


def test_the_volume_follows_from_the_wishart_density(X):
    """The density of mean and scatter is that of X times the volume, up to a constant."""
    wishart, normal = stats.wishart(df=6, scale=np.eye(2)), stats.norm(0.0, np.sqrt(1.0 / 7.0))
    prior, volume = terms.StandardNormalPrior(), terms.Volume()
    other = 1.7 * X @ np.array([[1.0, 0.3], [0.0, 0.8]]) + np.array([0.5, -0.2])

    def theirs(A):
        C = A - A.mean(axis=0)
        return wishart.logpdf(C.T @ C) + normal.logpdf(A.mean(axis=0)).sum()

    mine = [prior(A, NONE)[0] + volume(A, NONE)[0] for A in (X, other)]
    assert mine[1] - mine[0] == pytest.approx(theirs(other) - theirs(X))
