"""Inducing points: a bound that holds, is exact where it can be, and has the slope it says."""

import numpy as np
import pytest
from scipy import stats
from support.latents import with_variance

from posterity import arrays, kernels
from posterity.inference import observations
from posterity.inference.observations import HeldRows, Observations
from posterity.kernels import strings
from posterity.process.inducing import bound
from posterity.process.inducing import rows as inducing_rows

N, D, M = 40, 2, 7
NOISE = 0.05
JITTER = np.sqrt(np.finfo(float).eps)


@pytest.fixture
def X(rng):
    return rng.normal(size=(N, D))


@pytest.fixture
def Z(rng):
    return rng.normal(size=(M, D))


@pytest.fixture
def y(rng, X):
    Y = np.stack([np.sin(X[:, 0]), X[:, 1] ** 2], axis=1) + 0.1 * rng.normal(size=(N, 2))
    return Observations.from_targets(
        Y, weights=rng.uniform(0.5, 3.0, N), known_noise=rng.uniform(0.5, 2.0, N)
    )


@pytest.fixture
def rng():
    return np.random.default_rng(3)


KERNELS = {
    "scaled": kernels.Scaled(kernels.RBF((0.8, 1.3)), 1.7),
    "sum": 0.7 * kernels.Matern(1.1, smoothness=1.5) + kernels.Constant(0.4),
    "not stationary": kernels.Linear(0.6) + kernels.RBF(0.9) * kernels.Linear(0.5),
}


@pytest.fixture(params=KERNELS)
def kernel(request):
    return KERNELS[request.param]


def nystrom(kernel, X, Z):
    """Q, with the documented jitter."""
    K = kernel(Z)
    K_uu = K + JITTER * np.mean(np.diag(K)) * np.eye(len(Z))
    return kernel(X, Z) @ np.linalg.solve(K_uu, kernel(Z, X))


def log_normal(y, C, noise_variance):
    """log p(Y) of all outputs under covariance C + noise."""
    full = C + np.diag(noise_variance * y.spread)
    values = [stats.multivariate_normal(np.zeros(len(C)), full).logpdf(column) for column in y.Y.T]
    return sum(values) + y.log_apart(noise_variance)[0]


def dense_bound(kernel, noise_variance, X, y, Z):
    Q = nystrom(kernel, X, Z)
    trace = np.sum((kernel.diag(X) - np.diag(Q)) / (noise_variance * y.spread))
    return log_normal(y, Q, noise_variance) - 0.5 * y.n_outputs * trace


def slopes(function, x, step=1e-5):
    """Central differences in every entry of x, one Richardson step."""

    def central(direction, h):
        return (function(x + h * direction) - function(x - h * direction)) / (2.0 * h)

    directions = np.eye(x.size).reshape(-1, *x.shape)
    found = [(4.0 * central(e, step) - central(e, 2.0 * step)) / 3.0 for e in directions]
    return np.reshape(found, x.shape)


def test_bound_is_that_of_the_dense_formula(kernel, X, y, Z):
    value, _, _ = bound.compute_bound(kernel, NOISE, HeldRows(X, y), Z)
    assert value == pytest.approx(dense_bound(kernel, NOISE, X, y, Z), rel=1e-9)


def test_slope_in_parameters_and_noise_is_that_of_differences(kernel, X, y, Z):
    def value(x):
        return bound.compute_bound(kernel.with_theta(x[:-1]), np.exp(x[-1]), HeldRows(X, y), Z)[0]

    _, gradient, _ = bound.compute_bound(kernel, NOISE, HeldRows(X, y), Z)
    expected = slopes(value, np.append(kernel.theta, np.log(NOISE)))
    assert gradient == pytest.approx(expected, rel=1e-6, abs=1e-6 * np.abs(expected).max())


def test_slope_in_points_is_that_of_differences(kernel, X, y, Z):
    _, _, gradient = bound.compute_bound(kernel, NOISE, HeldRows(X, y), Z)
    expected = slopes(
        lambda points: bound.compute_bound(kernel, NOISE, HeldRows(X, y), points)[0], Z
    )
    assert gradient == pytest.approx(expected, abs=1e-6 * np.abs(expected).max())


def test_slopes_know_that_jitter_grows_with_the_kernel(monkeypatch, kernel, X, y, Z):
    monkeypatch.setattr(inducing_rows, "_jitter", lambda K: 0.1)

    def value(x):
        points = x[P:].reshape(M, D)
        return bound.compute_bound(kernel.with_theta(x[:P]), NOISE, HeldRows(X, y), points)[0]

    P = len(kernel.theta)
    _, gradient, points = bound.compute_bound(kernel, NOISE, HeldRows(X, y), Z)
    expected = slopes(value, np.append(kernel.theta, Z))
    found = np.append(gradient[:P], points)
    assert found == pytest.approx(expected, abs=1e-6 * np.abs(expected).max())


