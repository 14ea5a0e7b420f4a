"""Learning kernel parameters: the largest evidence, however the search went there."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from support.for_each import for_each

from posterity import kernels, linalg, optimize
from posterity.inference import search as evidence_search
from posterity.process import search
from posterity.process.exact import Evidence, Observations
from posterity.process.search import ProcessProblem

FREE = 1.0 * kernels.RBF(1.0)


def data(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, size=(n, 1))
    return X, np.sin(2.0 * X) + 0.2 * rng.normal(size=(n, 1))


def problem(n=60, *, kernel=FREE, noise=0.1, learned=True, weights=None, extra=None):
    X, Y = data(n)
    started, bounds = kernel.search_start(X, variance=1.0)
    limits = (1e-8, 10.0) if learned else None
    y = Observations.from_targets(Y, weights=weights)
    return ProcessProblem(X, y, started, bounds, noise, limits, extra)


def maximise(asked, seed=0, **options):
    return evidence_search.maximise_evidence(asked, rng=np.random.default_rng(seed), **options)


def log_evidence(asked, learned):
    kernel = asked.add_mean_prior(learned.kernel)
    return Evidence(asked.X, asked.observations)(kernel, learned.noise_variance)[0]


@for_each("extra", [None, kernels.Constant(2.0).fixed()])
def test_what_is_learned_is_a_maximum(extra):
    asked = problem(extra=extra)
    learned = maximise(asked)
    best = log_evidence(asked, learned)
    assert best == pytest.approx(-learned.optimum.value, rel=1e-10)
    theta = np.append(learned.kernel.theta, np.log(learned.noise_variance))
    for step in np.vstack([np.eye(3), -np.eye(3)]):
        for size in (0.1, 0.5):
            kernel, noise = asked.unpack_parameters(theta + size * step)
            assert (
                Evidence(asked.X, asked.observations)(asked.add_mean_prior(kernel), noise)[0] < best
            )


def test_the_start_does_not_matter():
    near = maximise(problem())
    far = maximise(problem(kernel=0.2 * kernels.RBF(2.5), noise=0.5))
    assert near.optimum.value == pytest.approx(far.optimum.value, abs=0.01)


def test_held_parameters_and_given_noise_stay():
    asked = problem(kernel=(2.0 * kernels.RBF(0.7)).fixed("length_scale"), learned=False)
    learned = maximise(asked)
    assert learned.kernel.kernel.length_scale == 0.7
    assert learned.kernel.variance != 2.0
    assert learned.noise_variance == 0.1
    assert asked.names == ["variance"]


def test_without_anything_to_learn_there_is_no_search():
    asked = problem(kernel=FREE.fixed(), learned=False)
    learned = maximise(asked, starts=evidence_search.draw_random_starts(asked, 3, _rng()))
    assert learned.kernel == FREE.fixed()
    assert (learned.optimum.n_iter, learned.optimum.at_bounds) == (0, ())
    assert "given" in learned.optimum.stop_reason
    assert learned.probes.shape == (0,)


def _rng():
    return np.random.default_rng(0)


def test_parameters_stay_within_bounds_and_say_so():
    asked = problem(kernel=FREE.bounded(length_scale=(2.0, 5.0)))
    learned = maximise(asked)
    assert learned.kernel.kernel.length_scale == pytest.approx(2.0)
    assert "kernel__length_scale (lower)" in learned.optimum.at_bounds


def test_restarts_are_drawn_within_bounds_and_the_best_is_kept():
    asked = problem(kernel=FREE.bounded(length_scale=(0.5, 1.5)))
    starts = evidence_search.draw_random_starts(asked, 50, _rng())
    low, high = asked.limits.T
    assert np.all((low <= starts) & (starts <= high))
    assert np.ptp(starts, axis=0).min() > 0.5
    learned = maximise(asked, starts=starts[:3])
    assert learned.probes.shape == (4,)
    assert -learned.optimum.value >= learned.probes.max()


def test_the_search_goes_on_from_the_best_start():
    """Few rows have two explanations: a function that hurries, or a slow one and much noise."""
    X = np.linspace(0.0, 6.0, 14)[:, None]
    Y = np.sin(2.0 * X) + 0.05 * np.cos(9.0 * X)
    started, bounds = (1.0 * kernels.RBF(30.0)).search_start(X, variance=1.0)
    asked = ProcessProblem(X, Observations.from_targets(Y), started, bounds, 0.5, (1e-8, 10.0))
    good = np.log([0.6, 0.6, 1e-3])
    alone, helped = maximise(asked), maximise(asked, starts=[good])
    assert helped.probes.argmax() == 1
    assert helped.optimum.value < alone.optimum.value - 10.0
    assert -helped.optimum.value >= helped.probes.max()


@pytest.mark.full
@for_each(("seed", "n", "few"), [(2, 240, 80), (6, 240, 80), (7, 150, None)])
def test_further_starts_never_end_below_the_own_one(seed, n, few):
    """Much noise and many columns: the better probe on few rows is the worse maximum on all."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 9))
    Y = 0.5 * np.sin(30.0 * X[:, :1]) + rng.normal(size=(n, 1))
    kernel = kernels.Scaled(kernels.RationalQuadratic(ard=True))
    started, bounds = kernel.search_start(X, variance=1.0)
    y = Observations.from_targets(Y - Y.mean())
    asked = ProcessProblem(X, y, started, bounds, 0.1, (1e-8, 10.0), noise_scale=1.0)
    starts = search.draw_further_starts(asked, 2, _rng())
    alone, helped = (maximise(asked, 1, starts=s, few_rows=few) for s in ([], starts))
    assert helped.optimum.value <= alone.optimum.value + 0.1


