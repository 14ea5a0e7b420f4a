"""Many minimisations at once: each ends where it would end alone."""

import numpy as np
import pytest
from scipy import optimize as scipy_optimize

from posterity.optimize import inverse_hessians, many


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
    best = many.minimise_many(evaluate, np.zeros((40, Q)), tol=1e-9)
    assert best.converged.all()
    assert best.x == pytest.approx(minima, abs=1e-7)
    assert best.value == pytest.approx(0.0, abs=1e-12)


def test_valleys_are_followed_to_their_end_in_about_as_many_steps_as_by_scipy(rng):
    X0 = rng.normal(size=(60, 2))
    best = many.minimise_many(rosenbrock, X0)
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


@pytest.mark.parametrize("memory", [None, 3])
def test_no_problem_knows_of_the_others(rng, memory):
    X0 = rng.normal(size=(50, 4))
    together = many.minimise_many(rosenbrock, X0, memory=memory)
    for chosen in (np.arange(50)[::-1], np.arange(7, 30, 3), np.array([11])):
        apart = many.minimise_many(
            lambda X, which, chosen=chosen: rosenbrock(X, chosen[which]), X0[chosen], memory=memory
        )
        assert apart.x == pytest.approx(together.x[chosen], abs=1e-8)
        assert apart.value == pytest.approx(together.value[chosen], abs=1e-8)
        assert np.array_equal(apart.n_iter, together.n_iter[chosen])


def test_only_unfinished_problems_are_evaluated(rng):
    seen = []

    def evaluate(X, which):
        seen.append(which)
        return rosenbrock(X, which)

    X0 = np.ones((10, 2))
    X0[3:] = rng.normal(size=(7, 2))
    best = many.minimise_many(evaluate, X0)
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
    best = many.minimise_many(barrier, X0)
    assert best.converged.all()
    assert best.x == pytest.approx(np.ones((3, 2)), abs=1e-5)


def test_problem_that_starts_outside_stays_there_and_harms_no_other():
    def half(X, which):
        f = np.where(X[:, 0] > 0.0, X[:, 0] ** 2 - X[:, 0], np.nan)
        return f, 2.0 * X - 1.0

    best = many.minimise_many(half, np.array([[-1.0], [3.0]]))
    assert list(best.converged) == [False, True]
    assert best.x[:, 0] == pytest.approx([-1.0, 0.5])
    assert best.value[0] == np.inf


def test_functions_that_curve_down_at_the_start_are_minimised():
    def wells(X, which):
        return np.sum(-np.exp(-0.5 * X**2), axis=1), X * np.exp(-0.5 * X**2)

    best = many.minimise_many(wells, np.array([[3.0], [-4.5], [2.0]]), tol=1e-9)
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
    near = many.minimise_many(valleys, X0, first_step=1e-3, longest_step=0.05)
    assert near.x == pytest.approx(0.0, abs=3e-3)
    far = many.minimise_many(valleys, X0)
    assert far.x[0] == pytest.approx(1.5, abs=1e-3)


def test_no_step_is_longer_than_the_longest(rng):
    seen = []

    def evaluate(X, which):
        seen.append(X)
        return np.sum(-np.exp(-0.5 * X**2), axis=1), X * np.exp(-0.5 * X**2)

    best = many.minimise_many(evaluate, np.full((1, 2), 4.0), longest_step=0.3)
    assert best.x == pytest.approx(0.0, abs=1e-4)
    assert np.max(np.abs(np.diff(np.concatenate(seen), axis=0))) < 0.6
    assert np.max(np.abs(seen[1] - seen[0])) == pytest.approx(0.3)


def test_steps_grow_while_the_function_curves_down():
    seen = []

    def wells(X, which):
        seen.append(X[0, 0])
        return -np.exp(-0.5 * X[:, 0] ** 2), X * np.exp(-0.5 * X**2)

    many.minimise_many(wells, np.array([[3.0]]), first_step=0.01)
    assert -np.diff(seen)[:6] == pytest.approx(0.01 * 2.0 ** np.arange(6))


def test_values_that_are_not_exact_end_the_search(rng):
    _, evaluate = quadratics(rng, 50, 4, 1e4)

    def coarse(X, which):
        f, g = evaluate(X, which)
        return np.round(f, 7), g

    best = many.minimise_many(coarse, np.zeros((50, 4)), tol=1e-12, least_gain=1e-6)
    assert best.converged.all()


def test_iterations_that_run_out_are_told(rng):
    best = many.minimise_many(rosenbrock, np.full((5, 2), -1.5) + 0.1 * np.arange(10).reshape(5, 2))
    short = many.minimise_many(rosenbrock, np.full((5, 2), -1.5), max_iter=3)
    assert best.converged.all()
    assert np.array_equal(short.n_iter, [3] * 5)
    assert not short.converged[1:].any()


