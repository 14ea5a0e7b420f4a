"""The most probable latent points, from several starts."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity import kernels, optimize
from posterity.latent.gplvm import placements, search, terms
from posterity.latent.gplvm.outputs import ExactOutputs


class Pull:
    """log N(X | target, 1 / strength), with a learned log strength that a prior holds back."""

    def __init__(self, target):
        self.target = target
        self.start, self.limits, self.names = np.zeros(1), np.array([[-3.0, 3.0]]), ["strength"]

    def __call__(self, X, own):
        strength, away = np.exp(own[0]), X - self.target
        value = -0.5 * strength * np.sum(away**2) - 0.5 * own[0] ** 2
        slope = -0.5 * strength * np.sum(away**2) - own[0]
        return value, -strength * away, np.array([slope])

    def add_curvature(self, H, X, own):
        H += np.exp(own[0]) * np.eye(X.size).reshape(H.shape)


def _problem(target, placement=None):
    where = placement or placements.FreePlacement(*target.shape)
    return search.LatentPointProblem(
        (Pull(target), terms.StandardNormalPrior()), where, target.size
    )


def test_the_objective_is_the_sum_of_the_terms():
    target = np.random.default_rng(0).normal(size=(4, 2))
    problem = _problem(target)
    x = problem.pack(target + 0.3) + 0.1
    value, gradient = problem.objective()(x)
    X, own = problem.unpack(x)
    parts = [term(X, numbers) for term, numbers in zip(problem.terms, own, strict=True)]
    assert value == pytest.approx(-sum(part[0] for part in parts))
    for i in range(len(x)):
        step = np.zeros(len(x))
        step[i] = 1e-6
        slope = (problem.objective()(x + step)[0] - problem.objective()(x - step)[0]) / 2e-6
        assert gradient[i] == pytest.approx(slope, abs=1e-6)


def test_the_search_ends_at_the_maximum():
    target = np.array([[2.0], [-1.0], [0.5]])
    learned = search.maximise_latent_points(_problem(target), [np.zeros((3, 1))], max_iter=200)
    strength = np.exp(learned.own[0][0])
    np.testing.assert_allclose(learned.X, strength / (1.0 + strength) * target, atol=1e-3)
    assert learned.log_posterior == pytest.approx(learned.ends[0])


def test_a_placement_is_followed():
    target = np.array([[2.0], [2.0], [-2.0]])
    tied = placements.MappedPlacement(np.array([[1.0], [1.0], [-1.0]]), 1)
    learned = search.maximise_latent_points(_problem(target, tied), [target], max_iter=200)
    assert learned.weights.shape == (1,)
    np.testing.assert_allclose(learned.X[:, 0], learned.weights[0] * np.array([1.0, 1.0, -1.0]))


@for_each("n_jobs", [1, 2])
def test_the_highest_end_counts(n_jobs):
    target = np.array([[2.0], [-1.0]])
    starts = [np.zeros((2, 1)), target, -target]
    learned = search.maximise_latent_points(_problem(target), starts, max_iter=100, n_jobs=n_jobs)
    assert learned.ends.shape == (3,)
    assert learned.log_posterior == learned.ends.max()


def _curve(n=80, seed=0, least_noise=1e-6):
    """Outputs along a bent curve, and a problem of which they are the outputs."""
    rng, t = np.random.default_rng(seed), np.linspace(-1.5, 1.5, n)[:, None]
    Y = np.hstack([t, np.sin(2.0 * t), t * t, np.cos(3.0 * t)]) + 0.05 * rng.normal(size=(n, 4))
    Y -= Y.mean(axis=0)
    X = placements.find_principal_start(Y, 2, rng).X
    kernel, bounds = kernels.Scaled(kernels.RBF()).search_start(X)
    outputs = ExactOutputs(Y, kernel, bounds, 0.1, (least_noise, 10.0))
    judges = (outputs, terms.StandardNormalPrior(), terms.Volume())
    return search.LatentPointProblem(judges, placements.FreePlacement(n, 2), Y.size), X


@pytest.mark.full(but=1)
@pytest.mark.parametrize("seed", [0, 1])
def test_curvature_leads_as_high_in_fewer_iterations(monkeypatch, seed):
    problem, X = _curve(n=40, seed=seed)
    told = search.maximise_latent_points(problem, [X], max_iter=1000)
    monkeypatch.setattr(search, "_CHARTED", 0)
    untold = search.maximise_latent_points(problem, [X], max_iter=1000)
    assert told.log_posterior > untold.log_posterior - 0.1
    assert told.optimum.n_iter < 0.75 * untold.optimum.n_iter


def test_rounds_that_were_not_enough_say_how_many():
    problem, X = _curve()
    with pytest.warns(optimize.ConvergenceWarning, match="after 40 iterations: 40 L-BFGS"):
        search.maximise_latent_points(problem, [X], max_iter=40)


def test_rounds_are_counted_together():
    problem, X = _curve()
    learned = search.maximise_latent_points(problem, [X], max_iter=1000)
    assert learned.optimum.converged
    assert search._ROUND < learned.optimum.n_iter < 1000
    assert problem.objective()(learned.optimum.x)[0] == pytest.approx(-learned.log_posterior)


def test_numbers_stay_within_their_limits():
    target = np.array([[2.0], [-1.0]])
    problem = _problem(target)
    pull = problem.terms[0]
    pull.limits = np.array([[0.2, 3.0]])
    learned = search.maximise_latent_points(problem, [target], max_iter=200)
    assert learned.own[0][0] == pytest.approx(0.2)
    assert learned.optimum.at_bounds == ("strength (lower)",)


def test_bounds_that_were_reached_are_in_the_units_of_the_parameters():
    problem, X = _curve(n=30, least_noise=0.05)
    learned = search.maximise_latent_points(problem, [X], max_iter=1000)
    (bound,) = learned.optimum.bounds_reached
    assert bound.label == "noise_variance (lower)"
    assert bound.value == pytest.approx(0.05)
    k = problem.names.index(bound.name)
    slope = problem.objective()(learned.optimum.x)[1][k]  # of minus the evidence, in the log
    assert bound.rise == pytest.approx(slope, rel=1e-6)


def test_a_mapped_placement_is_searched_as_it_is():
    target = np.array([[2.0], [2.0], [-2.0]])
    tied = placements.MappedPlacement(np.array([[1.0], [1.0], [-1.0]]), 1)
    problem = _problem(target, tied)
    coordinates = problem.coordinates_at(problem.pack(target))
    t = np.array([0.3, -0.2])
    np.testing.assert_array_equal(coordinates.to_point(t), problem.pack(target) + t)