def test_two_at_a_time_find_what_one_finds():
    asked = problem()
    starts = evidence_search.draw_random_starts(asked, 3, _rng())
    alone, shared = (maximise(asked, starts=starts, n_jobs=n) for n in (1, 2))
    np.testing.assert_allclose(alone.optimum.x, shared.optimum.x, atol=1e-4)
    np.testing.assert_allclose(alone.probes, shared.probes, rtol=1e-7)


def test_beginning_on_few_rows_ends_where_all_rows_do(monkeypatch):
    asked = problem(200)
    whole = maximise(asked)
    monkeypatch.setattr(evidence_search, "_FEW_ROWS", 12)
    sizes = [stage.observations.n_rows for stage in evidence_search._stages(asked, _rng())]
    assert sizes == [12, 96, 200]
    for seed in range(3):
        grown = maximise(asked, seed)
        assert grown.optimum.value == pytest.approx(whole.optimum.value, abs=0.02)
        np.testing.assert_allclose(grown.optimum.x, whole.optimum.x, atol=0.1)
    assert maximise(asked, 1).noise_variance == maximise(asked, 1).noise_variance


def test_few_rows_are_taken_of_objects_too():
    Y = data(5)[1]
    words = ["a", "b", "c", "d", "e"]
    asked = ProcessProblem(
        words, Observations.from_targets(Y), kernels.White(1.0), np.zeros((1, 2)), 0.1, None
    )
    part = asked.select_rows(np.array([3, 1]))
    assert part.X == ["d", "b"]
    np.testing.assert_array_equal(part.observations.Y, Y[[3, 1]])


def test_a_start_without_enough_noise_gets_some():
    asked = problem(kernel=1e10 * kernels.RBF(20.0), noise=1e-8)
    assert not np.isfinite(asked.objective()(asked.start)[0])
    learned = maximise(asked)
    assert np.isfinite(learned.optimum.value)
    assert 1e-8 < learned.noise_variance < 10.0


def test_starts_without_an_evidence_are_passed_over():
    asked = problem(kernel=kernels.RBF(0.01), noise=0.0, learned=False)
    bad, good = np.log([1e3]), np.log([0.02])
    learned = maximise(asked, starts=[bad, good])
    assert learned.probes[1] == -np.inf
    assert np.isfinite(learned.optimum.value)


def test_where_nothing_is_gained_the_search_has_converged():
    """Targets of one value: the evidence is flat in all directions but those that are bounded."""
    X, _ = data(12)
    started, bounds = kernels.Scaled(kernels.RationalQuadratic()).search_start(X, variance=1.0)
    y = Observations.from_targets(np.ones((12, 1)))
    asked = ProcessProblem(X, y, started, bounds, 0.1, (1e-8, 10.0))
    learned = maximise(asked, starts=evidence_search.draw_random_starts(asked, 2, _rng()))
    assert learned.optimum.converged


@for_each("n", [10, 14, 20, 40])
@for_each("speed", [0.5, 1.0, 2.0, 3.0])
def test_functions_without_noise_are_learned_without_a_warning(n, speed):
    """The covariance is nearly singular there, and the evidence known to a few digits only."""
    X = np.linspace(0.0, 6.0, n)[:, None]
    started, bounds = FREE.search_start(X, variance=1.0)
    y = Observations.from_targets(np.sin(speed * X))
    asked = ProcessProblem(X, y, started, bounds, 0.1, (1e-8, 10.0))
    learned = maximise(asked, starts=evidence_search.draw_random_starts(asked, 2, _rng()))
    assert learned.optimum.converged


