"""Minimisers: where they end, and that they say why."""

import warnings

import numpy as np
import pytest
from scipy import optimize as scipy_optimize
from sklearn import exceptions
from support.for_each import for_each

from posterity import optimize


def rosenbrock(x):
    return scipy_optimize.rosen(x), scipy_optimize.rosen_der(x)


def solve_dense(hessian):
    """The solve of a Newton method, for a Hessian as a function."""

    def solve(x, g, shift):
        H = np.atleast_2d(hessian(x))
        scale = np.mean(np.abs(np.diagonal(H)))
        L = np.linalg.cholesky(H + shift * scale * np.eye(len(H)))
        return np.linalg.solve(L.T, np.linalg.solve(L, g))

    return solve


def newton(f, df, d2f, x0, **options):
    return optimize.minimise_newton(f, df, solve_dense(d2f), np.asarray(x0), **options)


def test_lbfgs_finds_the_minimum_and_reports_it():
    best = optimize.minimise_lbfgs(rosenbrock, np.array([-1.2, 1.0, 2.0]))
    np.testing.assert_allclose(best.x, 1.0, atol=1e-5)
    assert best.converged
    assert best.stop_reason == "the largest gradient entry fell below 1e-06"
    assert best.value == rosenbrock(best.x)[0]
    np.testing.assert_array_equal(best.gradient, rosenbrock(best.x)[1])
    assert best.n_iter > 5


def test_parameters_on_a_bound_are_named():
    best = optimize.minimise_lbfgs(
        lambda x: (np.sum((x - [0.0, 5.0, 0.5]) ** 2), 2 * (x - [0.0, 5.0, 0.5])),
        np.full(3, 0.7),
        bounds=[(0.2, 1.0)] * 3,
        names=["noise", "length", "scale"],
    )
    assert best.at_bounds == ("noise (lower)", "length (upper)")
    np.testing.assert_allclose(best.x, [0.2, 1.0, 0.5])
    assert best.converged


def test_a_start_outside_the_bounds_is_moved_to_them():
    seen = []

    def square(x):
        seen.append(x.copy())
        return x @ x, 2 * x

    optimize.minimise_lbfgs(square, np.array([9.0]), bounds=[(1.0, 5.0)])
    assert min(map(float, np.ravel(seen))) >= 1.0
    assert max(map(float, np.ravel(seen))) <= 5.0


def test_the_start_is_evaluated_once():
    seen = []

    def square(x):
        seen.append(tuple(x))
        return x @ x, 2 * x

    optimize.minimise_lbfgs(square, np.array([1.0, 2.0]))
    assert seen.count((1.0, 2.0)) == 1


@for_each("outside", [np.inf, np.nan])
def test_the_search_returns_from_outside_the_domain(outside):
    def barrier(x):  # x - log x, whose first full step leaves the domain
        inside = x[0] > 0
        return (x[0] - np.log(x[0]), 1 - 1 / x) if inside else (outside, np.array([outside]))

    best = optimize.minimise_lbfgs(lambda x: barrier(x), np.array([5.0]))
    np.testing.assert_allclose(best.x, 1.0, atol=1e-5)


@for_each("start", [(np.inf, np.zeros(1)), (np.nan, np.zeros(1)), (0.0, np.array([np.nan]))])
def test_a_start_outside_the_domain_is_an_error(start):
    with pytest.raises(ValueError, match=r"at \[2\.\]"):
        optimize.minimise_lbfgs(lambda x: start, np.array([2.0]))


def test_lbfgs_warns_when_iterations_run_out():
    with pytest.warns(optimize.ConvergenceWarning, match="3 L-BFGS iterations were not enough"):
        best = optimize.minimise_lbfgs(rosenbrock, np.array([-1.2, 1.0]), max_iter=3)
    assert not best.converged
    assert best.n_iter == 3


def test_a_search_that_cannot_descend_says_what_a_user_can_do():
    with pytest.warns(
        optimize.ConvergenceWarning, match=r"no step improves .* give a parameter a value"
    ):
        best = optimize.minimise_lbfgs(lambda x: (x @ x, -2 * x), np.array([1.0, 2.0]))
    assert not best.converged


def test_a_value_that_no_longer_changes_is_convergence():
    best = optimize.minimise_lbfgs(lambda x: (1e9 + x @ x, 2 * x), np.array([3.0, 4.0]), tol=0.0)
    assert best.converged
    assert best.stop_reason == "the value no longer changes in double precision"


def test_warnings_are_those_of_scikit_learn_and_point_at_the_caller():
    assert issubclass(optimize.ConvergenceWarning, exceptions.ConvergenceWarning)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        optimize.minimise_lbfgs(rosenbrock, np.zeros(2), max_iter=1)
    assert caught[0].filename == __file__


def test_newton_solves_a_quadratic_in_one_step():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 4))
    H, b = X.T @ X, rng.normal(size=4)
    best = newton(lambda x: 0.5 * x @ H @ x - b @ x, lambda x: H @ x - b, lambda x: H, np.zeros(4))
    np.testing.assert_allclose(best.x, np.linalg.solve(H, b), rtol=1e-10)
    assert best.converged
    assert best.n_iter == 2
    assert best.value == pytest.approx(-0.5 * b @ np.linalg.solve(H, b))