def test_blocks_change_nothing(monkeypatch, kernel, X, y, Z):
    whole = bound.compute_bound(kernel, NOISE, HeldRows(X, y), Z)
    monkeypatch.setattr(observations, "_CPU_VALUES", 0)
    monkeypatch.setattr(observations, "_LEAST_ROWS", 3)
    for one, other in zip(
        bound.compute_bound(kernel, NOISE, HeldRows(X, y), Z), whole, strict=True
    ):
        assert one == pytest.approx(other, rel=1e-10, abs=1e-8)


def test_slices_cover_the_rows_once(X):
    places = observations.cut_rows(10_001, 512, X)
    assert len(places) > 1
    assert np.array_equal(np.concatenate([np.arange(10_001)[i] for i in places]), np.arange(10_001))
    assert observations.cut_rows(1, 512, X) == [slice(0, 1)]


@pytest.mark.parametrize("library", ["torch"])
def test_other_libraries_give_the_same_numbers(library, kernel, X, y, Z):
    torch = pytest.importorskip(library)
    on_device = Observations(torch.asarray(y.Y), torch.asarray(y.spread), y.repeats, y.log_constant)
    X_device, Z_device = torch.asarray(X), torch.asarray(Z)
    for one, other in zip(
        bound.compute_bound(kernel, NOISE, HeldRows(X_device, on_device), Z_device),
        bound.compute_bound(kernel, NOISE, HeldRows(X, y), Z),
        strict=True,
    ):
        assert arrays.to_numpy(one) == pytest.approx(other, rel=1e-8, abs=1e-6)
    posterior = bound.condition_on_points(kernel, NOISE, HeldRows(X_device, on_device), Z_device)
    expected = bound.condition_on_points(kernel, NOISE, HeldRows(X, y), Z)
    assert isinstance(posterior.latent(X_device).variance, torch.Tensor)
    for one, other in zip(
        with_variance(posterior.latent(X_device)), with_variance(expected.latent(X)), strict=True
    ):
        assert arrays.to_numpy(one) == pytest.approx(other, abs=1e-7)


def test_points_at_all_rows_are_exact(kernel, X, y):
    posterior = bound.condition_on_points(kernel, NOISE, HeldRows(X, y), X)
    exact = log_normal(y, kernel(X), NOISE)
    assert posterior.log_evidence == pytest.approx(exact, abs=1e-4)
    assert posterior.gap == pytest.approx(0.0, abs=1e-3)
    queries = np.random.default_rng(0).normal(size=(11, D))
    mean, variance = with_variance(posterior.latent(queries))
    C = kernel(X) + np.diag(NOISE * y.spread)
    k = kernel(queries, X)
    assert mean == pytest.approx(k @ np.linalg.solve(C, y.Y), abs=1e-4)
    full = kernel(queries) - k @ np.linalg.solve(C, k.T)
    assert variance == pytest.approx(np.diag(full)[:, None] + 0.0 * mean, abs=1e-6)
    assert posterior.joint(queries).covariance[0] == pytest.approx(full, abs=1e-6)
    assert posterior.n_inducing == N


def test_posterior_is_that_of_weights_at_the_points(kernel, X, y, Z):
    posterior = bound.condition_on_points(kernel, NOISE, HeldRows(X, y), Z)
    queries = np.random.default_rng(0).normal(size=(11, D))
    K_uu = kernel(Z) + JITTER * np.mean(kernel.diag(Z)) * np.eye(M)
    K_uf, k, precision = kernel(Z, X), kernel(queries, Z), 1.0 / (NOISE * y.spread)
    S = np.linalg.inv(K_uu + (K_uf * precision) @ K_uf.T)
    mean, variance = with_variance(posterior.latent(queries))
    assert mean == pytest.approx(k @ S @ (K_uf * precision) @ y.Y, abs=1e-6)
    full = kernel(queries) - k @ (np.linalg.inv(K_uu) - S) @ k.T
    assert variance == pytest.approx(np.diag(full)[:, None] + 0.0 * mean, abs=1e-6)
    assert posterior.joint(queries).covariance[0] == pytest.approx(full, abs=1e-6)


@pytest.mark.parametrize("n_points", [1, 3, 10, 25])
def test_evidence_is_between_the_bounds(n_points, kernel, X, y):
    posterior = bound.condition_on_points(kernel, NOISE, HeldRows(X, y), X[:n_points])
    exact = log_normal(y, kernel(X), NOISE)
    assert posterior.log_evidence <= exact + 1e-6
    assert exact <= posterior.log_evidence + posterior.gap + 1e-6


