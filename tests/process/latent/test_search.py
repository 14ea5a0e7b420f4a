"""Learning kernel and likelihood parameters together, whatever the engine of the evidence."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from latent_oracles import HeavyTailed
from support.for_each import for_each

from posterity import kernels, likelihoods, linalg
from posterity.inference import search as evidence_search
from posterity.process import search as process_search
from posterity.process.exact import Observations
from posterity.process.latent.density import LatentTargets
from posterity.process.latent.problem import LatentProblem
from posterity.process.latent.site_posterior import SiteEvidence

FREE = 1.0 * kernels.RBF(1.0)
LAPLACE = partial(SiteEvidence, "laplace")
CLASSES = likelihoods.Bernoulli()


def rows(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, size=(n, 1))
    return X, np.sin(2.0 * X[:, 0]) + 0.2 * rng.normal(size=n)


def classes(n=60, *, kernel=FREE, engine=LAPLACE, offset=True, weights=None):
    X, a = rows(n)
    w = np.ones(n) if weights is None else weights
    y = CLASSES.sample(3.0 * a - 1.0, rng=np.random.default_rng(1)).astype(float)
    targets = LatentTargets.with_offset_prior(y, w, CLASSES, offset=offset)
    started, bounds = kernel.search_start(X, variance=1.0)
    return LatentProblem(X, targets, started, bounds, CLASSES, np.empty((0, 2)), engine)


def numbers(likelihood, limits, n=60):
    X, y = rows(n)
    targets = LatentTargets.with_offset_prior(y, np.ones(n), likelihood, offset=False)
    started, bounds = FREE.search_start(X, variance=1.0)
    limits = np.log([limits])
    return LatentProblem(X, targets, started, bounds, likelihood, limits, LAPLACE)


def maximise(asked, seed=0, **options):
    return evidence_search.maximise_evidence(asked, rng=np.random.default_rng(seed), **options)


@for_each("engine", [LAPLACE, partial(SiteEvidence, "propagation")])
def test_what_is_learned_is_a_maximum(engine):
    asked = classes(engine=engine)
    learned = maximise(asked)
    best = engine(asked.X, asked.targets)(learned.kernel, CLASSES)[0]
    assert best == pytest.approx(-learned.optimum.value, abs=1e-6)
    for step in np.vstack([np.eye(2), -np.eye(2)]):
        kernel, _ = asked.unpack_parameters(learned.optimum.x + 0.3 * step)
        assert engine(asked.X, asked.targets)(kernel, CLASSES)[0] < best


def test_with_normal_noise_it_learns_what_the_exact_search_does():
    asked = numbers(likelihoods.Normal(noise_variance=0.1), (1e-6, 10.0))
    assert asked.names == ["variance", "kernel__length_scale", "noise_variance"]
    learned = maximise(asked)
    observations = Observations.from_targets(asked.targets.y[:, None])
    exact = evidence_search.maximise_evidence(
        process_search.ProcessProblem(
            asked.X, observations, asked.kernel, asked.bounds, 0.1, (1e-6, 10.0)
        ),
        rng=np.random.default_rng(0),
    )
    assert learned.optimum.value == pytest.approx(exact.optimum.value, abs=1e-4)
    assert learned.likelihood.noise_variance == pytest.approx(exact.noise_variance, rel=1e-2)


def test_what_was_given_of_a_likelihood_stays():
    asked = numbers(HeavyTailed(scale=0.3), (0.3, 0.3))
    assert asked.names == FREE.names
    assert asked.limits.shape == (2, 2)
    learned = maximise(asked)
    assert learned.likelihood.scale == pytest.approx(0.3)
    assert learned.kernel != asked.kernel


class TwoParameters(HeavyTailed):
    _learnable = ("scale", "freedom")


def test_each_slope_belongs_to_the_parameter_that_is_searched():
    X, y = rows(5)
    targets = LatentTargets(y, np.ones(5), np.zeros(1), np.zeros(1))
    bounds, limits = np.zeros((2, 2)), np.log([[0.3, 0.3], [1.0, 9.0]])

    def engine(X, targets):
        return lambda kernel, likelihood: (likelihood.freedom, np.arange(4.0))

    likelihood = TwoParameters(scale=0.3, freedom=4.0)
    asked = LatentProblem(X, targets, FREE, bounds, likelihood, limits, engine)
    assert asked.names == [*FREE.names, "freedom"]
    np.testing.assert_allclose(asked.start, [0.0, 0.0, np.log(4.0)])
    value, gradient = asked.objective()(np.log([1.0, 1.0, 7.0]))
    assert value == pytest.approx(-7.0)
    np.testing.assert_array_equal(gradient, [0.0, -1.0, -3.0])
    assert asked.unpack_parameters(np.log([1.0, 1.0, 7.0]))[1].scale == pytest.approx(0.3)


def test_a_scale_is_learned_in_spite_of_outliers():
    asked = numbers(HeavyTailed(scale=1.0), (1e-3, 10.0))
    y = asked.targets.y.copy()
    y[::10] += [3.0, -4.0, 5.0, -3.0, 4.0, -5.0]
    learned = maximise(replace(asked, targets=replace(asked.targets, y=y)))
    assert 0.1 < learned.likelihood.scale < 0.4
    assert learned.optimum.converged


def test_without_anything_to_learn_there_is_no_search():
    learned = maximise(classes(kernel=FREE.fixed()))
    assert learned.kernel == FREE.fixed()
    assert learned.likelihood is CLASSES
    assert (learned.optimum.n_iter, learned.probes.shape) == (0, (0,))


def test_several_starts_are_probed_and_the_best_goes_on():
    asked = classes()
    starts = evidence_search.draw_random_starts(asked, 3, np.random.default_rng(0))
    learned = maximise(asked, starts=starts, n_jobs=2)
    assert learned.probes.shape == (4,)
    assert -learned.optimum.value >= learned.probes.max()


def test_beginning_on_few_rows_ends_where_all_rows_do(monkeypatch):
    rng = np.random.default_rng(0)
    asked = classes(200, weights=rng.uniform(0.5, 2.0, 200))
    whole = maximise(asked)
    monkeypatch.setattr(evidence_search, "_FEW_ROWS", 12)
    stages = list(evidence_search._stages(asked, rng))
    assert [stage.n_rows for stage in stages] == [12, 96, 200]
    for seed in range(3):
        grown = maximise(asked, seed)
        assert grown.optimum.value == pytest.approx(whole.optimum.value, abs=0.01)


@for_each("n_rare", [1, 3, 40])
def test_any_first_few_rows_hold_every_class_in_proportion(n_rare):
    asked = classes(200)
    y = np.zeros(200)
    y[:n_rare], y[100:150] = 1.0, 2.0
    order = replace(asked, targets=replace(asked.targets, y=y)).draw_order(np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(order), np.arange(200))
    assert set(y[order[:3]]) == {0.0, 1.0, 2.0}
    for n in (10, 33, 100):
        counts = np.bincount(y[order[:n]].astype(int))
        expected = n * np.array([150 - n_rare, n_rare, 50]) / 200
        assert np.all(np.abs(counts - expected) <= 2.0)


def test_rows_are_drawn_at_random_within_classes_and_among_numbers():
    for asked in (classes(200), numbers(HeavyTailed(), (0.1, 10.0), n=200)):
        first, second = (asked.draw_order(np.random.default_rng(seed)) for seed in (0, 1))
        assert sorted(first) == sorted(second) == list(range(200))
        assert len(set(first[:50]) & set(second[:50])) < 30


def test_few_rows_are_taken_of_objects_too():
    targets = LatentTargets(np.arange(5.0), np.arange(1.0, 6.0), np.zeros(1), np.zeros(1))
    white = kernels.White(1.0)
    asked = LatentProblem(
        list("abcde"), targets, white, np.zeros((1, 2)), CLASSES, np.empty((0, 2)), LAPLACE
    )
    part = asked.select_rows(np.array([3, 1]))
    assert part.X == ["d", "b"]
    np.testing.assert_array_equal(part.targets.y, [3.0, 1.0])
    np.testing.assert_array_equal(part.targets.weights, [4.0, 2.0])


def test_a_kernel_that_is_none_is_refused_in_words():
    no_kernel = kernels.Function(lambda X, Z: -np.exp(-((X - Z.T) ** 2)) * 1e6)
    with pytest.raises(linalg.NotPositiveDefiniteError, match="check_positive_definite"):
        maximise(classes(kernel=1.0 * no_kernel))


def test_rows_that_do_not_fit_are_refused_before_any_is_looked_at(monkeypatch):
    monkeypatch.setattr(SiteEvidence, "__call__", lambda *_: pytest.fail("it computed"))
    monkeypatch.setattr(evidence_search, "_FEW_ROWS", 10)
    monkeypatch.setattr("posterity.arrays.free_memory", lambda x: 2 * 8 * 60**2 - 1)
    with pytest.raises(MemoryError, match="use fewer rows"):
        maximise(classes(60))
