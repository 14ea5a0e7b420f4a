"""BFGS within bounds: minima, why it stopped, and what it learned of the curvature."""

import itertools

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der

from posterity import optimize

SCALES = 10.0 ** np.arange(-3.0, 4.0)


def quadratic(x):
    """A valley along a diagonal, a million times as long as wide, with its minimum at one."""
    r = SCALES * (x - 1.0)
    r[1:] += 0.5 * r[:-1]
    g = r.copy()
    g[:-1] += 0.5 * g[1:]
    return 0.5 * float(r @ r), SCALES * g


def counted(function):
    calls = []

    def call(x):
        calls.append(x.copy())
        return function(x)

    return call, calls


def banana(x):
    return float(rosen(x)), rosen_der(x)


def test_the_minimum_of_a_curved_valley_is_found():
    best = optimize.minimise_bfgs(banana, np.array([-1.2, 1.0, -0.5]))
    assert best.converged
    np.testing.assert_allclose(best.x, 1.0, atol=1e-5)


def test_bounds_hold_and_are_named():
    names = ["a", "b"]
    best = optimize.minimise_bfgs(
        banana, np.array([0.0, 0.0]), bounds=[(-2.0, 0.5), (-2.0, 2.0)], names=names
    )
    assert best.at_bounds == ("a (upper)",)
    np.testing.assert_allclose(best.x, [0.5, 0.25], atol=1e-6)


def test_a_start_outside_is_brought_inside():
    best = optimize.minimise_bfgs(quadratic, np.full(7, 9.0), bounds=[(2.0, 3.0)] * 7)
    assert np.all((best.x >= 2.0) & (best.x <= 3.0))


def test_what_was_learned_of_the_curvature_is_worth_evaluations():
    call, calls = counted(quadratic)
    learned = optimize.minimise_bfgs(call, np.zeros(7), max_iter=500, tol=1e-8)
    first = len(calls)
    again = optimize.minimise_bfgs(
        call, 0.9 * np.ones(7), inverse_hessian=learned.inverse_hessian, tol=1e-8
    )
    assert again.converged
    assert len(calls) - first < 0.5 * first


def test_a_true_inverse_hessian_needs_one_step():
    A = np.diag([1.0, 100.0])
    best = optimize.minimise_bfgs(
        lambda x: (0.5 * float(x @ A @ x), A @ x),
        np.array([3.0, -2.0]),
        inverse_hessian=np.linalg.inv(A),
    )
    assert best.n_iter == 1
    np.testing.assert_allclose(best.x, 0.0, atol=1e-12)


def test_an_inverse_hessian_that_misleads_is_given_up():
    best = optimize.minimise_bfgs(
        lambda x: (float(x @ x), 2.0 * x), np.ones(2), inverse_hessian=-np.eye(2)
    )
    assert best.converged
    np.testing.assert_allclose(best.x, 0.0, atol=1e-6)


def test_no_variable_moves_further_than_allowed_in_one_step():
    call, calls = counted(
        lambda x: (float(np.sum(np.abs(x) ** 1.5)), 1.5 * np.sign(x) * abs(x) ** 0.5)
    )
    optimize.minimise_bfgs(call, np.array([40.0, 1.0]), longest_step=0.7, least_gain=1e-6)
    assert max(np.max(abs(b - a)) for a, b in itertools.pairwise(calls)) <= 0.7 + 1e-12


def test_steps_outside_the_domain_are_shortened():
    def barrier(x):
        if x[0] <= 0.0:
            return np.inf, np.zeros(1)
        return float(x[0] - np.log(x[0])), 1.0 - 1.0 / x

    best = optimize.minimise_bfgs(barrier, np.array([8.0]))
    assert best.x[0] == pytest.approx(1.0, abs=1e-6)


def test_a_start_outside_the_domain_is_an_error():
    with pytest.raises(ValueError, match="The search cannot start"):
        optimize.minimise_bfgs(lambda x: (np.inf, x), np.ones(1))


def test_too_few_iterations_are_announced_unless_unwanted():
    with pytest.warns(optimize.ConvergenceWarning, match="2 BFGS iterations were not enough"):
        optimize.minimise_bfgs(banana, np.array([-1.2, 1.0]), max_iter=2)
    quiet = optimize.minimise_bfgs(banana, np.array([-1.2, 1.0]), max_iter=2, announce=False)
    assert not quiet.converged


def test_a_search_that_cannot_descend_says_what_a_user_can_do():
    with pytest.warns(
        optimize.ConvergenceWarning, match=r"no step improves .* give a parameter a value"
    ):
        optimize.minimise_bfgs(lambda x: (float(x @ x), -2.0 * x), np.ones(2))


def test_it_stops_when_a_further_step_promises_too_little():
    best = optimize.minimise_bfgs(banana, np.array([-1.2, 1.0]), least_gain=1e-3, tol=1e-14)
    assert best.converged
    assert "gain" in best.stop_reason
    assert best.value < 1e-2


def test_a_steep_start_does_not_shorten_all_later_steps():
    """The wall at the start curves 1e7 times as much as the hollow behind it, which curves down."""

    def wall_and_hollow(x):
        wall, hollow = np.exp(-20.0 * x[0]), 10.0 * np.exp(-((x[0] - 5.0) ** 2) / 18.0)
        return wall - hollow, np.array([-20.0 * wall + (x[0] - 5.0) / 9.0 * hollow])

    best = optimize.minimise_bfgs(wall_and_hollow, np.array([-0.5]), longest_step=2.0)
    assert best.converged
    assert best.x == pytest.approx(5.0, abs=1e-5)
    assert best.n_iter < 40


def test_a_step_beside_a_bound_is_that_of_the_variables_that_are_free():
    """With the exact inverse Hessian of a quadratic, one step is enough, whatever the bound."""
    A = np.array([[2.0, 1.9, 0.3], [1.9, 2.0, 0.1], [0.3, 0.1, 1.0]])
    b = np.array([1.0, -3.0, 0.5])
    bounds = [(-np.inf, np.inf), (0.0, np.inf), (-np.inf, np.inf)]
    best = optimize.minimise_bfgs(
        lambda x: (0.5 * x @ A @ x - b @ x, A @ x - b),
        np.array([-1.0, 0.0, 2.0]),
        bounds=bounds,
        inverse_hessian=np.linalg.inv(A),
    )
    free = [0, 2]
    expected = np.linalg.solve(A[np.ix_(free, free)], b[free])
    np.testing.assert_allclose(best.x[free], expected)
    assert (best.n_iter, best.x[1]) == (1, 0.0)


def test_where_rounding_hides_what_a_step_would_gain_the_search_has_converged():
    def rounded(x):
        return round(float(50.0 * x @ x), 3), 100.0 * x

    best = optimize.minimise_bfgs(
        rounded, np.full(1, 2e-3), inverse_hessian=np.full((1, 1), 0.01), tol=0.0, least_gain=1e-3
    )
    assert best.converged
    assert "double precision" in best.stop_reason