def test_wrong_gradient_is_no_convergence():
    best = many.minimise_many(lambda X, _: (np.sum(X**2, axis=1), -2.0 * X - 1.0), np.ones((2, 3)))
    assert not best.converged.any()
    assert np.array_equal(best.x, np.ones((2, 3)))


def test_slopes_beyond_all_numbers_are_outside_too():
    def cliff(X, which):
        steep = np.where(X[:, :1] < 0.5, 1e200, 2.0 * X)
        return np.where(X[:, 0] < 0.5, -1e300, X[:, 0] ** 2), steep

    best = many.minimise_many(cliff, np.array([[2.0], [0.1]]), max_iter=20)
    assert best.x[0] >= 0.5
    assert best.x[1] == 0.1
    assert np.isinf(best.value[1])


def test_values_and_places_belong_together(rng):
    X0 = rng.normal(size=(6, 18))
    best = many.minimise_many(rosenbrock, X0, memory=4, max_iter=7)
    assert best.value == pytest.approx(rosenbrock(best.x, np.arange(6))[0], rel=1e-12)
    assert np.all(best.value < rosenbrock(X0, np.arange(6))[0])


@pytest.mark.parametrize("spoiled", [-1e3, -1e-3])
def test_inverse_hessian_that_rounding_spoiled_is_not_followed(monkeypatch, spoiled):
    class Spoiled(inverse_hessians.FullInverses):
        def multiply(self, which, g):
            return np.where(self.learned[which, None], spoiled, 1.0) * g

    monkeypatch.setattr(many, "FullInverses", Spoiled)
    curvature = np.array([1.0, 10.0])
    best = many.minimise_many(
        lambda X, which: (0.5 * np.sum(curvature * X**2, axis=1), curvature * X),
        np.ones((2, 2)),
        first_step=1e-2,
    )
    assert np.all(best.value < 5.5)
    assert best.n_iter.min() > 1


@pytest.mark.parametrize("memory", [1, 8])
@pytest.mark.parametrize("Q", [4, 30])
def test_last_steps_lead_to_the_same_minima_as_full_matrices(rng, Q, memory):
    minima, evaluate = quadratics(rng, 12, Q, 30.0)
    best = many.minimise_many(evaluate, np.zeros((12, Q)), memory=memory, tol=1e-9)
    assert best.converged.all()
    assert best.x == pytest.approx(minima, abs=1e-7)


def test_last_steps_multiply_like_the_matrix_that_they_stand_for(rng):
    few, full = inverse_hessians.LastSteps(3, 20, 8), inverse_hessians.FullInverses(3, 20)
    rows = np.array([2, 0])
    for _ in range(11):
        s = rng.normal(size=(2, 20))
        y = s + 0.1 * rng.normal(size=(2, 20))
        few.update(rows, s, y)
    # The matrix by the update formula, from the scaled identity through the last eight steps.
    full.H[rows] = few.scale[rows, None, None] * np.eye(20)
    full.learned[:] = True
    for k in range(8):
        place = (few.next[rows] + k) % 8
        full.update(rows, few.S[rows, place], few.Y[rows, place])
    g = rng.normal(size=(2, 20))
    assert few.multiply(rows, g) == pytest.approx(full.multiply(rows, g), rel=1e-10)
    few.forget(rows)
    assert np.array_equal(few.multiply(rows, g), g)
    assert not few.learned.any()


def test_gains_below_the_least_end_the_search(rng):
    _, evaluate = quadratics(rng, 20, 5, 1e1)
    fine = many.minimise_many(evaluate, np.zeros((20, 5)))
    coarse = many.minimise_many(evaluate, np.zeros((20, 5)), least_gain=1e-2)
    assert coarse.converged.all()
    assert np.sum(coarse.n_iter) < np.sum(fine.n_iter)
    assert 1e-9 < coarse.value.max() < 0.1


def test_ramp_that_hardly_falls_ends_the_search():
    best = many.minimise_many(
        lambda X, _: (1e-3 * X[:, 0], np.full_like(X, 1e-3)), np.zeros((1, 1)), least_gain=1e-2
    )
    assert best.converged.all()
    assert best.n_iter[0] == 2


def test_values_that_rounding_hides_end_the_search_too(rng):
    _, evaluate = quadratics(rng, 20, 4, 1e6)

    def lifted(X, which):
        f, g = evaluate(X, which)
        return f + 1e6, g

    best = many.minimise_many(lifted, np.zeros((20, 4)), tol=1e-12)
    assert best.converged.all()


def test_no_problems_have_no_minima():
    best = many.minimise_many(lambda X, which: (np.zeros(len(X)), X), np.empty((0, 3)))
    assert best.x.shape == (0, 3)