def test_upper_bound_is_that_of_the_dense_formula(kernel, X, y, Z):
    Q, noise = nystrom(kernel, X, Z), NOISE * y.spread
    t = np.sum((kernel.diag(X) - np.diag(Q)) / noise)
    wide = np.linalg.inv(Q + np.diag((1.0 + t) * noise))
    _, log_det = np.linalg.slogdet(Q + np.diag(noise))
    constant = N * np.log(2.0 * np.pi)
    upper = -0.5 * (y.n_outputs * (log_det + constant) + np.trace(y.Y.T @ wide @ y.Y))
    posterior = bound.condition_on_points(kernel, NOISE, HeldRows(X, y), Z)
    found = posterior.log_evidence + posterior.gap - y.log_apart(NOISE)[0]
    assert found == pytest.approx(upper, rel=1e-8)


def test_another_point_raises_the_bound(kernel, X, y):
    values = [
        bound.condition_on_points(kernel, NOISE, HeldRows(X, y), X[:m]).log_evidence
        for m in range(1, 20)
    ]
    assert np.all(np.diff(values) > -1e-6 * np.abs(values[1:]))


def test_order_of_points_and_rows_does_not_matter(kernel, X, y, Z):
    rows = np.random.default_rng(1).permutation(N)
    shuffled = Observations(y.Y[rows], y.spread[rows], y.repeats, y.log_constant)
    one = bound.compute_bound(kernel, NOISE, HeldRows(X, y), Z)
    other = bound.compute_bound(kernel, NOISE, HeldRows(X[rows], shuffled), Z[::-1])
    assert one[0] == pytest.approx(other[0], rel=1e-10)
    assert one[1] == pytest.approx(other[1], rel=1e-7, abs=1e-6)
    assert one[2] == pytest.approx(other[2][::-1], rel=1e-6, abs=1e-5)


def test_weights_are_repetitions(rng, kernel, X, Z):
    counts, Y = rng.integers(1, 4, N), rng.normal(size=(N, 2))
    weighted = Observations.from_targets(Y, weights=counts.astype(float))
    repeated = Observations.from_targets(np.repeat(Y, counts, axis=0))
    one = bound.compute_bound(kernel, NOISE, HeldRows(X, weighted), Z)
    other = bound.compute_bound(kernel, NOISE, HeldRows(np.repeat(X, counts, axis=0), repeated), Z)
    for a, b in zip(one, other, strict=True):
        assert a == pytest.approx(b, rel=1e-7, abs=1e-5)


def test_points_given_twice_say_no_more_than_once(kernel, X, y, Z):
    once = bound.condition_on_points(kernel, NOISE, HeldRows(X, y), Z)
    twice = bound.condition_on_points(kernel, NOISE, HeldRows(X, y), np.concatenate([Z, Z]))
    assert twice.log_evidence == pytest.approx(once.log_evidence, rel=1e-5)
    assert twice.latent(X).mean == pytest.approx(once.latent(X).mean, abs=1e-4)


def test_one_row_and_one_point(kernel):
    x, y = np.array([[0.3, -0.2]]), Observations.from_targets(np.array([[0.7]]))
    posterior = bound.condition_on_points(kernel, NOISE, HeldRows(x, y), x)
    assert posterior.log_evidence == pytest.approx(log_normal(y, kernel(x), NOISE), abs=1e-6)
    k = kernel(x)[0, 0]
    mean, variance = with_variance(posterior.latent(x))
    assert mean[0, 0] == pytest.approx(0.7 * k / (k + NOISE), rel=1e-6)
    assert variance[0] == pytest.approx(NOISE * k / (k + NOISE), rel=1e-5)


def test_variance_is_never_negative_where_rows_say_everything():
    X = np.linspace(0.0, 1.0, 200)[:, None]
    y = Observations.from_targets(np.sin(3.0 * X))
    _, variance = with_variance(
        bound.condition_on_points(kernels.RBF(2.0), 1e-10, HeldRows(X, y), X[::4]).latent(X)
    )
    assert np.all(variance >= 0.0)
    assert variance.max() < 1e-6


def test_kernels_of_objects_have_no_slope_in_points():
    words = ["anna", "anne", "hanna", "otto", "ottilie", "anton"]
    kernel = strings.Spectrum(length=2)
    y = Observations.from_targets(np.arange(6.0)[:, None] / 6.0)
    value, gradient, points = bound.compute_bound(kernel, NOISE, HeldRows(words, y), words[:3])
    assert points is None
    assert gradient.shape == (len(kernel.theta) + 1,)
    assert value == pytest.approx(dense_bound(kernel, NOISE, words, y, words[:3]), rel=1e-9)
    mean, variance = with_variance(
        bound.condition_on_points(kernel, NOISE, HeldRows(words, y), words[:3]).latent(words)
    )
    assert mean.shape == (6, 1)
    assert variance.shape == (6, 1)
