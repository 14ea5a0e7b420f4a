"""The search for the mode of coupled latent functions: its steps, and when it ends."""

import dataclasses

import numpy as np
import pytest

from posterity import kernels, likelihoods
from posterity.process.latent.density import LatentDensity, LatentTargets, Step
from posterity.process.softmax import factors, modes
from posterity.process.softmax.modes import ProductSteps

KERNEL = 1.7 * kernels.RBF([0.8, 1.3])


@pytest.fixture
def somewhere():
    """The density of latent functions, and a point that is not its mode."""
    rng = np.random.default_rng(0)
    X, y, weights = rng.normal(size=(30, 2)), np.arange(30.0) % 3, rng.uniform(0.5, 3.0, 30)
    likelihood = likelihoods.Categorical(3)
    targets = LatentTargets.with_offset_prior(y, weights, likelihood, offset=True)
    memory = factors.ClassMatrices.allocate(targets)
    latents = factors.make_latents(KERNEL, likelihood, X, targets, memory)
    b = 0.3 * rng.normal(size=(30, 3))
    return latents, latents.evaluate_at(b, latents.times(b)), memory


def exact_step(latents, point, memory):
    u = latents.shares(point.f)
    found = factors.ClassFactors.factorise(latents, latents.targets.weights, u, memory)
    return found.newton_step(latents, point)


def test_steps_by_products_are_as_good_as_asked_and_climb_when_broken_off(somewhere):
    latents, point, memory = somewhere
    exact = exact_step(latents, point, memory)
    none = np.empty((0, 30))
    steps = [ProductSteps(none, most).newton_step(latents, point) for most in (0, 1, 2, 1000)]
    excess = np.array([step.rise for step in steps]) - exact.rise
    assert np.all(np.diff(excess) <= 0.0)
    assert excess[-1] >= 0.0
    assert [step.is_exact for step in steps] == [False, False, False, True]
    step = steps[-1]
    db, df, u = step.b - exact.b, step.f - exact.f, latents.shares(point.f)
    curved = np.sum(u * df**2, axis=1) - np.sum(u * df, axis=1) ** 2
    error = np.sqrt(np.sum(db * df) + np.sum(latents.targets.weights * curved))
    assert error <= 0.1 * exact.length


def test_no_combination_of_the_products_taken_gives_a_better_step(somewhere):
    latents, point, _ = somewhere
    Q = modes.CurvatureRoot.evaluate_at(latents, point)
    G = modes._pivoted_cholesky(latents.K, latents.targets.weights, 2)
    easy = modes.LowRank.factorise(G, latents, Q)
    slope = latents.slope(point.f) - point.b
    Kr = latents.times(slope)
    c = Q.transposed_times(Kr)
    V, BV = [easy.solve(c)], []
    for _ in range(2):
        BV.append(V[-1] + Q.transposed_times(latents.times(Q.times(V[-1]))))
        V.append(easy.solve(BV[-1]))
    A, B = (np.stack([x.ravel() for x in X]) for X in (V[:2], BV))
    gained = (A @ c.ravel()) @ np.linalg.solve(A @ B.T, A @ c.ravel())
    step = ProductSteps(G, 2).newton_step(latents, point)
    assert step.rise == pytest.approx(np.sum(slope * Kr) - gained, rel=1e-9)


def test_a_factor_of_low_rank_saves_products(somewhere, monkeypatch):
    few, point, _ = somewhere
    latents = dataclasses.replace(few, K=100.0 * few.K)
    times = LatentDensity.times
    taken = []

    def counted(self, V):
        taken.append(V)
        return times(self, V)

    monkeypatch.setattr(LatentDensity, "times", counted)
    G = modes._pivoted_cholesky(latents.K, latents.targets.weights, 30)
    counts = []
    for factor in (G, G[:0]):
        taken.clear()
        ProductSteps(factor, 1000).newton_step(latents, point)
        counts.append(len(taken))
    assert counts[0] < 0.4 * counts[1]


def test_a_factor_of_low_rank_is_no_longer_than_it_need_be(somewhere):
    latents, _, _ = somewhere
    w = latents.targets.weights
    G = modes._pivoted_cholesky(latents.K, w, 30)
    left = latents.K - G.T @ G
    assert np.min(np.linalg.eigvalsh(left)) >= -1e-12
    assert w @ np.diagonal(left) <= 4.0
    assert w @ np.diagonal(latents.K - G[:-1].T @ G[:-1]) > 4.0
    np.testing.assert_array_equal(modes._pivoted_cholesky(latents.K, w, 5), G[:5])


def test_the_first_pivot_is_the_largest_weighted_variance(somewhere):
    latents, _, _ = somewhere
    w = latents.targets.weights
    (g,) = modes._pivoted_cholesky(latents.K, w, 1)
    np.testing.assert_allclose(g, latents.K[np.argmax(w)] / np.sqrt(1.7))


def test_a_guess_is_taken_only_where_it_is_better(somewhere):
    latents, _, _ = somewhere
    nothing = modes.start(latents, None)
    np.testing.assert_array_equal(nothing.f, 0.0)
    slope = latents.slope(nothing.f)
    assert modes.start(latents, -5.0 * slope).value == nothing.value
    np.testing.assert_array_equal(modes.start(latents, 0.01 * slope).b, 0.01 * slope)


def test_a_step_that_falls_is_not_taken(somewhere):
    latents, point, memory = somewhere
    up = exact_step(latents, point, memory)
    assert latents.climb_along(point, up).value > point.value
    small = 1e-6  # so that what it falls is soon round-off
    assert latents.climb_along(point, Step(-small * up.b, -small * up.f, -small * up.rise)) is None
    assert latents.climb_along(point, Step(-up.b, -up.f, up.rise)) is None


def test_steps_that_are_short_and_get_no_shorter_are_round_off(somewhere):
    latents, point, _ = somewhere
    nowhere = Step(0.0 * point.b, 0.0 * point.f, 1e-12)

    class Rounding:
        def newton_step(self, latents, point):
            return nowhere

    mode, _ = modes.find(latents, point, Rounding(), lambda point: Rounding())
    assert mode.converged
    assert mode.n_iter < 5


def test_the_functions_at_the_end_of_an_approach_are_those_of_their_weights(somewhere):
    latents, point, _ = somewhere
    there, n_iter = modes.approach(latents, point, ProductSteps.precondition(latents))
    assert n_iter > 2
    np.testing.assert_array_equal(there.f, latents.times(there.b))


def test_low_rank_solves_are_those_of_dense_algebra(somewhere):
    latents, point, _ = somewhere
    G = modes._pivoted_cholesky(latents.K, latents.targets.weights, 7)
    Q = modes.CurvatureRoot.evaluate_at(latents, point)
    easy = modes.LowRank.factorise(G, latents, Q)
    X = np.random.default_rng(3).normal(size=(30, 3))
    back = easy.solve(X)
    KQ = G.T @ (G @ Q.times(back)) + latents.targets.offset_variance * Q.times(back).sum(axis=0)
    np.testing.assert_allclose(back + Q.transposed_times(KQ), X, atol=1e-10)
