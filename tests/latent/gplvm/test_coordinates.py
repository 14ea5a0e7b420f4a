"""Coordinates of a search: there and back, and what slopes become."""

import numpy as np
import pytest

from posterity.latent.gplvm.search import Coordinates


@pytest.fixture
def coordinates():
    rng = np.random.default_rng(3)
    L = np.tril(rng.normal(size=(3, 3))) + 3.0 * np.eye(3)
    return Coordinates(rng.normal(size=5), L, np.array([0.1, 0.02]))


def quadratic(A):
    return lambda x: (0.5 * x @ A @ x, A @ x)


def test_slopes_are_those_of_the_wrapped_function(coordinates):
    A = np.random.default_rng(0).normal(size=(5, 5))
    wrapped = coordinates.wrap_objective(quadratic(A + A.T))
    t = np.array([0.3, -0.2, 0.5, 2.0, -1.0])
    steps = 1e-6 * np.eye(5)
    numeric = [(wrapped(t + h)[0] - wrapped(t - h)[0]) / 2e-6 for h in steps]
    np.testing.assert_allclose(wrapped(t)[1], numeric, rtol=1e-6)


def test_what_bends_as_was_said_bends_alike_in_all_directions(coordinates):
    A = np.zeros((5, 5))
    A[:3, :3] = coordinates.L @ coordinates.L.T
    A[3:, 3:] = np.diag(coordinates.unit**-2)
    wrapped = coordinates.wrap_objective(quadratic(A))
    slopes = [wrapped(t)[1] - wrapped(np.zeros(5))[1] for t in np.eye(5)]
    np.testing.assert_allclose(slopes, np.eye(5), atol=1e-12)


def test_limits_of_the_others_are_moved_with_them(coordinates):
    limits = np.array([[-np.inf, np.inf]] * 3 + [[-1.0, 4.0]] * 2)
    low, high = coordinates.limits(limits).T
    np.testing.assert_array_equal(low[:3], -np.inf)
    np.testing.assert_allclose(coordinates.to_point(np.r_[np.zeros(3), low[3:]])[3:], -1.0)
    np.testing.assert_allclose(coordinates.to_point(np.r_[np.zeros(3), high[3:]])[3:], 4.0)