def test_a_kernel_that_is_none_is_refused_in_words():
    no_kernel = kernels.Function(lambda X, Z: -np.exp(-((X - Z.T) ** 2)) * 1e6)
    for learned in (True, False):
        asked = problem(kernel=1.0 * no_kernel, learned=learned)
        with pytest.raises(linalg.NotPositiveDefiniteError, match="check_positive_definite"):
            maximise(asked)


def test_a_search_that_was_cut_short_warns():
    with pytest.warns(optimize.ConvergenceWarning, match="1 BFGS iterations were not enough"):
        learned = maximise(problem(), max_iter=1)
    assert "not enough" in learned.optimum.stop_reason


def test_the_objective_is_computed_once_a_point(monkeypatch):
    asked, calls = problem(), []
    compute = Evidence.__call__

    def counted(self, kernel, noise):
        calls.append(noise)
        return compute(self, kernel, noise)

    monkeypatch.setattr(Evidence, "__call__", counted)
    objective = asked.objective()
    first, second = objective(asked.start), objective(asked.start.copy())
    assert first is second
    objective(asked.start + 0.1)
    assert len(calls) == 2


def test_rows_that_do_not_fit_are_refused_before_any_is_looked_at(monkeypatch):
    monkeypatch.setattr(Evidence, "__call__", lambda *_: pytest.fail("it computed something"))
    monkeypatch.setattr("posterity.arrays.free_memory", lambda x: 8)
    with pytest.raises(MemoryError, match="inducing_points"):
        maximise(problem())


def test_a_search_that_is_a_budget_does_not_warn():
    assert not maximise(problem(), max_iter=1, announce=False).optimum.converged


def test_a_stage_begins_with_the_curvature_of_the_one_before(monkeypatch):
    climb, seen = optimize.minimise_bfgs, []

    def watched(*arguments, **options):
        best = climb(*arguments, **options)
        seen.append((options["inverse_hessian"], options["least_gain"], best.inverse_hessian))
        return best

    monkeypatch.setattr(evidence_search, "_FEW_ROWS", 10)
    monkeypatch.setattr(evidence_search, "_MUCH_WORK", 20.0)
    monkeypatch.setattr(optimize, "minimise_bfgs", watched)
    asked = problem()
    n = asked.observations.n_rows
    assert 2 * 10 < n <= 2 * 80  # two stages
    maximise(asked)
    (first, coarse_gain, learned), (second, gain, _) = seen
    assert first is None
    np.testing.assert_allclose(second, learned * 10 / n)
    assert coarse_gain == pytest.approx(100.0 * evidence_search.LEAST_GAIN)
    work = n * len(asked.start) / 20.0
    assert work > 1.0
    assert gain == pytest.approx(evidence_search.LEAST_GAIN * work**2)


def test_a_function_of_one_fast_column_among_many_is_found():
    """From lengths at which all columns matter a little it looks like noise, at evidence -174."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 12))
    Y = np.sin(14.0 * X[:, :1]) + 0.05 * rng.normal(size=(150, 1))
    started, bounds = kernels.Scaled(kernels.RBF(ard=True)).search_start(X, variance=1.0)
    asked = ProcessProblem(X, Observations.from_targets(Y), started, bounds, 0.1, (1e-8, 10.0))
    learned = maximise(asked, starts=search.draw_further_starts(asked, 1, _rng()))
    assert learned.optimum.value < 0.0
    assert learned.kernel.kernel.length_scale[0] < 0.3


def test_one_length_for_all_columns_has_random_starts():
    asked = problem()
    expected = evidence_search.draw_random_starts(asked, 2, _rng())
    np.testing.assert_array_equal(search.draw_further_starts(asked, 2, _rng()), expected)


def test_the_prior_of_the_noise_is_the_half_cauchy_of_its_deviation():
    asked = replace(problem(learned=True), noise_scale=2.0)
    theta = asked.start
    for log_noise in (-12.0, 0.3, 5.0):
        theta[-1] = log_noise
        sigma = np.exp(0.5 * log_noise)
        expected = stats.halfcauchy(scale=np.sqrt(2.0)).logpdf(sigma) + np.log(0.5 * sigma)
        value, gradient = asked.log_prior(theta)
        assert value == pytest.approx(expected)
        step = 1e-6 * np.eye(len(theta))[-1]
        slope = (asked.log_prior(theta + step)[0] - asked.log_prior(theta - step)[0]) / 2e-6
        assert gradient[-1] == pytest.approx(slope, abs=1e-8)
        assert not gradient[:-1].any()
