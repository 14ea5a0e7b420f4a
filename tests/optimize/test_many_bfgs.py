"""Many small minimisations at once: each ends where it would end alone."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize as scipy_optimize

from posterity.optimize import many_bfgs


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def rosenbrock(X, which):
    """A valley for each problem, the steeper the higher its number."""
    steep = 1.0 + 10.0 * (which % 10)
    a, b = 1.0 - X[:, :-1], X[:, 1:] - X[:, :-1] ** 2
    g = np.zeros_like(X)
    g[:, :-1] = -2.0 * a - 4.0 * steep[:, None] * X[:, :-1] * b
    g[:, 1:] += 2.0 * steep[:, None] * b
    return np.sum(a**2 + steep[:, None] * b**2, axis=1), g


def quadratics(rng, n, Q, condition):
    """Random ones, their minima, and how they are evaluated."""
    V = np.linalg.qr(rng.normal(size=(n, Q, Q)))[0]
    A = (V * np.logspace(0.0, np.log10(condition), Q)) @ np.swapaxes(V, 1, 2)
    minima = rng.normal(size=(n, Q))

    def evaluate(X, which):
        R = X - minima[which]
        slope = np.einsum("nij,nj->ni", A[which], R)
        return 0.5 * np.sum(R * slope, axis=1), slope

    return minima, evaluate


@pytest.mark.parametrize("Q", [1, 2, 7, 20])
def test_minima_of_quadratics_are_found(rng, Q):
    minima, evaluate = quadratics(rng, 40, Q, 1e3)
    best = many_bfgs.minimise_many_bfgs(evaluate, np.zeros((40, Q)), tol=1e-9)
    assert best.converged.all()
    assert best.x == pytest.approx(minima, abs=1e-7)
    assert best.value == pytest.approx(0.0, abs=1e-12)


def test_valleys_are_followed_to_their_end_in_about_as_many_steps_as_by_scipy(rng):
    X0 = rng.normal(size=(60, 2))
    best = many_bfgs.minimise_many_bfgs(rosenbrock, X0)
    assert best.converged.all()
    assert best.x == pytest.approx(np.ones_like(X0), abs=1e-5)
    steps = []
    for i, x in enumerate(X0):
        which = np.array([i])

        def alone(x, which=which):
            f, g = rosenbrock(x[None], which)
            return f[0], g[0]

        steps.append(scipy_optimize.minimize(alone, x, jac=True, method="BFGS").nit)
    assert np.mean(best.n_iter) < 1.5 * np.mean(steps)


def test_no_problem_knows_of_the_others(rng):
    X0 = rng.normal(size=(50, 4))
    together = many_bfgs.minimise_many_bfgs(rosenbrock, X0)
    for chosen in (np.arange(50)[::-1], np.arange(7, 30, 3), np.array([11])):
        apart = many_bfgs.minimise_many_bfgs(
            lambda X, which, chosen=chosen: rosenbrock(X, chosen[which]), X0[chosen]
        )
        assert apart.x == pytest.approx(together.x[chosen], abs=1e-10)
        assert apart.value == pytest.approx(together.value[chosen], abs=1e-10)
        assert np.array_equal(apart.n_iter, together.n_iter[chosen])


def test_only_unfinished_problems_are_evaluated(rng):
    seen = []

    def evaluate(X, which):
        seen.append(which)
        return rosenbrock(X, which)

    X0 = np.ones((10, 2))
    X0[3:] = rng.normal(size=(7, 2))
    best = many_bfgs.minimise_many_bfgs(evaluate, X0)
    assert np.array_equal(best.n_iter[:3], [0, 0, 0])
    assert np.concatenate(seen[1:]).min() == 3
    assert len(seen[-1]) < 7
    counts = np.bincount(np.concatenate(seen), minlength=10)
    assert np.all(counts >= best.n_iter + 1)


def test_steps_out_of_the_domain_are_shortened():
    def barrier(X, which):
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.sum(X - np.log(X), axis=1), 1.0 - 1.0 / X

    X0 = np.array([[1e-3, 5.0], [300.0, 0.2], [1.0, 1.0]])
    best = many_bfgs.minimise_many_bfgs(barrier, X0)
    assert best.converged.all()
    assert best.x == pytest.approx(np.ones((3, 2)), abs=1e-5)


def test_problem_that_starts_outside_stays_there_and_harms_no_other():
    def half(X, which):
        f = np.where(X[:, 0] > 0.0, X[:, 0] ** 2 - X[:, 0], np.nan)
        return f, 2.0 * X - 1.0

    best = many_bfgs.minimise_many_bfgs(half, np.array([[-1.0], [3.0]]))
    assert list(best.converged) == [False, True]
    assert best.x[:, 0] == pytest.approx([-1.0, 0.5])
    assert best.value[0] == np.inf


def test_functions_that_curve_down_at_the_start_are_minimised():
    def wells(X, which):
        return np.sum(-np.exp(-0.5 * X**2), axis=1), X * np.exp(-0.5 * X**2)

    best = many_bfgs.minimise_many_bfgs(wells, np.array([[3.0], [-4.5], [2.0]]), tol=1e-9)
    assert best.converged.all()
    assert best.x == pytest.approx(0.0, abs=1e-8)


def valleys(X, which):
    """A narrow one at zero, and a deeper one far away."""
    x = X[:, 0]
    narrow, wide = np.exp(-0.5 * (x / 0.01) ** 2), np.exp(-0.5 * ((x - 1.5) / 0.6) ** 2)
    slope = narrow * x / 1e-4 + 5.0 * wide * (x - 1.5) / 0.36
    return -narrow - 5.0 * wide, slope[:, None]


def test_short_first_step_stays_in_the_valley_where_it_starts():
    X0 = np.array([[-0.008], [0.012]])
    near = many_bfgs.minimise_many_bfgs(valleys, X0, first_step=1e-3, longest_step=0.05)
    assert near.x == pytest.approx(0.0, abs=3e-3)
    far = many_bfgs.minimise_many_bfgs(valleys, X0)
    assert far.x[0] == pytest.approx(1.5, abs=1e-3)


def test_no_step_is_longer_than_the_longest(rng):
    seen = []

    def evaluate(X, which):
        seen.append(X)
        return np.sum(-np.exp(-0.5 * X**2), axis=1), X * np.exp(-0.5 * X**2)

    best = many_bfgs.minimise_many_bfgs(evaluate, np.full((1, 2), 4.0), longest_step=0.3)
    assert best.x == pytest.approx(0.0, abs=1e-4)
    assert np.max(np.abs(np.diff(np.concatenate(seen), axis=0))) < 0.6
    assert np.max(np.abs(seen[1] - seen[0])) == pytest.approx(0.3)


def test_steps_grow_while_the_function_curves_down():
    seen = []

    def wells(X, which):
        seen.append(X[0, 0])
        return -np.exp(-0.5 * X[:, 0] ** 2), X * np.exp(-0.5 * X**2)

    many_bfgs.minimise_many_bfgs(wells, np.array([[3.0]]), first_step=0.01)
    assert -np.diff(seen)[:6] == pytest.approx(0.01 * 2.0 ** np.arange(6))


def test_values_that_are_not_exact_end_the_search(rng):
    _, evaluate = quadratics(rng, 50, 4, 1e4)

    def coarse(X, which):
        f, g = evaluate(X, which)
        return np.round(f, 7), g

    best = many_bfgs.minimise_many_bfgs(coarse, np.zeros((50, 4)), tol=1e-12, least_gain=1e-6)
    assert best.converged.all()


def test_iterations_that_run_out_are_told(rng):
    best = many_bfgs.minimise_many_bfgs(
        rosenbrock, np.full((5, 2), -1.5) + 0.1 * np.arange(10).reshape(5, 2)
    )
    short = many_bfgs.minimise_many_bfgs(rosenbrock, np.full((5, 2), -1.5), max_iter=3)
    assert best.converged.all()
    assert np.array_equal(short.n_iter, [3] * 5)
    assert not short.converged[1:].any()


def test_wrong_gradient_is_no_convergence():
    best = many_bfgs.minimise_many_bfgs(
        lambda X, _: (np.sum(X**2, axis=1), -2.0 * X - 1.0), np.ones((2, 3))
    )
    assert not best.converged.any()
    assert np.array_equal(best.x, np.ones((2, 3)))


def test_inverse_hessian_that_rounding_spoiled_is_not_followed():
    curvature = np.array([1.0, 10.0])

    def bowls(X, which):
        return 0.5 * np.sum(curvature * X**2, axis=1), curvature * X

    X = np.ones((2, 2))
    steps = many_bfgs._Steps(bowls, first=1e-2, longest=np.inf)
    states = many_bfgs._States.at(np.arange(2), X, *bowls(X, None), steps)
    H = np.array([-1e3 * np.eye(2), np.eye(2)])
    spoiled = replace(states, H=H, learned=np.array([True, True]))
    later = spoiled.advanced(steps, many_bfgs._Least(1e-6, 0.0))
    assert np.array_equal(later.learned, [False, True])
    assert np.all(np.sum(later.d * later.g, axis=1) < 0.0)


def test_gains_below_the_least_end_the_search(rng):
    _, evaluate = quadratics(rng, 20, 5, 1e1)
    fine = many_bfgs.minimise_many_bfgs(evaluate, np.zeros((20, 5)))
    coarse = many_bfgs.minimise_many_bfgs(evaluate, np.zeros((20, 5)), least_gain=1e-2)
    assert coarse.converged.all()
    assert np.sum(coarse.n_iter) < np.sum(fine.n_iter)
    assert 1e-9 < coarse.value.max() < 0.1


def test_ramp_that_hardly_falls_ends_the_search():
    best = many_bfgs.minimise_many_bfgs(
        lambda X, _: (1e-3 * X[:, 0], np.full_like(X, 1e-3)), np.zeros((1, 1)), least_gain=1e-2
    )
    assert best.converged.all()
    assert best.n_iter[0] == 2


def test_values_that_rounding_hides_end_the_search_too(rng):
    _, evaluate = quadratics(rng, 20, 4, 1e6)

    def lifted(X, which):
        f, g = evaluate(X, which)
        return f + 1e6, g

    best = many_bfgs.minimise_many_bfgs(lifted, np.zeros((20, 4)), tol=1e-12)
    assert best.converged.all()


def test_no_problems_have_no_minima():
    best = many_bfgs.minimise_many_bfgs(lambda X, which: (np.zeros(len(X)), X), np.empty((0, 3)))
    assert best.x.shape == (0, 3)
