"""Learning with inducing points: close to the exact evidence, and only what is free is tuned."""

import numpy as np
import pytest

from posterity import arrays, kernels
from posterity.inference.observations import HeldRows, Observations
from posterity.inference.search import maximise_evidence
from posterity.kernels import strings
from posterity.process import search as process_search
from posterity.process.inducing import bound
from posterity.process.inducing import search as inducing_search


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def problem(X, Y, kernel, noise_bounds=(1e-6, 10.0), noise_variance=0.1):
    y = Observations.from_targets(Y)
    tuned, bounds = kernel.search_start(X, variance=float(np.var(y.Y)))
    return process_search.ProcessProblem(X, y, tuned, bounds, noise_variance, noise_bounds)


@pytest.fixture
def wave(rng):
    X = rng.uniform(0.0, 6.0, size=(150, 1))
    return problem(
        X, np.sin(2.0 * X) + 0.1 * rng.normal(size=X.shape), kernels.Scaled(kernels.RBF())
    )


def seeded():
    return np.random.default_rng(0)


def evidence(p, learned):
    return bound.condition_on_points(
        p.add_mean_prior(learned.kernel),
        learned.noise_variance,
        HeldRows(p.X, p.observations),
        learned.Z,
    ).log_evidence


def test_a_few_points_reach_the_exact_optimum(wave):
    exact = maximise_evidence(wave, rng=seeded())
    learned = inducing_search.maximise_inducing_bound(wave, 14, rng=seeded())
    assert evidence(wave, learned) == pytest.approx(-learned.optimum.value, abs=1e-6)
    assert -exact.optimum.value - 0.1 < -learned.optimum.value <= -exact.optimum.value + 1e-3
    assert learned.noise_variance == pytest.approx(exact.noise_variance, rel=1e-2)
    assert learned.kernel.theta == pytest.approx(exact.kernel.theta, abs=2e-2)
    assert learned.optimum.converged
    assert learned.optimum.x == pytest.approx(
        np.append(learned.kernel.theta, np.log(learned.noise_variance))
    )


def test_points_that_move_do_better_than_points_that_stay(wave):
    stay = inducing_search.maximise_inducing_bound(wave, 6, optimise_points=False, rng=seeded())
    move = inducing_search.maximise_inducing_bound(wave, 6, rng=seeded())
    assert move.optimum.value < stay.optimum.value
    assert np.isin(stay.Z, wave.X).all()
    assert not np.isin(move.Z, wave.X).all()


def test_given_points_are_the_start(wave):
    Z = np.linspace(0.0, 6.0, 9)[:, None]
    stay = inducing_search.maximise_inducing_bound(wave, Z, optimise_points=False, rng=seeded())
    move = inducing_search.maximise_inducing_bound(wave, Z, rng=seeded())
    assert np.array_equal(stay.Z, Z)
    assert move.Z.shape == Z.shape
    assert move.optimum.value < stay.optimum.value


def test_points_are_chosen_again_as_the_kernel_changes(wave):
    """A long length scale needs few points; the data want a shorter one, which needs more."""
    search = inducing_search._Search(wave, HeldRows(wave.X, wave.observations), moving=True)
    theta = np.log([1.0, 6.0, 0.1])
    theta_found, Z, best = search.with_choice(theta, 40, 60)
    exact = maximise_evidence(wave, rng=seeded())
    assert len(Z) > len(search.choose_points(theta, 40))
    assert -best.value == pytest.approx(-exact.optimum.value, abs=0.05)
    assert theta_found == pytest.approx(exact.optimum.x, abs=2e-2)


def test_a_spent_budget_is_no_warning(wave):
    learned = inducing_search.maximise_inducing_bound(wave, 10, max_iter=3, rng=seeded())
    assert not learned.optimum.converged
    assert "3 L-BFGS iterations" in learned.optimum.stop_reason


