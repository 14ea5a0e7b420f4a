"""The most probable latent points, from several starts."""

import numpy as np
import pytest

from posterity.inference.latents import placements, search, terms


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


def _problem(target, placement=None):
    where = placement or placements.Free(*target.shape)
    return search.Problem((Pull(target), terms.StandardNormalPrior()), where, target.size)


def test_the_objective_is_the_sum_of_the_terms():
    target = np.random.default_rng(0).normal(size=(4, 2))
    problem = _problem(target)
    x = problem.packed(target + 0.3) + 0.1
    value, gradient = problem.objective()(x)
    X, own = problem.unpacked(x)
    parts = [term(X, numbers) for term, numbers in zip(problem.terms, own, strict=True)]
    assert value == pytest.approx(-sum(part[0] for part in parts))
    for i in range(len(x)):
        step = np.zeros(len(x))
        step[i] = 1e-6
        slope = (problem.objective()(x + step)[0] - problem.objective()(x - step)[0]) / 2e-6
        assert gradient[i] == pytest.approx(slope, abs=1e-6)


def test_the_search_ends_at_the_summit():
    target = np.array([[2.0], [-1.0], [0.5]])
    learned = search.maximise(_problem(target), [np.zeros((3, 1))], max_iter=200)
    strength = np.exp(learned.own[0][0])
    np.testing.assert_allclose(learned.X, strength / (1.0 + strength) * target, atol=1e-3)
    assert learned.log_posterior == pytest.approx(learned.ends[0])


def test_a_placement_is_followed():
    target = np.array([[2.0], [2.0], [-2.0]])
    tied = placements.Mapped(np.array([[1.0], [1.0], [-1.0]]), 1)
    learned = search.maximise(_problem(target, tied), [target], max_iter=200)
    assert learned.weights.shape == (1,)
    np.testing.assert_allclose(learned.X[:, 0], learned.weights[0] * np.array([1.0, 1.0, -1.0]))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_highest_end_counts(n_jobs):
    target = np.array([[2.0], [-1.0]])
    starts = [np.zeros((2, 1)), target, -target]
    learned = search.maximise(_problem(target), starts, max_iter=100, n_jobs=n_jobs)
    assert learned.ends.shape == (3,)
    assert learned.log_posterior == learned.ends.max()
