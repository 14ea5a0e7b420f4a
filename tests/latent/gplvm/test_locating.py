"""Latent points of new rows: exact where everything is normal, and the best hill elsewhere."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import integrate, stats
from support.latents import with_variance

from posterity import kernels
from posterity.arrays import Array
from posterity.inference.posterior import LatentMarginals
from posterity.latent.gplvm import inducing_outputs, locating
from posterity.latent.gplvm.search import CandidatePoints
from posterity.latent.gplvm.trajectories import TrajectoryPrior

N, D, Q = 6, 5, 2
NOISE = 0.3


@dataclass(frozen=True)
class Plane:
    """f(x) = W x + c, known but for a variance v of each output, and x^T B x more of each."""

    W: Array  # (D, Q)
    c: Array  # (D,)
    v: Array  # (D,)
    B: Array  # (Q, Q)
    noise_variance: float = NOISE

    def latent(self, X):
        bent = np.einsum("ni,ij,nj->n", X, self.B, X)
        return LatentMarginals(X @ self.W.T + self.c, self.v + bent[:, None])

    def log_density(self, X, Y):
        assert not self.B.any()
        s, R = self.v + NOISE, Y - X @ self.W.T - self.c
        value = np.nansum(stats.norm.logpdf(R, scale=np.sqrt(s)), axis=1)
        return value, np.nan_to_num(R / s) @ self.W


@dataclass(frozen=True)
class Tied:
    """Columns of X are independent, each N(0, C)."""

    C: Array

    def __call__(self, X, own):
        normal = stats.multivariate_normal(np.zeros(len(X)), self.C)
        return float(np.sum(normal.logpdf(X.T))), -np.linalg.solve(self.C, X), own

    def precisions(self, own):
        yield np.arange(len(self.C)), np.linalg.inv(self.C)

    def divergence(self, m, S, own):
        P = np.linalg.inv(self.C)
        return np.nan, P @ m, 0.5 * (np.diag(P)[:, None] - 1.0 / S), own


@pytest.fixture
def rng():
    return np.random.default_rng(8)


@pytest.fixture
def plane(rng):
    W, c = rng.normal(size=(D, Q)), rng.normal(size=D)
    return Plane(W, c, rng.uniform(0.1, 0.5, D), np.zeros((Q, Q)))


@pytest.fixture
def Y(rng, plane):
    """Rows with values missing, and one without any."""
    rows = plane.latent(rng.normal(size=(N, Q))).mean + 0.5 * rng.normal(size=(N, D))
    rows[1, :3], rows[2, 4], rows[4] = np.nan, np.nan, np.nan
    return rows


@pytest.fixture
def candidates(rng):
    return rng.normal(size=(7, Q))


def blocks_of_precision(plane, Y):
    """W^T S^-1 W and W^T S^-1 (y - c), of what each row has."""
    for y in Y:
        seen = ~np.isnan(y)
        W, w = plane.W[seen], 1.0 / (plane.v[seen] + NOISE)
        yield (W.T * w) @ W, (W.T * w) @ (y - plane.c)[seen]


def test_posterior_of_a_linear_function_is_exact(plane, Y, candidates):
    found = locating.locate(plane, Y, candidates=candidates)
    assert found.converged.all()
    for n, (A, b) in enumerate(blocks_of_precision(plane, Y)):
        covariance = np.linalg.inv(A + np.eye(Q))
        assert found.mean[n] == pytest.approx(covariance @ b, abs=1e-6)
        assert found.covariance[n] == pytest.approx(covariance, abs=1e-7)


def test_log_density_of_a_linear_function_is_exact(plane, Y, candidates):
    found = locating.locate(plane, Y, candidates=candidates)
    for n, y in enumerate(Y[:4]):
        seen = ~np.isnan(y)
        C = (plane.W @ plane.W.T + np.diag(plane.v + NOISE))[np.ix_(seen, seen)]
        expected = stats.multivariate_normal(plane.c[seen], C).logpdf(y[seen])
        assert found.log_density[n] == pytest.approx(expected, abs=1e-6)


def test_points_that_are_known_are_as_sure_as_those_found(plane, Y, candidates):
    found = locating.locate(plane, Y, candidates=candidates)
    known = locating.locate_at(plane, Y, found.mean)
    assert known.covariance == pytest.approx(found.covariance)
    assert known.log_density == pytest.approx(found.log_density)


def test_row_without_a_value_is_where_the_prior_is(plane, Y, candidates):
    found = locating.locate(plane, Y, candidates=candidates)
    assert np.array_equal(found.mean[4], np.zeros(Q))
    assert found.covariance[4] == pytest.approx(np.eye(Q))
    assert found.log_density[4] == 0.0
    assert found.converged[4]


def test_searches_start_at_candidates_that_explain_the_row(plane, Y, candidates):
    starts = CandidatePoints.from_decoder(plane, candidates).choose_starts(Y, 3)
    certain = replace(plane, v=np.zeros(D))
    for y, chosen in zip(Y, starts, strict=True):
        orders = []
        for decoder in (certain, plane):
            values, _ = decoder.log_density(candidates, np.tile(y, (len(candidates), 1)))
            orders.append(np.argsort(0.5 * np.sum(candidates**2, axis=1) - values))
        expected = list(orders[0][:2])
        expected.append(next(i for i in orders[1] if i not in expected))
        assert {tuple(x) for x in chosen} == {tuple(x) for x in candidates[expected]}


def test_rows_are_located_each_by_itself_and_in_blocks(monkeypatch, plane, Y, candidates):
    whole = locating.locate(plane, Y, candidates=candidates)
    monkeypatch.setattr("posterity.latent.gplvm.locating._VALUES", 2 * 3 * D)
    parts = locating.locate(plane, Y, candidates=candidates)
    assert parts.mean == pytest.approx(whole.mean, abs=1e-10)
    assert parts.covariance == pytest.approx(whole.covariance, abs=1e-10)
    assert parts.log_density == pytest.approx(whole.log_density, abs=1e-10)


def test_fewer_candidates_than_starts_and_no_rows_at_all(plane, Y, candidates):
    one = locating.locate(plane, Y, candidates=candidates[:1])
    several = locating.locate(plane, Y, candidates=candidates)
    assert one.mean == pytest.approx(several.mean, abs=1e-4)
    none = locating.locate(plane, Y[:0], candidates=candidates)
    assert none.covariance.shape == (0, Q, Q)
    assert locating.decode_normal_points(plane, none.mean, none.covariance)[0].shape == (0, D)


def test_iterations_that_run_out_are_told(plane, Y, candidates):
    found = locating.locate(plane, Y, candidates=candidates + 3.0, max_iter=1)
    assert np.array_equal(np.flatnonzero(found.converged), [4])


def test_mean_and_variance_at_uncertain_points_are_exact_in_the_plane(rng, plane):
    R = rng.normal(size=(700, Q, Q))
    S, m = R @ np.swapaxes(R, 1, 2), rng.normal(size=(700, Q))
    B = np.diag([0.3, 0.7])
    bent = Plane(plane.W, plane.c, plane.v, B)
    mean, variance = locating.decode_normal_points(bent, m, S)
    assert mean == pytest.approx(m @ plane.W.T + plane.c)
    moved = np.einsum("di,nij,dj->nd", plane.W, S, plane.W)
    own = np.einsum("ni,ij,nj->n", m, B, m) + np.einsum("nij,ji->n", S, B)
    assert variance == pytest.approx(plane.v + own[:, None] + moved)


def test_sure_points_are_decoded_as_they_are(rng, plane):
    m = rng.normal(size=(4, Q))
    found = locating.decode_normal_points(plane, m, np.zeros((4, Q, Q)))
    for one, other in zip(found, with_variance(plane.latent(m)), strict=True):
        assert one == pytest.approx(other)


def test_prior_that_ties_no_rows_changes_nothing(plane, Y, candidates):
    apart = locating.locate(plane, Y, candidates=candidates)
    along = locating.locate_along(plane, Y, Tied(np.eye(N)), np.empty(0), candidates=candidates)
    assert along.converged.all()
    assert along.mean == pytest.approx(apart.mean, abs=1e-5)
    assert along.covariance == pytest.approx(apart.covariance, abs=1e-6)
    assert along.log_density == pytest.approx(apart.log_density, abs=1e-5)


@pytest.fixture
def along():
    """The covariance of a coordinate over time."""
    return 1.3 * kernels.RBF(2.0)(np.arange(N)[:, None]) + 0.05 * np.eye(N)


def joint_precision(plane, Y, C):
    joint = np.kron(np.linalg.inv(C), np.eye(Q))
    for n, (A, _) in enumerate(blocks_of_precision(plane, Y)):
        joint[Q * n : Q * n + Q, Q * n : Q * n + Q] += A
    return joint


def test_rows_of_a_trajectory_are_where_the_joint_posterior_is(plane, Y, candidates, along):
    found = locating.locate_along(plane, Y, Tied(along), np.empty(0), candidates=candidates)
    joint = joint_precision(plane, Y, along)
    b = np.ravel([b for _, b in blocks_of_precision(plane, Y)])
    covariance = np.linalg.inv(joint).reshape(N, Q, N, Q)
    X = np.linalg.solve(joint, b).reshape(N, Q)
    assert found.mean == pytest.approx(X, abs=1e-4)
    for n, y in enumerate(Y):
        assert found.covariance[n] == pytest.approx(covariance[n, :, n], abs=1e-6)
        assert found.log_density[n] == pytest.approx(given_others(plane, y, X, along, n), abs=1e-4)


def test_rows_of_a_long_trajectory_are_as_sure_as_others_let_them(
    monkeypatch, plane, Y, candidates, along
):
    monkeypatch.setattr("posterity.latent.gplvm.trajectories.AT_ONCE", N * Q - 1)
    found = locating.locate_along(plane, Y, Tied(along), np.empty(0), candidates=candidates)
    joint = joint_precision(plane, Y, along).reshape(N, Q, N, Q)
    for n in range(N):
        assert found.covariance[n] == pytest.approx(np.linalg.inv(joint[n, :, n]), abs=1e-6)


def test_groups_of_a_trajectory_are_as_sure_as_each_by_itself(plane, Y, candidates):
    times, groups = np.array([0.0, 1.0, 2.0, 0.5, 1.5, 3.5]), np.array([0, 1, 0, 1, 0, 0])
    held = kernels.RBF(2.0).fixed()
    prior = TrajectoryPrior(held, np.empty((0, 2)), times, groups)
    both = locating.locate_along(plane, Y, prior, prior.start, candidates=candidates)
    for group in (0, 1):
        rows = groups == group
        alone = TrajectoryPrior(held, np.empty((0, 2)), times[rows], groups[rows])
        one = locating.locate_along(plane, Y[rows], alone, alone.start, candidates=candidates)
        assert both.covariance[rows] == pytest.approx(one.covariance, abs=1e-6)
        assert both.mean[rows] == pytest.approx(one.mean, abs=1e-3)


def given_others(plane, y, X, C, n):
    """log p(y_n | all other points)."""
    others = np.arange(N) != n
    weights = np.linalg.solve(C[np.ix_(others, others)], C[others, n])
    variance, mean = C[n, n] - weights @ C[others, n], weights @ X[others]
    seen = ~np.isnan(y)
    if not seen.any():
        return 0.0
    W = plane.W[seen]
    S = variance * W @ W.T + np.diag(plane.v[seen] + NOISE)
    return stats.multivariate_normal(W @ mean + plane.c[seen], S).logpdf(y[seen])


@pytest.fixture
def curve(rng):
    """A curve in five dimensions, the process that was fitted to it, and further rows."""
    X = np.linspace(-2.0, 2.0, 60)[:, None]
    frequencies, phases = np.linspace(0.6, 3.0, D), 0.3 * np.arange(D)

    def outputs(x):
        return np.sin(frequencies * x + phases) + 0.1 * rng.normal(size=(len(x), D))

    kernel, bounds = kernels.RBF(0.8).search_start(X)
    term = inducing_outputs.InducingOutputs(outputs(X), kernel, bounds, 0.01, None, X[::5])
    x = rng.uniform(-1.9, 1.9, size=(25, 1))
    return term.decoder(X, term.start), X, x, outputs(x)


def test_new_rows_of_a_curve_are_found_on_it(curve):
    decoder, X, x, Y = curve
    found = locating.locate(decoder, Y, candidates=X)
    assert found.converged.all()
    errors = (found.mean - x)[:, 0] / np.sqrt(found.covariance[:, 0, 0])
    assert np.max(np.abs(errors)) < 4.0
    assert 0.4 < np.sqrt(np.mean(errors**2)) < 1.6


def heights(decoder, y):
    """The log posterior of a row, but for a constant, on a grid."""
    grid = np.linspace(-5.0, 5.0, 4001)
    values, _ = decoder.log_density(grid[:, None], np.tile(y, (len(grid), 1)))
    return grid, values + stats.norm.logpdf(grid)


def test_log_density_of_a_curve_is_near_its_integral(curve):
    decoder, X, _, Y = curve
    found = locating.locate(decoder, Y, candidates=X)
    for n, y in enumerate(Y):
        grid, height = heights(decoder, y)
        exact = np.max(height) + np.log(integrate.simpson(np.exp(height - np.max(height)), x=grid))
        assert found.log_density[n] == pytest.approx(exact, abs=0.1)


def test_highest_of_several_hills_is_found(curve):
    decoder, X, _, Y = curve
    Y[:, :3] = np.nan
    found = locating.locate(decoder, Y, candidates=X)
    n_hills = []
    for n, y in enumerate(Y):
        grid, height = heights(decoder, y)
        assert found.mean[n, 0] == pytest.approx(grid[np.argmax(height)], abs=2e-3)
        n_hills.append(np.sum((height[1:-1] > height[:-2]) & (height[1:-1] > height[2:])))
    assert np.mean(n_hills) > 1.5


def test_high_and_narrow_maxima_are_found_where_noise_is_small(rng):
    X, x = rng.normal(size=(150, 2)), 0.7 * rng.normal(size=(40, 2))
    kernel, noise_variance = kernels.RBF(1.2), 1e-5
    C = kernel(np.vstack([X, x])) + noise_variance * np.eye(190)
    outputs = np.linalg.cholesky(C) @ rng.normal(size=(190, 20))
    term = inducing_outputs.InducingOutputs(
        outputs[:150], kernel, np.zeros((1, 2)), noise_variance, None, X[:60]
    )
    decoder, Y = term.decoder(X, term.start), outputs[150:]
    found = locating.locate(decoder, Y, candidates=X)

    def log_posterior(points):
        return decoder.log_density(points, Y)[0] - 0.5 * np.sum(points**2, axis=1)

    assert np.all(log_posterior(found.mean) >= log_posterior(x))
    assert np.max(np.abs(found.mean - x)) < 0.05


def test_curvature_of_a_hill_that_bends_up_leaves_the_prior_variance(curve):
    decoder, X, _, Y = curve
    found = locating.locate(decoder, Y, candidates=X, max_iter=0)
    assert np.all(found.covariance > 0.0)
    assert np.all(found.covariance <= 1.0 + 1e-12)