def test_what_is_given_is_kept(rng):
    X = rng.uniform(0.0, 6.0, size=(60, 1))
    kernel = kernels.Scaled(kernels.RBF(0.8)).fixed("length_scale")
    p = problem(X, np.sin(2.0 * X), kernel, noise_bounds=None, noise_variance=0.03)
    learned = inducing_search.maximise_inducing_bound(p, 10, rng=seeded())
    assert learned.noise_variance == 0.03
    assert learned.kernel.kernel == kernel.kernel
    assert learned.kernel.variance != p.kernel.variance


def test_nothing_to_tune_is_no_search(wave):
    kernel = kernels.RBF(0.8).fixed()
    p = process_search.ProcessProblem(
        wave.X, wave.observations, kernel, np.empty((0, 2)), 0.03, noise_bounds=None
    )
    learned = inducing_search.maximise_inducing_bound(p, 10, optimise_points=False, rng=seeded())
    assert learned.kernel == kernel
    assert learned.optimum.value == pytest.approx(-evidence(p, learned))
    assert learned.optimum.n_iter == 0


def test_points_keep_their_categories(rng):
    X = np.column_stack([rng.uniform(0.0, 6.0, 80), rng.choice([0.1, 0.7, 1.3], 80)])
    kernel = kernels.Columns(kernels.RBF(), [0]) * kernels.Columns(kernels.Categorical(), [1])
    p = problem(X, np.sin(2.0 * X[:, :1]) + X[:, 1:], kernels.Scaled(kernel))
    learned = inducing_search.maximise_inducing_bound(p, 12, max_iter=30, rng=seeded())
    assert not np.isin(learned.Z[:, 0], X[:, 0]).all()
    assert np.isin(learned.Z[:, 1], X[:, 1]).all()


def test_the_same_generator_finds_the_same(wave):
    one, other = (inducing_search.maximise_inducing_bound(wave, 8, rng=seeded()) for _ in range(2))
    assert np.array_equal(one.Z, other.Z)
    assert one.kernel == other.kernel


def test_objects_can_be_points():
    words = ["anna", "anne", "hanna", "otto", "ottilie", "anton", "tonio", "nano"]
    y = np.array([[word.count("n")] for word in words], dtype=float)
    p = problem(words, y, kernels.Scaled(strings.Spectrum(length=2)))
    learned = inducing_search.maximise_inducing_bound(p, 5, rng=seeded())
    assert set(learned.Z) <= set(words)
    assert len(learned.Z) <= 5


def test_tensors_stay_tensors(wave):
    torch = pytest.importorskip("torch")
    y = wave.observations
    on_device = Observations(torch.asarray(y.Y), torch.asarray(y.spread), y.repeats, y.log_constant)
    p = process_search.ProcessProblem(
        torch.asarray(wave.X), on_device, wave.kernel, wave.bounds, 0.1, wave.noise_bounds
    )
    Z = wave.X[:6]
    learned = inducing_search.maximise_inducing_bound(p, torch.asarray(Z), max_iter=3, rng=seeded())
    expected = inducing_search.maximise_inducing_bound(wave, Z, max_iter=3, rng=seeded())
    assert isinstance(learned.Z, torch.Tensor)
    assert learned.optimum.value == pytest.approx(expected.optimum.value, rel=1e-6)
    assert arrays.to_numpy(learned.Z) == pytest.approx(expected.Z, abs=1e-5)


def test_reach_is_the_length_scale(rng):
    X = rng.normal(size=(200, 3)) * np.array([1.0, 20.0, 0.1])
    lengths = np.array([0.5, 30.0, 0.2])
    reach = inducing_search._reach(3.0 * kernels.RBF(tuple(lengths)), X)
    assert reach == pytest.approx(lengths, rel=1e-2)
    everywhere = inducing_search._reach(kernels.Constant(1.0), X)
    assert everywhere == pytest.approx(10.0 * X.std(axis=0), rel=1e-6)


