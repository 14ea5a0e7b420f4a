"""The search for the best bound: what it finds, and that it says how it ended."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity import kernels, optimize
from posterity.latent.gplvm import placements
from posterity.latent.gplvm.terms import StandardNormalPrior
from posterity.latent.gplvm.trajectories import TrajectoryPrior
from posterity.latent.gplvm.variational import bound, posterior, problem
from posterity.latent.gplvm.variational.bound import ObservedOutputs
from posterity.latent.gplvm.variational.statistics import NormalPoints

N = 30
NOISE = 0.05


def curve(seed=0):
    """One latent coordinate t, four outputs of it, and noise."""
    rng = np.random.default_rng(seed)
    t = np.sort(rng.standard_normal(N))
    Y = np.stack([t, np.sin(2.0 * t), np.cos(2.0 * t), 0.5 * t * t], axis=1)
    Y += NOISE * rng.standard_normal(Y.shape)
    return t, Y - Y.mean(axis=0)


def fitted(Y, n_components=2, **arguments):
    start = placements.find_principal_start(Y, n_components, np.random.default_rng(0))
    scales = start.deviations[0] / start.deviations
    variance = float(np.nanvar(Y))
    settings = {
        "prior": StandardNormalPrior(),
        "n_inducing": 10,
        "max_iter": 400,
        "rng": np.random.default_rng(0),
    } | arguments
    kernel = settings.pop("kernel", variance * kernels.RBF(scales))
    noise = settings.pop("noise_variance", 0.01 * variance)
    noise_bounds = settings.pop("noise_bounds", (1e-6 * variance, variance))
    limits = np.tile(np.log([1e-4, 1e4]), (len(kernel.theta), 1))
    return problem.fit_variational(Y, start.X, kernel, limits, noise, noise_bounds, **settings)


@pytest.fixture(scope="module")
def found():
    return fitted(curve()[1])


def test_the_curve_is_found(found):
    assert found.optimum.converged
    assert found.noise_variance == pytest.approx(NOISE**2, rel=0.4)
    shares = posterior.compute_relevances(found.kernel, found.m, found.S)
    main, idle = np.argmax(shares), np.argmin(shares)
    assert shares[main] == 1.0
    assert shares[idle] < 1e-2
    assert abs(np.corrcoef(np.argsort(np.argsort(found.m[:, main])), np.arange(N))[0, 1]) > 0.98
    assert np.mean(found.S[:, main]) < 0.05
    np.testing.assert_allclose(found.S[:, idle], 1.0, atol=0.1)


def test_the_bound_is_that_of_what_was_found(found):
    _, Y = curve()
    observed = ObservedOutputs.from_outputs(Y)
    points = NormalPoints(found.m, found.S, found.Z, observed.weights)
    value = bound.compute_bound(observed, found.kernel, found.noise_variance, points).value
    apart = StandardNormalPrior().divergence(found.m, found.S, found.prior_own)[0]
    assert found.log_bound == pytest.approx(value - apart, rel=1e-10)


def test_the_search_ends_where_the_bound_is_flat(found):
    assert np.max(np.abs(found.optimum.gradient)) < 3.0
    np.testing.assert_allclose(found.optimum.x[: found.m.size], found.m.ravel())


@pytest.mark.full
def test_several_starts_find_no_less_and_threads_change_nothing(found):
    _, Y = curve()
    two = fitted(Y, n_restarts=2)
    assert two.log_bound > found.log_bound - 0.1
    again = fitted(Y, n_restarts=2, n_jobs=2)
    np.testing.assert_array_equal(two.m, again.m)


def test_a_given_noise_variance_stays():
    found = fitted(curve()[1], noise_variance=0.02, noise_bounds=None)
    assert found.noise_variance == 0.02


@for_each("max_iter", [3, 110])
def test_too_few_iterations_are_announced(max_iter):
    sentence = f"after {max_iter} iterations: {max_iter} L-BFGS iterations were not enough"
    with pytest.warns(optimize.ConvergenceWarning, match=sentence):
        found = fitted(curve()[1], max_iter=max_iter)
    assert found.optimum.n_iter == max_iter


def test_missing_outputs_are_filled_in():
    _, Y = curve()
    holes = Y.copy()
    holes[np.random.default_rng(2).random(Y.shape) < 0.15] = np.nan
    found = fitted(holes, n_inducing=8, n_restarts=2)
    mean, variance = found.decode(found.m, found.S)
    missing = np.isnan(holes)
    assert np.median(np.abs(mean - Y)[missing]) < 0.15 * np.std(Y[missing])
    assert np.mean(variance[missing]) > 2.0 * np.mean(variance[~missing])


def test_linear_kernels_find_principal_components():
    """Directions without signal are switched off, and the others span those of largest variance."""
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((60, 2)) @ (np.diag([3.0, 1.5]) @ rng.standard_normal((2, 6)))
    Y += 0.1 * rng.standard_normal(Y.shape)
    Y -= Y.mean(axis=0)
    kernel = kernels.Linear([1.0, 0.5, 0.1])
    found = fitted(Y, 3, kernel=kernel, max_iter=600)
    assert len(found.Z) == 3
    assert found.noise_variance == pytest.approx(0.01, rel=0.2)
    shares = np.sort(posterior.compute_relevances(found.kernel, found.m, found.S))
    assert shares[0] < 1e-3 < shares[1]
    U = np.linalg.svd(Y, full_matrices=False)[0][:, :2]
    mean, _ = found.decode(found.m, found.S)
    np.testing.assert_allclose(U @ (U.T @ mean), mean, atol=0.05)


@pytest.mark.filterwarnings("ignore:stopped after 150 iterations")
def test_latent_points_may_move_in_time(found):
    t, Y = curve()
    time = kernels.RBF(1.0)
    prior = TrajectoryPrior(time, np.log([[0.05, 20.0]]), t, np.zeros(N, dtype=int))
    moving = fitted(Y, prior=prior, max_iter=150)
    assert moving.prior_own.shape == (1,)
    assert moving.prior_own[0] != 0.0
    assert moving.log_bound > found.log_bound + 5.0


def test_dimensions_in_which_no_point_varies_are_of_no_relevance():
    m = np.array([[-1.0, 2.0], [1.0, 2.0]])
    shares = posterior.compute_relevances(kernels.RBF(1.0), m, np.zeros((2, 2)))
    np.testing.assert_array_equal(shares, [1.0, 0.0])
    np.testing.assert_array_equal(
        posterior.compute_relevances(kernels.RBF(1.0), 0.0 * m, np.zeros((2, 2))), [0.0, 0.0]
    )


def test_relevance_counts_slopes_and_spread():
    m = np.array([[-1.0, -3.0, 0.0], [1.0, 3.0, 0.0]])
    S = np.full((2, 3), 0.1)
    shares = posterior.compute_relevances(
        2.0 * kernels.RBF([1.0, 6.0, 1.0]) + kernels.White(0.3), m, S
    )
    np.testing.assert_allclose(shares, [1.0, 0.25, 0.0], rtol=1e-5)
    linear = posterior.compute_relevances(kernels.Linear([1.0, 0.5, 7.0]), m, S)
    np.testing.assert_allclose(linear, [1.0 / 4.5, 1.0, 0.0], rtol=1e-5)
    nothing = posterior.compute_relevances(kernels.Constant(1.0), m, S)
    np.testing.assert_array_equal(nothing, np.zeros(3))
