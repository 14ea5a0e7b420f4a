"""What follows from a triangular factor, against dense algebra, on every library."""

import numpy as np
import pytest

from posterity import linalg
from posterity.arrays import to_numpy


@pytest.fixture
def A(rng):
    X = rng.normal(size=(8, 10))
    return X @ X.T


@pytest.fixture(params=[(), (3,)], ids=["vector", "matrix"])
def B(request, rng):
    return rng.normal(size=(8, *request.param))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    ("solve", "dense"),
    [
        (linalg.solve_lower, lambda L: np.tril(L)),
        (linalg.solve_lower_transposed, lambda L: np.tril(L).T),
        (linalg.solve_cholesky, lambda L: np.tril(L) @ np.tril(L).T),
    ],
)
def test_solves_read_one_triangle_and_invert_it(library, solve, dense, order, B, rng):
    T = np.array(rng.normal(size=(8, 8)) + 5 * np.eye(8), order=order)
    X = to_numpy(solve(library(T), library(B)))
    assert X.shape == B.shape
    np.testing.assert_allclose(X, np.linalg.solve(dense(T), B), atol=1e-13)


def test_quadratic_form_and_determinant_are_the_dense_ones(library, A, B):
    L = library(np.linalg.cholesky(A))
    form = to_numpy(linalg.quadratic_form(L, library(B)))
    np.testing.assert_allclose(form, np.sum(B * np.linalg.solve(A, B), axis=0), rtol=1e-10)
    assert linalg.log_determinant(L) == pytest.approx(np.linalg.slogdet(A)[1], rel=1e-12)


@pytest.mark.parametrize("order", ["C", "F"])
def test_inverse_is_the_dense_one_and_symmetric(library, A, order):
    L = np.array(np.linalg.cholesky(A) + np.triu(np.full_like(A, 7.0), 1), order=order)
    inverse = to_numpy(linalg.inverse_from_cholesky(library(L)))
    np.testing.assert_allclose(inverse, np.linalg.inv(A), rtol=1e-10)
    np.testing.assert_array_equal(inverse, inverse.T)
    assert L[0, 1] == 7.0


def test_a_zero_pivot_is_named():
    with pytest.raises(np.linalg.LinAlgError, match="1 of its 3 diagonal entries are zero, the fi"):
        linalg.solve_lower(np.diag([1.0, 0.0, 2.0]), np.ones(3))


def test_nothing_follows_from_nothing():
    empty = np.empty((0, 0))
    assert linalg.solve_cholesky(empty, np.empty(0)).shape == (0,)
    assert linalg.log_determinant(empty) == 0.0
    assert linalg.inverse_from_cholesky(empty).shape == (0, 0)