def test_a_sample_is_searched_and_the_bound_is_of_all_rows(wave):
    sample = wave.select_rows(np.arange(0, 150, 3))
    held = HeldRows(wave.X, wave.observations)
    learned = inducing_search.maximise_inducing_bound(sample, 12, held, rng=seeded())
    assert evidence(wave, learned) == pytest.approx(-learned.optimum.value, abs=1e-6)
    whole = inducing_search.maximise_inducing_bound(wave, 12, rng=seeded())
    assert learned.optimum.value == pytest.approx(whole.optimum.value, abs=0.1)
    search = inducing_search._Search(sample, held, moving=True)
    Z = search.choose_points(learned.optimum.x, 5)
    assert np.isin(Z, sample.X).all()


@pytest.fixture
def smooth(rng):
    """A function without noise, which a process without points learns to within rounding."""
    X = rng.uniform(-2.0, 2.0, size=(300, 3))
    slow = X @ np.array([[0.9, 0.3], [-0.2, 0.8], [0.4, -0.5]])
    f = np.sin(slow[:, :1]) + 0.5 * np.cos(1.5 * slow[:, 1:])
    return problem(X, f, kernels.Scaled(kernels.RBF(ard=True)), noise_bounds=(1e-8, 10.0))


def test_more_points_never_lower_the_bound_of_a_function_without_noise(smooth):
    bounds = []
    for points in (15, 30, 80):
        learned = inducing_search.maximise_inducing_bound(smooth, points, rng=seeded())
        bounds.append(evidence(smooth, learned))
        held = HeldRows(smooth.X, smooth.observations)
        terms = bound.sum_terms(learned.kernel, learned.noise_variance, held, learned.Z)
        others = learned.noise_variance * np.logspace(-4.0, 4.0, 33)
        best = max(terms.with_noise(noise).log_bound() for noise in others)
        assert bounds[-1] > best - 1e-2 * 300
    assert bounds == sorted(bounds)
    assert bounds[0] > 0.0


def test_noise_is_no_smaller_than_what_points_leave(smooth):
    theta, Z = np.log([1.0, 1.0, 1.0, 1.0, 1e-8]), smooth.X[:30]
    search = inducing_search._Search(smooth, HeldRows(smooth.X, smooth.observations), moving=False)
    lifted, value = search.lift_noise(theta, Z)
    kernel, noise = smooth.unpack_parameters(lifted)
    left = 1.0 - np.sum(kernel(smooth.X, Z).T * np.linalg.solve(kernel(Z), kernel(Z, smooth.X)), 0)
    assert noise == pytest.approx(np.mean(left), rel=1e-4)
    assert value == pytest.approx(bound.compute_bound(kernel, noise, search.observed, Z)[0])


def test_noise_is_lifted_by_weights_as_by_repetitions(smooth):
    theta, Z = np.log([1.0, 1.0, 1.0, 1.0, 1e-8]), smooth.X[:30]
    w = 1.0 + np.arange(300) % 3
    weighted = Observations.from_targets(smooth.observations.Y, weights=w)
    often = np.repeat(np.arange(300), w.astype(int))
    repeated = Observations.from_targets(smooth.observations.Y[often])
    one, other = (
        inducing_search._Search(smooth, held, moving=False).lift_noise(theta, Z)
        for held in (HeldRows(smooth.X, weighted), HeldRows(smooth.X[often], repeated))
    )
    np.testing.assert_allclose(one[0], other[0], rtol=1e-9)
    assert one[1] == pytest.approx(other[1])


def test_noise_that_points_can_resolve_stays(wave):
    search = inducing_search._Search(wave, HeldRows(wave.X, wave.observations), moving=True)
    theta = np.log([1.0, 1.0, 0.01])
    lifted, _ = search.lift_noise(theta, wave.X[::10])
    np.testing.assert_array_equal(lifted, theta)
