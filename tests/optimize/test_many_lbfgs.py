"""Many minimisations at once: each as if alone, and as SciPy would have it."""

import numpy as np
import pytest
from scipy import optimize as scipy_optimize

from posterity.optimize import many_lbfgs


def rosenbrock(x, which):
    a, b = x[:, :-1], x[:, 1:]
    g = np.zeros_like(x)
    g[:, :-1] = -400.0 * a * (b - a * a) - 2.0 * (1.0 - a)
    g[:, 1:] += 200.0 * (b - a * a)
    return np.sum(100.0 * (b - a * a) ** 2 + (1.0 - a) ** 2, axis=1), g


def test_valleys_are_followed_to_the_bottom():
    start = np.random.default_rng(0).normal(size=(20, 4))
    found = many_lbfgs.minimise_many_lbfgs(rosenbrock, start, max_iter=500, tol=1e-7)
    assert found.converged.all()
    theirs = [scipy_optimize.minimize(scipy_optimize.rosen, x, tol=1e-10).fun for x in found.x]
    np.testing.assert_allclose(found.value, theirs, atol=1e-8)


def test_values_and_places_belong_together():
    start = np.random.default_rng(1).normal(size=(6, 3))
    found = many_lbfgs.minimise_many_lbfgs(rosenbrock, start, max_iter=7)
    np.testing.assert_allclose(found.value, rosenbrock(found.x, None)[0], rtol=1e-12)
    assert np.all(found.n_iter == 7)
    assert np.all(found.value < rosenbrock(start, None)[0])


def test_a_quadratic_takes_few_steps():
    rng = np.random.default_rng(2)
    scale = np.array([1.0, 3.0, 10.0])
    centre = rng.normal(size=(5, 3))

    def bowls(x, which):
        r = x - centre[which]
        return np.sum(scale * r * r, axis=1), 2.0 * scale * r

    found = many_lbfgs.minimise_many_lbfgs(bowls, np.zeros((5, 3)), tol=1e-9)
    np.testing.assert_allclose(found.x, centre, atol=1e-8)
    assert np.all(found.n_iter < 25)


def test_a_row_does_not_depend_on_the_others():
    start = np.random.default_rng(3).normal(size=(9, 4))
    together = many_lbfgs.minimise_many_lbfgs(rosenbrock, start, max_iter=40)
    alone = [many_lbfgs.minimise_many_lbfgs(rosenbrock, x[None], max_iter=40).x[0] for x in start]
    np.testing.assert_allclose(together.x, alone, rtol=1e-10)


def test_only_rows_still_moving_are_asked():
    asked = []

    def bowls(x, which):
        asked.append(list(which))
        return np.sum(x * x, axis=1), 2.0 * x

    found = many_lbfgs.minimise_many_lbfgs(bowls, np.array([[0.0], [3.0], [0.0]]))
    assert asked[0] == [0, 1, 2]
    assert all(some == [1] for some in asked[1:])
    np.testing.assert_allclose(found.x, 0.0, atol=1e-6)
    assert found.n_iter[1] > 0
    assert not found.n_iter[[0, 2]].any()


def test_steps_outside_the_domain_are_shortened():
    def barrier(x, which):
        with np.errstate(invalid="ignore", divide="ignore"):
            value = np.where(x > 0.0, x - np.log(x), np.nan)
        return value[:, 0], 1.0 - 1.0 / x

    found = many_lbfgs.minimise_many_lbfgs(barrier, np.array([[1e-3], [20.0]]), tol=1e-8)
    assert found.converged.all()
    np.testing.assert_allclose(found.x, 1.0, rtol=1e-6)


def test_a_problem_that_starts_outside_stays_there_and_harms_no_other():
    def half(x, which):
        return np.where(x[:, 0] > 0.0, np.sum(x * x, axis=1), np.nan), 2.0 * x

    found = many_lbfgs.minimise_many_lbfgs(half, np.array([[-1.0], [3.0]]), max_iter=3)
    assert not found.converged[0]
    assert found.x[0] == -1.0
    assert np.isinf(found.value[0])
    assert found.x[1] < 3.0


def test_slopes_beyond_all_numbers_are_outside_too():
    def cliff(x, which):
        steep = np.where(x[:, :1] < 0.5, 1e200, 2.0 * x)
        return np.where(x[:, 0] < 0.5, -1e300, x[:, 0] ** 2), steep

    found = many_lbfgs.minimise_many_lbfgs(cliff, np.array([[2.0], [0.1]]), max_iter=20)
    assert found.x[0] >= 0.5
    assert found.x[1] == 0.1
    assert np.isinf(found.value[1])


def test_a_wrong_gradient_is_not_taken_for_convergence():
    def wrong(x, which):
        return np.sum(x * x, axis=1), -2.0 * x

    found = many_lbfgs.minimise_many_lbfgs(wrong, np.array([[2.0]]))
    assert not found.converged[0]
    np.testing.assert_array_equal(found.x, [[2.0]])


def test_no_gain_above_rounding_is_convergence():
    found = many_lbfgs.minimise_many_lbfgs(
        lambda x, which: (1e9 + 1e-12 * np.sum(x * x, axis=1), 2e-12 * x),
        np.ones((1, 2)),
        tol=1e-30,
    )
    assert found.converged[0]


@pytest.mark.parametrize("n", [0, 3])
def test_starts_at_the_bottom_stay(n):
    found = many_lbfgs.minimise_many_lbfgs(
        lambda x, which: (np.sum(x * x, axis=1), 2.0 * x), np.zeros((n, 2))
    )
    assert found.converged.all()
    assert np.all(found.n_iter == 0)
