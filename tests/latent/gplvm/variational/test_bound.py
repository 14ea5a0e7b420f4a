"""The bound: beside that of sure inputs, beside brute force, below the evidence."""

import math
from dataclasses import replace

import numpy as np
import pytest

from posterity import kernels, linalg
from posterity.inference.observations import HeldRows, Observations
from posterity.latent.gplvm.terms import StandardNormalPrior
from posterity.latent.gplvm.trajectories import TrajectoryPrior
from posterity.latent.gplvm.variational import bound, expectations
from posterity.latent.gplvm.variational.bound import ObservedOutputs
from posterity.latent.gplvm.variational.problem import VariationalProblem
from posterity.latent.gplvm.variational.statistics import NormalPoints
from posterity.process.inducing import bound as inducing

N, M, Q, D = 12, 5, 2, 3
KERNEL = 1.5 * kernels.RBF([0.8, 1.4]) + kernels.Linear(0.2)


@pytest.fixture
def problem():
    rng = np.random.default_rng(3)
    m, S = rng.standard_normal((N, Q)), rng.uniform(0.05, 0.5, (N, Q))
    return rng.standard_normal((N, D)), m, S, rng.standard_normal((M, Q))


def value(Y, m, S, Z, kernel=KERNEL, s2=0.1):
    observed = ObservedOutputs.from_outputs(Y)
    return bound.compute_bound(observed, kernel, s2, NormalPoints(m, S, Z, observed.weights)).value


def divergence(m, S):
    return StandardNormalPrior().divergence(m, S, np.empty(0))[0]


@pytest.mark.parametrize("kernel", [KERNEL, kernels.Matern(1.0)], ids=str)
def test_of_sure_inputs_it_is_that_of_titsias(problem, kernel, monkeypatch):
    monkeypatch.setattr(bound, "_JITTER", 2.0**-26)  # theirs
    Y, m, _, Z = problem
    observed, sure = ObservedOutputs.from_outputs(Y), np.full((N, Q), 1e-13)
    found = bound.compute_bound(observed, kernel, 0.1, NormalPoints(m, sure, Z, observed.weights))
    expected, gradient, points = inducing.compute_bound(
        kernel, 0.1, HeldRows(m, Observations.from_targets(Y)), Z
    )
    assert found.value == pytest.approx(expected, rel=1e-7)
    np.testing.assert_allclose(np.append(found.theta, found.log_noise), gradient, rtol=1e-5)
    np.testing.assert_allclose(found.Z, points, rtol=1e-4, atol=1e-5)


def test_it_is_below_the_evidence():
    """Two rows of one latent dimension: the evidence is an integral over a plane."""
    y, s2, kernel = np.array([0.7, -0.4]), 1.0, 1.3 * kernels.RBF(3.0)
    x, w = np.polynomial.hermite_e.hermegauss(30)
    densities = np.empty((30, 30))
    for i, j in np.ndindex(30, 30):
        K = kernel(np.array([[x[i]], [x[j]]])) + s2 * np.eye(2)
        densities[i, j] = np.exp(-0.5 * y @ np.linalg.solve(K, y)) / np.sqrt(np.linalg.det(K))
    mass = w / math.sqrt(2.0 * math.pi)
    log_evidence = math.log(mass @ densities @ mass / (2.0 * math.pi))
    rng, best = np.random.default_rng(0), -np.inf
    for _ in range(200):
        m, S = rng.standard_normal((2, 1)), rng.uniform(0.1, 1.0, (2, 1))
        Z = np.array([[-1.5], [-0.5], [0.5], [1.5]])
        lower = value(y[:, None], m, S, Z, kernel, s2) - divergence(m, S)
        assert lower < log_evidence
        best = max(best, lower)
    assert best > log_evidence - 0.2


def test_it_is_what_the_best_posterior_of_u_attains(problem):
    """sum_d log N(y_d | ...) by [TL 14] with dense matrices, straight from the paper."""
    Y, m, S, Z = problem
    averages = expectations.compute_statistics(KERNEL, NormalPoints(m, S, Z, np.ones((1, N))))
    psi1, psi2, s2 = averages.psi1, averages.psi2[0], 0.1
    K = KERNEL(Z)
    K += bound._JITTER * np.mean(np.diagonal(K)) * np.eye(M)
    W = np.eye(N) / s2 - psi1 @ np.linalg.solve(psi2 / s2 + K, psi1.T) / s2**2
    each = -0.5 * N * math.log(2.0 * math.pi * s2)
    each += 0.5 * np.linalg.slogdet(K)[1] - 0.5 * np.linalg.slogdet(psi2 / s2 + K)[1]
    each -= 0.5 * (averages.psi0[0] - np.trace(np.linalg.solve(K, psi2))) / s2
    expected = D * each - 0.5 * np.sum(Y * (W @ Y))
    assert value(Y, m, S, Z) == pytest.approx(expected, rel=1e-9)


def test_missing_outputs_leave_each_column_its_rows(problem):
    Y, m, S, Z = problem
    holes = Y.copy()
    holes[:3, 0], holes[5, 1], holes[:3, 2] = np.nan, np.nan, np.nan
    columns = 0.0
    for y in holes.T:
        rows = ~np.isnan(y)
        columns += value(y[rows, None], m[rows], S[rows], Z)
    assert value(holes, m, S, Z) == pytest.approx(columns, rel=1e-11)