@for_each("tol", [1e-2, 1e-6, 1e-12])
def test_newton_stops_at_its_tolerance(tol):
    # Half of each Newton step halves x; the slope along it is x^2 / 2.
    best = optimize.minimise_newton(
        lambda x: 0.5 * float(x @ x), lambda x: x, lambda x, g, shift: 0.5 * g, np.ones(1), tol=tol
    )
    gains = 0.25 * 0.25 ** np.arange(100) / (1.0 + 0.5 * 0.25 ** np.arange(100))
    assert best.n_iter == 1 + np.argmax(gains <= tol)


def test_newton_is_damped_where_the_full_step_overshoots():
    # Undamped, Newton's method on log cosh diverges from any start beyond 1.09.
    best = newton(
        lambda x: float(np.log(np.cosh(x[0]))),
        np.tanh,
        lambda x: np.diag(1 / np.cosh(x) ** 2),
        [3.0],
    )
    assert best.converged
    assert abs(best.x[0]) < 1e-9
    assert best.stop_reason == "the gain of a Newton step fell below 1e-12 of the value"


def test_newton_shifts_a_hessian_that_is_not_positive_definite():
    best = newton(
        scipy_optimize.rosen,
        scipy_optimize.rosen_der,
        scipy_optimize.rosen_hess,
        [0.0, 1.0],
    )
    assert np.linalg.eigvalsh(scipy_optimize.rosen_hess(np.array([0.0, 1.0])))[0] < 0
    np.testing.assert_allclose(best.x, 1.0, atol=1e-9)
    assert best.converged


def test_newton_never_goes_up():
    values = []

    def value(x):
        values.append(scipy_optimize.rosen(x))
        return values[-1]

    best = newton(value, scipy_optimize.rosen_der, scipy_optimize.rosen_hess, [-1.2, 1.0])
    assert best.value == min(values)


def test_newton_warns_when_iterations_run_out():
    with pytest.warns(optimize.ConvergenceWarning, match="2 Newton steps were not enough"):
        best = newton(
            scipy_optimize.rosen,
            scipy_optimize.rosen_der,
            scipy_optimize.rosen_hess,
            [-1.2, 1.0],
            max_iter=2,
        )
    assert not best.converged


def test_newton_says_when_no_step_descends():
    def steps_of(value):
        return optimize.minimise_newton(value, lambda x: 2 * x, lambda x, g, shift: g, np.ones(1))

    with pytest.warns(optimize.ConvergenceWarning, match="no Newton step lowers the value"):
        assert not steps_of(lambda x: -float(x @ x) if x[0] != 1.0 else -2.0).converged


@for_each("step", [-1.0, np.nan])
def test_newton_says_when_no_direction_descends(step):
    with pytest.warns(optimize.ConvergenceWarning, match="no direction descends"):
        best = optimize.minimise_newton(
            lambda x: float(x @ x), lambda x: 2 * x, lambda x, g, shift: step * g, np.ones(1)
        )
    assert best.x == 1.0


def test_maxima_of_many_functions_are_found_to_full_precision():
    roots = np.concatenate([np.linspace(-19, 19, 41), [np.pi, 1e-3, -1e-8]])
    found = optimize.maximise_between(lambda u: np.tanh(roots - u), -20.0, np.full(44, 20.0))
    np.testing.assert_allclose(found, roots, rtol=1e-15, atol=1e-28)


def test_maximum_is_the_end_towards_which_the_function_rises():
    ends = np.random.default_rng(0).normal(size=(2, 100))
    lower, upper = np.sort(ends, axis=0)
    rising = optimize.maximise_between(np.ones_like, lower, upper)
    falling = optimize.maximise_between(lambda u: -np.ones_like(u), lower, upper)
    np.testing.assert_array_equal(rising, upper)
    np.testing.assert_array_equal(falling, lower)


def test_maxima_have_the_shape_of_the_ends():
    roots = np.arange(6.0).reshape(2, 3)
    found = optimize.maximise_between(lambda u: roots - u, 0.0 * roots - 1.0, 10.0)
    np.testing.assert_allclose(found, roots, atol=1e-28)


def test_derivative_that_is_nan_is_refused():
    with pytest.raises(ValueError, match=r"1 of 2 derivatives.* function 1, searched from 0"):
        optimize.maximise_between(lambda u: np.array([1.0, np.nan]), np.zeros(2), 1.0)


def test_lbfgs_stops_when_it_no_longer_gains_what_is_asked() -> None:
    evaluations = []

    def flat_valley(x: np.ndarray) -> tuple[float, np.ndarray]:
        evaluations.append(float(np.sum(x**4)))
        return evaluations[-1], 4 * x**3

    best = optimize.minimise_lbfgs(flat_valley, np.array([3.0, 1.0]), least_gain=1e-3, tol=1e-12)
    impatient = len(evaluations)
    optimize.minimise_lbfgs(flat_valley, np.array([3.0, 1.0]), tol=1e-12)
    assert best.converged
    assert best.stop_reason == "two iterations in a row gained less than 1e-03"
    assert best.value < 1e-2
    assert impatient < len(evaluations) - impatient
