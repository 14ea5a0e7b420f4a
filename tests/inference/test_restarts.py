"""Several searches, and the best of them to its end."""

import numpy as np
import pytest

from posterity import optimize
from posterity.inference import minima


def rosenbrock(x):
    """A curved valley, flat along its bottom."""
    a, b = x
    value = 1e-2 * ((1.0 - a) ** 2 + 100.0 * (b - a**2) ** 2)
    slope = [-2.0 * (1.0 - a) - 400.0 * a * (b - a**2), 200.0 * (b - a**2)]
    return value, 1e-2 * np.array(slope)


def wells(x):
    return float((x @ x - 1.0) ** 2 + x[0]), 4.0 * (x @ x - 1.0) * x + 1.0


def test_the_deepest_valley_is_kept_whatever_the_order():
    starts = [np.ones(1), -np.ones(1)]
    for order in (starts, starts[::-1]):
        best, ends = minima.minimise_with_restarts(wells, order, max_iter=100, n_jobs=2)
        assert best.x[0] < 0.0
        assert sorted(end.x[0] > 0.0 for end in ends) == [False, True]


def test_the_best_search_goes_on_to_the_bottom():
    best, (end,) = minima.minimise_with_restarts(rosenbrock, [np.array([-1.2, 1.0])], max_iter=500)
    assert best.value < end.value
    assert best.n_iter > end.n_iter
    np.testing.assert_allclose(best.x, 1.0, atol=1e-2)


def test_a_search_that_is_cut_short_is_not_continued_and_says_so():
    with pytest.warns(optimize.ConvergenceWarning, match="2 L-BFGS iterations were not enough"):
        best, (end,) = minima.minimise_with_restarts(
            rosenbrock, [np.array([-1.2, 1.0])], max_iter=2
        )
    assert best is end