def test_wide_outputs_are_as_good_as_their_factor(problem):
    _, m, S, Z = problem
    Y = np.random.default_rng(0).standard_normal((N, 40))
    Y[2, :25] = np.nan
    assert all(group.Y.shape[1] <= N for group in ObservedOutputs.from_outputs(Y).groups)
    halves = value(Y[:, ::4], m, S, Z) + sum(value(Y[:, k::4], m, S, Z) for k in (1, 2, 3))
    assert value(Y, m, S, Z) == pytest.approx(halves, rel=1e-11)


def test_a_column_without_values_is_refused():
    with pytest.raises(ValueError, match="column 1 of the outputs has no value"):
        ObservedOutputs.from_outputs(np.array([[1.0, np.nan], [2.0, np.nan]]))


@pytest.mark.parametrize(
    ("kernel", "noise_bounds", "moving"),
    [(KERNEL, (1e-4, 1.0), False), (KERNEL, None, True), (kernels.Matern(1.0), (1e-4, 1.0), True)],
)
def test_gradients_are_differences(problem, kernel, noise_bounds, moving):
    Y, m, _, _ = problem
    holes = Y.copy()
    holes[2:4, 1] = np.nan
    prior = StandardNormalPrior()
    if moving:
        time = kernels.RBF(2.0)
        prior = TrajectoryPrior(time, np.log([[0.1, 9.0]]), np.arange(float(N)), np.zeros(N, int))
    limits = np.tile(np.log([1e-2, 1e2]), (len(kernel.theta), 1))
    search = VariationalProblem(
        ObservedOutputs.from_outputs(holes), kernel, limits, 0.1, noise_bounds, prior
    )
    state = search.start(m, M)
    objective, x = search.objective(state), search.pack(state)
    x = x + 0.1 * np.random.default_rng(5).standard_normal(len(x))
    assert len(x) == len(search.units(state)) == len(search.limits(state))
    assert len(x) == len(search.names(state))
    _, gradient = objective(x)
    for i in [*range(0, 2 * N * Q, 7), *range(2 * N * Q, len(x))]:
        step = np.zeros_like(x)
        step[i] = 1e-5
        difference = (objective(x + step)[0] - objective(x - step)[0]) / 2e-5
        assert gradient[i] == pytest.approx(difference, rel=1e-4, abs=1e-4)


def test_jitter_has_a_slope_of_its_own(problem, monkeypatch):
    monkeypatch.setattr(bound, "_JITTER", 0.3)
    Y, m, S, Z = problem
    observed, h = ObservedOutputs.from_outputs(Y), 1e-5
    slopes = bound.compute_bound(
        observed, KERNEL, 0.1, NormalPoints(m, S, Z, observed.weights)
    ).theta
    for i, step in enumerate(h * np.eye(len(KERNEL.theta))):
        above, below = (
            value(Y, m, S, Z, KERNEL.with_theta(KERNEL.theta + d)) for d in (step, -step)
        )
        assert slopes[i] == pytest.approx((above - below) / (2.0 * h), rel=1e-6)


def test_variances_start_nearer_to_where_the_bound_is_flat(problem):
    Y, m, _, _ = problem
    prior = StandardNormalPrior()
    search = VariationalProblem(
        ObservedOutputs.from_outputs(Y), KERNEL, np.zeros((4, 2)), 0.1, None, prior
    )
    start = search.start(m, M)
    flat = replace(start, S=np.full_like(m, 0.5))
    objective = search.objective(start)
    assert objective(search.pack(start))[0] < objective(search.pack(flat))[0] - 1.0
    assert np.all((start.S >= 0.01) & (start.S <= 0.5))


def test_packing_is_undone(problem):
    Y, m, S, _ = problem
    search = VariationalProblem(
        ObservedOutputs.from_outputs(Y),
        KERNEL,
        np.zeros((4, 2)),
        0.1,
        (1e-4, 1.0),
        StandardNormalPrior(),
    )
    state = replace(search.start(m, M), S=S, noise_variance=0.3)
    again = search.unpack(search.pack(state), state)
    for name in ("m", "S", "Z", "noise_variance", "prior_own"):
        np.testing.assert_allclose(getattr(again, name), getattr(state, name), rtol=1e-14)


def test_where_rounding_leaves_no_factor_it_is_infinite(problem):
    """Every inducing point twice, and next to no noise: B is all rounding."""
    Y, m, _, _ = problem
    search = VariationalProblem(
        ObservedOutputs.from_outputs(Y),
        KERNEL,
        np.zeros((4, 2)),
        1e-14,
        None,
        StandardNormalPrior(),
    )
    start = search.start(m, 12)
    state = replace(start, Z=np.vstack([start.Z, start.Z]))
    points = NormalPoints(state.m, state.S, state.Z, search.observed.weights)
    with pytest.raises(linalg.NotPositiveDefiniteError):
        bound.compute_bound(search.observed, KERNEL, 1e-14, points)
    assert search.objective(state)(search.pack(state))[0] == np.inf
